import { type BatchBounds, type BatchRule, batchLane } from './batch-lane';
import { visit } from './explore';

const BOUNDS: BatchBounds = { deliveries: 2, most: 2, faults: 1 };

describe('a lane whose deliveries go in batches', () => {
  it.each<[string, Partial<BatchBounds>]>([
    ['no fault, three deliveries', { faults: 0, deliveries: 3 }],
    ['one fault', {}],
    ['two faults', { faults: 2 }],
  ])('loses none, and sends each set again as it was, with %s', (name, more) => {
    const bounds = { ...BOUNDS, ...more };
    const { sightings, violations } = visit(`batches, ${name}`, batchLane({ bounds }));
    expect(violations).toEqual({});
    expect([...sightings.keys()]).toEqual(
      expect.arrayContaining(['a batch of several', 'two batches at once', 'all delivered']),
    );
    expect(sightings.has('a batch that is sent again as it was')).toBe(bounds.faults > 0);
  });

  it.each<[BatchRule, string]>([
    ['a batch is formed by one script', 'a known delivery that is nowhere'],
    ['a batch is split by one script', 'a known delivery that is nowhere'],
    ['what is in a batch gets no entry', 'a delivery in two places'],
    [
      'a job is moved by the owner of its lock only',
      'a batch that is moved away from the run that has its lock',
    ],
    [
      'only the owner of the lock starts a request',
      'a request that starts beside one whose run has the lock',
    ],
    [
      'a batch keeps its deliveries until they have ended',
      'another set than the one that was sent, though nothing is recorded of it',
    ],
  ])('relies on this: %s', (without, seen) => {
    const { violations } = visit(
      `batches, without this: ${without}`,
      batchLane({
        bounds: { ...BOUNDS, faults: without === 'what is in a batch gets no entry' ? 0 : 1 },
        without,
      }),
    );
    expect(Object.keys(violations)).toContain(seen);
  });
});
