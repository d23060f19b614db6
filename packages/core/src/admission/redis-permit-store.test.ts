import { keys } from '../redis/keys';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { createRedisParkedStore } from './redis-parked-store';
import { createRedisPermitStore, PERMIT_WINDOW_MS, type PermitStore } from './redis-permit-store';

const LIMIT = 3;
const LEASE_MS = 20_000;

let redis: TestRedis;
let store: PermitStore;
beforeAll(async () => {
  redis = await openTestRedis();
  store = createRedisPermitStore(redis.client);
});
afterAll(() => redis.close());

async function take(id = uniqueEndpointId(), count = 1, hasWaited = false): Promise<boolean[]> {
  const permits = Array.from({ length: count }, () => uniqueEventId());
  return await Promise.all(
    permits.map((permit) => store.take(id, { permit, limit: LIMIT, leaseMs: LEASE_MS, hasWaited })),
  );
}

async function park(id: ReturnType<typeof uniqueEndpointId>): Promise<void> {
  const parkedStore = createRedisParkedStore(redis.client, { retentionMs: 60_000, clock: () => 0 });
  await parkedStore.park(id, { eventId: uniqueEventId(), side: 'second' }, 0);
}

/** When a permit expires, on the clock of Redis. */
async function expiryOf(id: ReturnType<typeof uniqueEndpointId>, permit: string): Promise<number> {
  return Number(await redis.client.zscore(keys.permits(id), permit));
}

async function redisNow(): Promise<number> {
  const [seconds, microseconds] = await redis.client.time();
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}

/** Makes a permit as old as it will be after some time. */
async function age(id: ReturnType<typeof uniqueEndpointId>, permit: string, ms: number): Promise<void> {
  await redis.client.zincrby(keys.permits(id), -ms, permit);
}

it('gives as many permits as the limit says, whoever asks at the same time', async () => {
  const taken = await take(uniqueEndpointId(), 20);
  expect(taken.filter(Boolean)).toHaveLength(LIMIT);
});

it('gives each endpoint its own', async () => {
  await take(uniqueEndpointId(), LIMIT);
  expect(await take()).toEqual([true]);
});

it('leases a permit for as long as the attempt may take', async () => {
  const id = uniqueEndpointId();
  const before = await redisNow();
  await store.take(id, { permit: 'a', limit: 1, leaseMs: LEASE_MS, hasWaited: false });
  expect(await expiryOf(id, 'a')).toBeGreaterThanOrEqual(before + LEASE_MS);
  expect(await expiryOf(id, 'a')).toBeLessThanOrEqual((await redisNow()) + LEASE_MS);
});

it('counts one that is given back for another second, from when it is given back', async () => {
  const id = uniqueEndpointId();
  await store.take(id, { permit: 'a', limit: 1, leaseMs: LEASE_MS, hasWaited: false });
  const before = await redisNow();
  await store.giveBack(id, 'a');
  expect(await expiryOf(id, 'a')).toBeGreaterThanOrEqual(before + PERMIT_WINDOW_MS);
  expect(await store.take(id, { permit: 'b', limit: 1, leaseMs: LEASE_MS, hasWaited: false })).toBe(false);

  await age(id, 'a', PERMIT_WINDOW_MS + 1);
  expect(await store.take(id, { permit: 'b', limit: 1, leaseMs: LEASE_MS, hasWaited: false })).toBe(true);
});

it('has one back whose worker died, when its lease is over', async () => {
  const id = uniqueEndpointId();
  await store.take(id, { permit: 'a', limit: 1, leaseMs: LEASE_MS, hasWaited: false });
  expect((await store.countFree(id, 1)).free).toBe(0);
  await age(id, 'a', LEASE_MS + 1);
  expect(await store.countFree(id, 1)).toEqual({ free: 1, nextInMs: undefined });
});

it('does not bring back one that had expired before it was given back', async () => {
  const id = uniqueEndpointId();
  await store.giveBack(id, 'long gone');
  expect(await redis.client.exists(keys.permits(id))).toBe(0);
});

it('tells how many are free, and when the next one is', async () => {
  const id = uniqueEndpointId();
  expect(await store.countFree(id, LIMIT)).toEqual({ free: LIMIT, nextInMs: undefined });
  await store.take(id, { permit: 'a', limit: LIMIT, leaseMs: LEASE_MS, hasWaited: false });
  await store.take(id, { permit: 'b', limit: LIMIT, leaseMs: 2 * LEASE_MS, hasWaited: false });
  const { free, nextInMs } = await store.countFree(id, LIMIT);
  expect(free).toBe(1);
  expect(nextInMs).toBeLessThanOrEqual(LEASE_MS + 1);
});

it('has none to give when the limit was lowered below what is out', async () => {
  const id = uniqueEndpointId();
  await take(id, LIMIT);
  expect((await store.countFree(id, 1)).free).toBe(0);
});

it('gives none to a newcomer while others wait, but to one of those', async () => {
  const id = uniqueEndpointId();
  await park(id);
  expect(await take(id)).toEqual([false]);
  expect(await take(id, 1, true)).toEqual([true]);
});

it('tells who gives one back whether others wait for it', async () => {
  const id = uniqueEndpointId();
  await store.take(id, { permit: 'a', limit: 1, leaseMs: LEASE_MS, hasWaited: false });
  expect(await store.giveBack(id, 'a')).toBe(false);
  await park(id);
  expect(await store.giveBack(id, 'a')).toBe(true);
});

it('leaves nothing behind for ever', async () => {
  const id = uniqueEndpointId();
  await take(id);
  expect(await redis.client.pttl(keys.permits(id))).toBeGreaterThan(LEASE_MS);
});
