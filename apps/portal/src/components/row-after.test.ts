import { rowAfter } from './row-after';

describe('rowAfter', () => {
  it.each([
    ['ArrowDown', 0, 1],
    ['ArrowDown', 99, 99],
    ['ArrowUp', 0, 0],
    ['PageDown', 95, 99],
    ['PageUp', 3, 0],
    ['Home', 50, 0],
    ['End', 0, 99],
  ])('%s leads from %i to %i of a hundred', (key, from, to) => {
    expect(rowAfter(key, from, 100)).toBe(to);
  });

  it('takes no other key', () => {
    expect(rowAfter('a', 0, 100)).toBeUndefined();
  });
});
