import { rowsAround } from './use-rows-in-view';

describe('the rows that are drawn', () => {
  it('are those in view and ten more on each side', () => {
    expect(rowsAround({ firstSeen: 100, seen: 20, count: 1_000 })).toEqual({ first: 90, end: 130 });
  });

  it('begin with the first row while the list has not reached the top of the window', () => {
    expect(rowsAround({ firstSeen: -15, seen: 20, count: 1_000 })).toEqual({ first: 0, end: 20 });
    expect(rowsAround({ firstSeen: 3, seen: 20, count: 1_000 })).toEqual({ first: 0, end: 33 });
  });

  it('end with the last one, and are never few', () => {
    expect(rowsAround({ firstSeen: 985, seen: 20, count: 1_000 })).toEqual({ first: 975, end: 1_000 });
    expect(rowsAround({ firstSeen: 2_000, seen: 20, count: 1_000 })).toEqual({ first: 980, end: 1_000 });
    expect(rowsAround({ firstSeen: -500, seen: 20, count: 1_000 })).toEqual({ first: 0, end: 20 });
    expect(rowsAround({ firstSeen: -500, seen: 20, count: 7 })).toEqual({ first: 0, end: 7 });
  });

  it('are none of an empty list', () => {
    expect(rowsAround({ firstSeen: 0, seen: 20, count: 0 })).toEqual({ first: 0, end: 0 });
  });
});
