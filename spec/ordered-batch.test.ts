import { type Findings, visit } from './explore';
import { type OrderedBatchBounds, type OrderedBatchRule, orderedBatch } from './ordered-batch';

const BOUNDS: OrderedBatchBounds = { deliveries: 3, most: 2, faults: 1 };

describe('a lane in an order whose first deliveries go in one request', () => {
  it.each<[string, Partial<OrderedBatchBounds>]>([
    ['no fault', { faults: 0 }],
    ['one fault', {}],
    ['one fault, in a Cluster', { record: 'before the end' }],
    ['one fault, requests for all three', { most: 3 }],
    ['no fault, and jobs of their own', { faults: 0, ownJobs: true }],
    ['two faults, two deliveries', { deliveries: 2, faults: 2 }],
  ])('keeps the order, loses none, and sends each set again as it was, with %s', (name, more) => {
    const { sightings, violations } = visited(name, more);
    expect(violations).toEqual({});
    expect([...sightings.keys()]).toEqual(
      expect.arrayContaining(['several in one request', 'several that go together again', 'all accepted']),
    );
  });

  const OUT_OF_ORDER = 'a first request before that of an older one that has not ended';
  const ANOTHER_SET = 'another set than the one that was sent, though nothing is recorded of it';

  it.each<[OrderedBatchRule, Partial<OrderedBatchBounds>, string[]]>([
    ['an older event on its queue is waited for', { faults: 0 }, [OUT_OF_ORDER]],
    ['an older delivery with a job of its own is waited for', { faults: 0, ownJobs: true }, [OUT_OF_ORDER]],
    [
      'older events are looked for before deliveries with jobs of their own',
      { faults: 0, ownJobs: true },
      [OUT_OF_ORDER],
    ],
    ['what came between them meanwhile is waited for', { faults: 0 }, [OUT_OF_ORDER]],
    ['members are noted only once it is known what goes', {}, [OUT_OF_ORDER, ANOTHER_SET]],
    ['members are noted before their request', {}, [ANOTHER_SET]],
    [
      'those that failed together go together again',
      { faults: 0 },
      ['a retry together with one that was not tried'],
    ],
    ['what has ended goes no more', {}, ['a request with one that had ended when its run loaded it']],
    ['none goes in place of a head that has ended', {}, [OUT_OF_ORDER]],
    ['only the owner of the lock notes what goes', { deliveries: 2, faults: 2 }, [ANOTHER_SET]],
    [
      'only the owner of the lock starts a request',
      {},
      ['a request that starts beside one whose run has the lock'],
    ],
  ])('relies on this: %s', (without, more, seen) => {
    const { violations } = visited(`without this: ${without}`, more, without);
    expect(Object.keys(violations)).toEqual(expect.arrayContaining(seen));
  });
});

function visited(name: string, more: Partial<OrderedBatchBounds>, without?: OrderedBatchRule): Findings {
  const bounds = { ...BOUNDS, ...more };
  return visit(`batches in an order, ${name}`, orderedBatch({ bounds, ...(without && { without }) }));
}
