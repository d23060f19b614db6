import { keys } from '../redis/keys';
import { readParked } from '../testing/read-parked';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import type { Parked } from './parked';
import { CLAIM_MS, createRedisParkedStore, type ParkedStore } from './redis-parked-store';

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
    expect(await readParked(redis.client, id)).toEqual([first, second, third]);
    expect((await store.claimParked(id, 2)).parked).toEqual([first, second]);
    expect(await store.countParked(id)).toBe(3);
  });

  it('are there once, and keep their place, when they are parked again', async () => {
    const id = uniqueEndpointId();
    const [first, second] = [parked(), parked()];
    await store.park(id, first, NOW);
    await store.park(id, second, NOW + 1);
    await store.park(id, first, NOW + 2);
    expect(await readParked(redis.client, id)).toEqual([first, second]);
  });

  it('stay until they are forgotten, and no other is forgotten with them', async () => {
    const id = uniqueEndpointId();
    const [first, second, third] = [parked(), parked(), parked()];
    for (const [index, each] of [first, second, third].entries()) await store.park(id, each, NOW + index);
    const claims = [await store.claimOne(id, first), await store.claimOne(id, third)];
    expect(await readParked(redis.client, id)).toEqual([first, second, third]);
    for (const claim of claims) await store.forget(id, claim);
    expect(await readParked(redis.client, id)).toEqual([second]);
  });

  it('are there for one of their jobs only, so that no two are released', async () => {
    const id = uniqueEndpointId();
    const old = parked('second');
    const fresh: Parked = { ...old, side: 'first' };
    await store.park(id, old, NOW);
    await store.park(id, fresh, NOW);
    expect(await readParked(redis.client, id)).toEqual([fresh]);
  });

  it('are not forgotten by a release of their other job that came late', async () => {
    const id = uniqueEndpointId();
    const fresh = parked('first');
    await store.park(id, { ...fresh, side: 'second' }, NOW);
    const late = await store.claimParked(id, 1);
    await store.park(id, fresh, NOW);
    await store.forget(id, late);
    expect(await readParked(redis.client, id)).toEqual([fresh]);
  });

  it('make room once their events are no longer kept', async () => {
    const id = uniqueEndpointId();
    const accountId = uniqueAccountId();
    const [expired, late, young, fresh] = [parked(), parked(), parked(), parked()];
    // An event is kept from when it came here, which may be long after its acceptance: after an outage, say.
    await redis.client.set(keys.event(accountId, late.eventId), 'is kept');
    await store.park(id, expired, NOW - RETENTION_MS - 1);
    await store.park(id, late, NOW - 10 * RETENTION_MS);
    await store.park(id, young, NOW - RETENTION_MS);
    const old = await store.park(id, fresh, NOW);
    expect(old).toEqual([late, expired]);
    await store.dropExpired(accountId, id, old);
    expect(await readParked(redis.client, id)).toEqual([late, young, fresh]);
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

describe('a claim', () => {
  async function line(length: number) {
    const id = uniqueEndpointId();
    const waiting = Array.from({ length }, () => parked());
    for (const [index, each] of waiting.entries()) await store.park(id, each, NOW + index);
    return { id, waiting };
  }

  it('gives a delivery to one of all who ask at the same time', async () => {
    const { id, waiting } = await line(6);
    const claims = await Promise.all([1, 2, 3].map(() => store.claimParked(id, 2)));
    expect(claims.flatMap((claim) => claim.parked)).toEqual(waiting);
    expect(claims.map(({ hasMore }) => hasMore)).toEqual([true, true, true]);
    expect(await store.claimParked(id, 2)).toMatchObject({ parked: [], hasMore: true });
  });

  it('says when nothing is parked beside what it holds', async () => {
    const { id, waiting } = await line(2);
    expect(await store.claimParked(id, 5)).toMatchObject({ parked: waiting, hasMore: false });
    expect(await store.claimParked(uniqueEndpointId(), 5)).toMatchObject({ parked: [], hasMore: false });
  });

  it('is void once its time is over, for whoever made it may be dead', async () => {
    const { id, waiting } = await line(1);
    await store.claimParked(id, 1);
    const later = createRedisParkedStore(redis.client, {
      retentionMs: RETENTION_MS,
      clock: () => NOW + CLAIM_MS,
    });
    expect((await later.claimParked(id, 1)).parked).toEqual(waiting);
  });

  it('does not take away what was released, has run and was parked anew meanwhile', async () => {
    const { id, waiting } = await line(1);
    const [own = parked()] = waiting;
    const first = await store.claimParked(id, 1);
    await store.park(id, { ...own, side: 'first' }, NOW);
    await store.park(id, own, NOW);
    await store.forget(id, first);
    expect(await readParked(redis.client, id)).toEqual([own]);
    expect((await store.claimOne(id, own)).parked).toEqual([own]);
  });
});
