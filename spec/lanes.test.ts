import { type Findings, visit } from './explore';
import type { LaneBounds } from './lane-state';
import { type OrderRule, orderedLane } from './ordered-lane';
import { type ParkingRule, parkingLane } from './parking-lane';

// As large as it can be in a second or two; `lanes.long.test.ts` has more faults, and all accidents.
const TWO: LaneBounds = {
  deliveries: 2,
  attempts: 1,
  faults: 0,
  accidents: 'none',
  record: 'before the end',
};

/** Two runs at one delivery are enough for these. */
const ONE = { deliveries: 1, faults: 1 };

describe('a lane whose deliveries wait for each other', () => {
  it('sends them in their order, one at a time, and loses none', () => {
    const { sightings, violations } = visitOrdered({ ...TWO, attempts: 2 });
    expect(violations).toEqual({});
    expect([...sightings.keys()]).toEqual(
      expect.arrayContaining([
        'one that waits behind another',
        'a retry that holds the lane',
        'all delivered',
      ]),
    );
    expect(sightings.has('two requests in flight')).toBe(false);
  });

  it('keeps the order when one fails for good, and loses none', () => {
    const { sightings, violations } = visitOrdered({ ...TWO, poison: true });
    expect(violations).toEqual({});
    expect(sightings.has('one that failed for good while another waits')).toBe(true);
    expect(sightings.has('all delivered')).toBe(true);
  });

  it.each<[OrderRule, string[], Partial<LaneBounds>]>([
    ['an entry and its job are added by one script', ['a lane with entries and no job', 'stuck'], ONE],
    ['who ends the run sees whether the lane is empty', ['a lane with entries and no job', 'stuck'], {}],
    [
      'an older event on its queue is waited for',
      ['a first request before that of an older one that has not ended'],
      {},
    ],
    [
      'a job is moved by the owner of its lock only',
      ['a job that is moved away from the run that has its lock'],
      ONE,
    ],
    ['each fetch has a token of its own', ['a job that is moved away from the run that has its lock'], ONE],
    [
      'only the owner of the lock starts a request',
      ['a request that starts beside one whose run has the lock'],
      ONE,
    ],
    ['a recorded end stays', ['an end that was taken back'], ONE],
    [
      'a head that fails for good gets a job of its own',
      ['a lane with entries and no job', 'stuck'],
      { poison: true },
    ],
    [
      'what has failed for good is in the order before it leaves its lane',
      ['a first request before that of an older one that has not ended'],
      { poison: true },
    ],
    [
      'what has a job gets no entry',
      ['a delivery that has both'],
      { deliveries: 1, poison: true, accidents: 'all' },
    ],
  ])('relies on this: %s', (without, seen, more) => {
    const { violations } = visitOrdered({ ...TWO, ...more }, without);
    expect(Object.keys(violations)).toEqual(expect.arrayContaining(seen));
  });
});

describe('a lane where deliveries are parked', () => {
  it('gives all of them back, and none is lost or in two places', () => {
    const { sightings, violations } = visitParking(TWO);
    expect(violations).toEqual({});
    expect([...sightings.keys()]).toEqual(
      expect.arrayContaining(['one that is parked', 'one that is added to the lane', 'all delivered']),
    );
  });

  it.each<[ParkingRule, string[], Partial<LaneBounds>]>([
    ["who parks a delivery sees to the lane's job", ['a lane with entries and no job', 'stuck'], {}],
    [
      'a job is moved by the owner of its lock only',
      ['a job that is moved away from the run that has its lock'],
      ONE,
    ],
    [
      'only the owner of the lock starts a request',
      ['a request that starts beside one whose run has the lock'],
      ONE,
    ],
    ['a recorded end stays', ['an end that was taken back'], ONE],
  ])('relies on this: %s', (without, seen, more) => {
    const { violations } = visitParking({ ...TWO, ...more }, without);
    expect(Object.keys(violations)).toEqual(expect.arrayContaining(seen));
  });
});

function visitOrdered(bounds: LaneBounds, without?: OrderRule): Findings {
  return visit(nameOf('ordered lane', without), orderedLane({ bounds, ...(without && { without }) }));
}

function visitParking(bounds: LaneBounds, without?: ParkingRule): Findings {
  return visit(nameOf('parking lane', without), parkingLane({ bounds, ...(without && { without }) }));
}

function nameOf(lane: string, without: string | undefined): string {
  return without === undefined ? lane : `${lane}, without this: ${without}`;
}
