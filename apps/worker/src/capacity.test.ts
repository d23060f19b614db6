import { SharedCapacity, type Sharer } from './capacity';

describe('shared capacity', () => {
  class TestSharer implements Sharer {
    told = 0;

    constructor(
      readonly runningCount: number,
      readonly wantsMore: boolean,
    ) {}

    takeMore(): void {
      this.told += 1;
    }
  }

  function shareOut(capacity: number, ...sharers: readonly TestSharer[]) {
    const shared = new SharedCapacity(capacity);
    for (const sharer of sharers) shared.join(sharer);
    return { shared, limits: sharers.map((sharer) => shared.limitOf(sharer)) };
  }

  it('gives all of it to a single sharer', () => {
    expect(shareOut(10, new TestSharer(3, true)).limits).toEqual([10]);
  });

  it('gives what others do not use to sharers that want more', () => {
    expect(shareOut(10, new TestSharer(7, true), new TestSharer(2, false)).limits[0]).toBe(8);
  });

  it('keeps a part for each that wants more, whatever the others have already', () => {
    expect(
      shareOut(12, new TestSharer(11, true), new TestSharer(1, true), new TestSharer(0, true)).limits,
    ).toEqual([4, 1, 1]);
  });

  it('never keeps anybody from having one', () => {
    expect(shareOut(2, ...Array.from({ length: 5 }, () => new TestSharer(1, true))).limits).toEqual([
      1, 1, 1, 1, 1,
    ]);
  });

  it('tells all of another capacity, and the others of what one leaves to them', () => {
    const [one, other] = [new TestSharer(1, true), new TestSharer(1, true)];
    const { shared } = shareOut(4, one, other);
    shared.setCapacity(8);
    shared.offerToOthers(one);
    shared.leave(other);
    expect([one.told, other.told]).toEqual([2, 2]);
    expect(shared.limitOf(one)).toBe(8);
  });
});
