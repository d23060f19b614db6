import { type Findings, visit } from './explore';
import { type ReshardingBounds, type ReshardingRule, reshardedLane } from './resharded-lane';

// As large as it can be in a few seconds; `lanes.long.test.ts` has three workers with a fault.
const TWO: ReshardingBounds = { deliveries: 2, workers: 2, attempts: 1, faults: 0, ownJobs: false };
const ONE: ReshardingBounds = { ...TWO, deliveries: 1 };
const NEWEST: ReshardingBounds = { ...TWO, coalesces: true };
const TOWARDS_EACH_OTHER = 'two that move it towards each other';

describe('a lane in strict order, while queues are split again', () => {
  it.each<[string, ReshardingBounds, string[]]>([
    ['two deliveries', TWO, ['one that waits behind one in another shard']],
    ['retries', { ...ONE, attempts: 2 }, []],
    ['a fault', { ...ONE, faults: 1 }, [TOWARDS_EACH_OTHER]],
    ['three workers', { ...ONE, workers: 3 }, []],
    ['jobs of their own', { ...ONE, ownJobs: true, faults: 1 }, [TOWARDS_EACH_OTHER]],
  ])('keeps the order, and loses nothing, with %s', (name, bounds, seen) => {
    const { sightings, violations } = visitResharded(name, bounds);
    expect(violations).toEqual({});
    const expected = ['a delivery in two shards', 'all ended', ...seen];
    expect([...sightings.keys()]).toEqual(expect.arrayContaining(expected));
  });

  it.each<[ReshardingRule, string, ReshardingBounds]>([
    ['nothing moves to where a worker has it', 'a known delivery that is nowhere', ONE],
    ['locks are asked for before places', 'a known delivery that is nowhere', { ...ONE, ownJobs: true }],
    ['a delivery leaves only after it was seen in its new place', 'a known delivery that is nowhere', ONE],
    [
      'an older delivery in another shard is waited for',
      'a first request before that of an older one that has not ended',
      TWO,
    ],
    [
      'no request is sent while a worker has the delivery in another shard',
      'a request that starts beside one whose run has the lock',
      ONE,
    ],
  ])('relies on this: %s', (without, seen, bounds) => {
    expect(Object.keys(visitResharded(`without this: ${without}`, bounds, without).violations)).toContain(
      seen,
    );
  });
});

describe('a lane of which only the newest is sent, while queues are split again', () => {
  it.each<[string, ReshardingBounds]>([
    ['two deliveries', NEWEST],
    ['retries', { ...NEWEST, attempts: 2 }],
    ['an older one that is requested again', { ...NEWEST, redelivers: true }],
    ['a fault', { ...NEWEST, deliveries: 1, faults: 1 }],
  ])('sends none after a newer one, and loses none, with %s', (name, bounds) => {
    const { sightings, violations } = visitResharded(`the newest alone, ${name}`, bounds);
    expect(violations).toEqual({});
    const isAlone = bounds.deliveries === 1;
    expect(sightings.has('one that is superseded')).toBe(!isAlone);
    expect(sightings.has('a delivery in two shards')).toBe(true);
  });

  it.each<[ReshardingRule, string, ReshardingBounds]>([
    [
      'the newest waits while another shard has its lane',
      'a request that starts beside one whose run has the lock',
      NEWEST,
    ],
    [
      'the newest that waits for another shard is an entry there',
      'a first request after that of a newer one',
      { ...NEWEST, redelivers: true },
    ],
    ['what was sent last moves with the entries', 'a first request after that of a newer one', NEWEST],
    [
      'what is requested again is an entry wherever its lane is',
      'a first request after that of a newer one',
      { ...NEWEST, redelivers: true },
    ],
  ])('relies on this: %s', (without, seen, bounds) => {
    const { violations } = visitResharded(`the newest alone, without this: ${without}`, bounds, without);
    expect(Object.keys(violations)).toContain(seen);
  });
});

function visitResharded(name: string, bounds: ReshardingBounds, without?: ReshardingRule): Findings {
  return visit(`resharded lane, ${name}`, reshardedLane({ bounds, ...(without && { without }) }));
}
