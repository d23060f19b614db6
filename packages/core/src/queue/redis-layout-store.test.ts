import { keys } from '../domain/keys';
import { connectRedis } from '../platform/redis-connect';
import { createClosables } from '../testing/closables';
import { startRedisServer } from '../testing/redis-server';
import { openTestRedis } from '../testing/test-redis';
import { IN_FORCE_AFTER_MS, LayoutStore } from './redis-layout-store';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

/** A service that has gone by one shard for long. */
async function arrange({ isUsed = true } = {}) {
  const { url, client } = willClose(await openTestRedis());
  const redis = connectRedis({ url, role: 'working', name: 'test', emit: () => {} });
  willClose({ close: async () => redis.disconnect() });
  if (isUsed) await client.hset('bull:deliveries:meta', 'version', 'bullmq:6');
  const store = new LayoutStore(redis, 'bull');
  const look = async (wanted?: number) => {
    const { inForce, others } = await store.look(wanted, []);
    return { inForce: inForce.count, others: others.map(({ count }) => count) };
  };
  return {
    client,
    store,
    look,
    /** As if all of it had been so much longer ago. */
    async goBack(ms: number) {
      for (const key of [keys.queueLayouts, keys.leftLayouts]) {
        for (const layout of await client.zrange(key, '0', '-1')) await client.zincrby(key, -ms, layout);
      }
    },
  };
}

it('goes by what is wanted at once where nobody has used the queues, and by one shard where somebody has', async () => {
  const unused = await arrange({ isUsed: false });
  expect(await unused.look(4)).toEqual({ inForce: 4, others: [] });
  const used = await arrange();
  expect(await used.look(4)).toEqual({ inForce: 1, others: [4] });
});

it('is in force only when every process has had the time to hear of it', async () => {
  const { look, goBack } = await arrange();
  await look(1);
  expect(await look(4)).toEqual({ inForce: 1, others: [4] });
  await goBack(IN_FORCE_AFTER_MS - 5_000);
  expect(await look()).toEqual({ inForce: 1, others: [4] });
  await goBack(5_000);
  expect(await look()).toEqual({ inForce: 4, others: [1] });
});

it('lets the last process that starts decide', async () => {
  const { look, goBack } = await arrange();
  await look(1);
  await look(4);
  expect(await look(2)).toEqual({ inForce: 1, others: [4, 2] });
  expect(await look(1)).toEqual({ inForce: 1, others: [2, 4] });
  await goBack(IN_FORCE_AFTER_MS);
  expect(await look()).toEqual({ inForce: 1, others: [2, 4] });
});

it('goes back, and counts the layout that was about to be in force among those with jobs left', async () => {
  const { store, look, goBack } = await arrange();
  await look(1);
  await look(4);
  await goBack(IN_FORCE_AFTER_MS);
  await look(1);
  expect(await look(4)).toEqual({ inForce: 4, others: [1] });
  const { inForce, others } = await store.look(undefined, []);
  expect(others[0]?.since).toBeLessThan(inForce.since);
});

it('gives a layout up no sooner than its last process can have put something there', async () => {
  const { store, look, goBack } = await arrange();
  await look(1);
  await look(4);
  await goBack(IN_FORCE_AFTER_MS);
  await store.leave(4, [1]);
  const leftSince = async () => (await store.look(undefined, [])).others.map((one) => one.leftSince);
  expect(await leftSince()).toEqual([undefined]);
  await goBack(IN_FORCE_AFTER_MS);
  await store.leave(2, [1]);
  expect(await leftSince()).toEqual([undefined]);
  await store.leave(4, [1]);
  expect(await leftSince()).toEqual([expect.any(Number)]);
});

it('knows a layout that was given up for another hour, and takes it up again when it is wanted', async () => {
  const { store, look, goBack } = await arrange();
  await look(1);
  await look(4);
  await goBack(2 * IN_FORCE_AFTER_MS);
  await store.leave(4, [1]);
  await goBack(3_500_000);
  expect(await look()).toEqual({ inForce: 4, others: [1] });
  await goBack(200_000);
  expect(await look()).toEqual({ inForce: 4, others: [] });
  expect(await look(1)).toEqual({ inForce: 4, others: [1] });
  expect((await store.look(undefined, [])).others[0]?.leftSince).toBeUndefined();
});

it('tells which shards workers take jobs from', async () => {
  const { store } = await arrange();
  await store.look(1, ['bull']);
  expect((await store.look(undefined, ['{bull-1}'])).served).toEqual(new Set(['bull', '{bull-1}']));
});

it('says with one command whether there is a layout and no other', async () => {
  const { client, store, look } = await arrange();
  const { inForce } = await store.look(1, []);
  expect(await store.isOnly(inForce)(client)).toBe(true);
  await look(4);
  expect(await store.isOnly(inForce)(client)).toBe(false);
  await client.flushdb();
  expect(await store.isOnly(inForce)(client)).toBe(false);
});

it.each([
  ['has no memory left', 'maxmemory'],
  ['lacks the replicas that it needs', 'min-replicas-to-write'],
])('says what is in force also while Redis %s', async (_, setting) => {
  const server = willClose(await startRedisServer());
  const redis = connectRedis({ url: server.url, role: 'working', name: 'test', emit: () => {} });
  willClose({ close: async () => redis.disconnect() });
  const store = new LayoutStore(redis, 'bull');
  await store.look(4, ['bull']);
  await redis.config('SET', setting, '1');
  expect((await store.look(undefined, ['bull', '{other}'])).inForce.count).toBe(4);
});
