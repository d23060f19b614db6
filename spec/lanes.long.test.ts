import { visit } from './explore';
import type { LaneBounds } from './lane-state';
import { type LineBounds, type LineRule, linesOfOne } from './lines';
import { type OrderedBatchBounds, orderedBatch } from './ordered-batch';
import { orderedLane } from './ordered-lane';
import { parkingLane } from './parking-lane';
import { type ReshardingBounds, reshardedLane } from './resharded-lane';

const TWO: LaneBounds = { deliveries: 2, attempts: 1, faults: 1, accidents: 'none', record: 'with the end' };

describe.each(['with the end', 'before the end'] as const)(
  'with attempts recorded %s of the run',
  (record) => {
    it.each<[string, Partial<LaneBounds>]>([
      ['one fault and two attempts', { attempts: 2 }],
      ['one fault and all accidents', { accidents: 'all' }],
      ['two faults', { faults: 2 }],
      ['one fault and one that fails for good', { poison: true }],
    ])('a lane keeps the order and loses nothing, with %s', (name, more) => {
      const bounds = { ...TWO, record, ...more };
      const { sightings, violations } = visit(
        `ordered lane, recorded ${record}, ${name}`,
        orderedLane({ bounds }),
      );
      expect(violations).toEqual({});
      expect(sightings.has('two requests in flight')).toBe(true);
      expect(sightings.has('all delivered')).toBe(true);
    });

    it.each<[string, Partial<LaneBounds>]>([
      ['no fault and two attempts', { attempts: 2, faults: 0 }],
      ['one fault', {}],
      ['all accidents', { faults: 0, accidents: 'all' }],
      ['one delivery, two faults and all accidents', { deliveries: 1, faults: 2, accidents: 'all' }],
    ])('a lane gives back what is parked, with %s', (name, more) => {
      const bounds = { ...TWO, record, ...more };
      const { sightings, violations } = visit(
        `parking lane, recorded ${record}, ${name}`,
        parkingLane({ bounds }),
      );
      expect(violations).toEqual({});
      expect(sightings.has('one that is parked')).toBe(true);
      expect(sightings.has('all delivered')).toBe(true);
    });
  },
);

it.each<[string, Partial<OrderedBatchBounds>]>([
  ['one fault, and jobs of their own', { ownJobs: true }],
  ['one fault, and jobs of their own, in a Cluster', { ownJobs: true, record: 'before the end' }],
  ['two faults', { faults: 2 }],
])('requests for several keep the order of their lane and lose nothing, with %s', (name, more) => {
  const bounds: OrderedBatchBounds = { deliveries: 3, most: 2, faults: 1, ...more };
  const { sightings, violations } = visit(`batches in an order, ${name}`, orderedBatch({ bounds }));
  expect(violations).toEqual({});
  expect(sightings.has('one alone, as an older one is to come behind it')).toBe(true);
  expect(sightings.has('all accepted')).toBe(true);
});

it('a lane where deliveries are parked relies on this: what has a job gets no entry', () => {
  const bounds: LaneBounds = { ...TWO, faults: 0, accidents: 'all' };
  const without = 'what has a job gets no entry';
  const { violations } = visit(`parking lane, without this: ${without}`, parkingLane({ bounds, without }));
  expect(Object.keys(violations)).toContain('a delivery that has both');
});

it.each<[string, Partial<ReshardingBounds>]>([
  ['three workers and a fault', { deliveries: 1, workers: 3 }],
  ['two deliveries and a fault', {}],
])('a lane keeps the order and loses nothing while queues are split again, with %s', (name, more) => {
  const bounds = { deliveries: 2, workers: 2, attempts: 1, faults: 1, ownJobs: false, ...more };
  const { sightings, violations } = visit(`resharded lane, ${name}`, reshardedLane({ bounds }));
  expect(violations).toEqual({});
  expect(sightings.has('two that move it towards each other')).toBe(true);
  expect(sightings.has('all ended')).toBe(true);
});

it('a lane keeps the order while queues are split again and an older one is requested again', () => {
  const bounds = { deliveries: 2, workers: 2, attempts: 1, faults: 0, ownJobs: false, redelivers: true };
  expect(visit('resharded lane, requested again', reshardedLane({ bounds })).violations).toEqual({});
  const without = 'a turn that has begun in another shard is waited for';
  const { violations } = visit(
    `resharded lane, without this: ${without}`,
    reshardedLane({ bounds, without }),
  );
  expect(Object.keys(violations)).toContain('a request that starts beside one whose run has the lock');
});

it('a lane keeps the order while queues are split again, also if a worker dies between the start of a turn and its look', () => {
  const more = { ownJobs: false, redelivers: true, faultsAt: 'has turn' } as const;
  const bounds = { deliveries: 2, workers: 2, attempts: 1, faults: 1, ...more };
  expect(visit('resharded lane, a turn without a look', reshardedLane({ bounds })).violations).toEqual({});
  const without = 'one that has its turn back looks again';
  const { violations } = visit(
    `resharded lane, without this: ${without}`,
    reshardedLane({ bounds, without }),
  );
  expect(Object.keys(violations)).toContain('a request that starts beside one whose run has the lock');
});

// A worker dies, and then its webhook changes.
const LEAVING: LineBounds = { coalesces: true, faults: 2, leaves: true };

it('the newest of a line goes in place of older ones, and none after it, also if its webhook has no groups by then', () => {
  const { violations } = visit('lines, the newest alone, left', linesOfOne({ bounds: LEAVING }));
  expect(violations).toEqual({});
});

it.each<[LineRule, string]>([
  [
    'what may have been sent in place of others is tried before its line is left',
    'a first request after that of a newer one that went in its place',
  ],
  [
    'one that began as the newest goes behind older ones unless it may have been sent',
    'a request after that of a newer one of its line',
  ],
])('the newest of a line relies on this: %s', (without, seen) => {
  const name = `lines, left, without this: ${without}`;
  const { violations } = visit(name, linesOfOne({ bounds: LEAVING, without }));
  expect(Object.keys(violations)).toContain(seen);
});

it('the newest of three goes in place of the others, and none after it, while queues are split again', () => {
  const bounds = { deliveries: 3, workers: 2, attempts: 1, faults: 0, ownJobs: false, coalesces: true };
  const { violations } = visit('resharded lane, the newest of three', reshardedLane({ bounds }));
  expect(violations).toEqual({});
});
