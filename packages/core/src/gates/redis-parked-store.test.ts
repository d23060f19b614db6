import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import type { Parked } from './parked';
import { createRedisParkedStore, type ParkedStore } from './redis-parked-store';

const NOW = 1_700_000_000_000;
const RETENTION_MS = 60_000;

let redis: TestRedis;
let store: ParkedStore;
beforeAll(async () => {
  redis = await openTestRedis();
  store = createRedisParkedStore(redis.client, { retentionMs: RETENTION_MS, clock: () => NOW });
});
afterAll(() => redis.close());

const parked = (side: Parked['side'] = 'second'): Parked => ({ eventId: uniqueEventId(), side });

describe('deliveries that are parked', () => {
  it('are listed in the order of their acceptance, whatever order they came in', async () => {
    const id = uniqueEndpointId();
    const [first, second, third] = [parked('first'), parked('second'), parked('first')];
    await store.park(id, third, NOW + 2);
    await store.park(id, first, NOW);
    await store.park(id, second, NOW + 1);
    expect(await store.listParked(id, 10)).toEqual([first, second, third]);
    expect(await store.listParked(id, 2)).toEqual([first, second]);
    expect(await store.countParked(id)).toBe(3);
  });

  it('are there once, and keep their place, when they are parked again', async () => {
    const id = uniqueEndpointId();
    const [first, second] = [parked(), parked()];
    await store.park(id, first, NOW);
    await store.park(id, second, NOW + 1);
    await store.park(id, first, NOW + 2);
    expect(await store.listParked(id, 10)).toEqual([first, second]);
  });

  it('stay until they are forgotten, and no other is forgotten with them', async () => {
    const id = uniqueEndpointId();
    const [first, second, third] = [parked(), parked(), parked()];
    for (const [index, each] of [first, second, third].entries()) await store.park(id, each, NOW + index);
    await store.forget(id, [first, third]);
    expect(await store.listParked(id, 10)).toEqual([second]);
    await store.forget(id, []);
    expect(await store.countParked(id)).toBe(1);
  });

  it('are there for one of their jobs only, so that no two are released', async () => {
    const id = uniqueEndpointId();
    const old = parked('second');
    const fresh: Parked = { ...old, side: 'first' };
    await store.park(id, old, NOW);
    await store.park(id, fresh, NOW);
    expect(await store.listParked(id, 10)).toEqual([fresh]);
  });

  it('are not forgotten by a release of their other job that came late', async () => {
    const id = uniqueEndpointId();
    const fresh = parked('first');
    await store.park(id, fresh, NOW);
    await store.forget(id, [{ ...fresh, side: 'second' }]);
    expect(await store.listParked(id, 10)).toEqual([fresh]);
  });

  it('make room once their events are no longer kept', async () => {
    const id = uniqueEndpointId();
    const [expired, kept, fresh] = [parked(), parked(), parked()];
    await store.park(id, expired, NOW - RETENTION_MS - 1);
    await store.park(id, kept, NOW - RETENTION_MS);
    await store.park(id, fresh, NOW);
    expect(await store.listParked(id, 10)).toEqual([kept, fresh]);
  });

  it.each(['first', 'second'] as const)('are known to be parked by their %s side', async (side) => {
    const id = uniqueEndpointId();
    const each = parked(side);
    expect(await store.isParked(id, each.eventId)).toBe(false);
    await store.park(id, each, NOW);
    expect(await store.isParked(id, each.eventId)).toBe(true);
    expect(await store.isParked(id, uniqueEventId())).toBe(false);
    expect(await store.isParked(uniqueEndpointId(), each.eventId)).toBe(false);
  });
});
