import { once } from 'node:events';
import { connectRedis } from '../redis/redis-connect';
import { createClosables } from '../testing/closables';
import { startRedisProxy } from '../testing/redis-proxy';
import { openTestRedis } from '../testing/test-redis';
import { createRedisAllowanceStore } from './redis-allowance-store';

const ALLOWANCE = { count: 5, windowMs: 60_000 };

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

async function connectTo(url: string) {
  const client = connectRedis({ url, role: 'answering', name: 'test', emit: () => {} });
  willClose({ close: () => client.disconnect() });
  await once(client, 'ready');
  return client;
}

describe('the allowance store', () => {
  it('counts what all processes take from a key, and each key apart', async () => {
    const redis = willClose(await openTestRedis());
    const one = createRedisAllowanceStore(await connectTo(redis.url), ALLOWANCE);
    const other = createRedisAllowanceStore(await connectTo(redis.url), ALLOWANCE);
    expect(await one.take('a', 2)).toMatchObject({ taken: 2 });
    expect(await other.take('a', 3)).toMatchObject({ taken: 5 });
    expect(await one.take('b', 1)).toMatchObject({ taken: 1 });
  });

  it('says by how much the allowance was passed, and until when the window goes', async () => {
    const redis = willClose(await openTestRedis());
    const store = createRedisAllowanceStore(await connectTo(redis.url), ALLOWANCE);
    await store.take('a', 4);
    const { taken, resetsInMs } = await store.take('a', 4);
    expect(taken).toBe(8);
    expect(resetsInMs).toBeGreaterThan(0);
    expect(resetsInMs).toBeLessThanOrEqual(60_000);
  });

  it('leaves nothing in Redis beyond the window', async () => {
    const redis = willClose(await openTestRedis());
    await createRedisAllowanceStore(await connectTo(redis.url), ALLOWANCE).take('a', 1);
    const [key = ''] = await redis.client.keys('*');
    expect(key).toBe('rate-limit:{a}');
    expect(await redis.client.pttl(key)).toBeGreaterThan(0);
  });

  it.each(['refuses connections', 'is silent'])('goes on counting in memory while Redis %s', async (how) => {
    const redis = willClose(await openTestRedis());
    const proxy = willClose(await startRedisProxy(redis.url));
    const store = createRedisAllowanceStore(await connectTo(proxy.url), ALLOWANCE);
    await store.take('a', 3);
    if (how === 'is silent') proxy.freeze();
    else await proxy.close();
    expect(await store.take('a', 4)).toMatchObject({ taken: 4 });
    expect(await store.take('a', 4)).toMatchObject({ taken: 8 });
  });
});
