import { once } from 'node:events';
import { keys } from '../domain/keys';
import { connectRedis } from '../platform/redis-connect';
import { createClosables } from '../testing/closables';
import { startRedisProxy } from '../testing/redis-proxy';
import { openTestRedis } from '../testing/test-redis';
import { uniqueAccountId } from '../testing/unique-ids';
import { AllowanceStore } from './redis-allowance-store';

const ACCOUNT = uniqueAccountId();
const ofKey = (apiKeyId: string, points: number) => ({ apiKeyId, windowMs: 60_000, points });
const ofAccount = (points: number) => ({ apiKeyId: undefined, windowMs: 60_000, points });

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

async function connectTo(url: string) {
  const client = connectRedis({ url, role: 'answering', name: 'test', emit: () => {} });
  willClose({ close: () => client.disconnect() });
  await once(client, 'ready');
  return client;
}

describe('the allowance store', () => {
  it('counts what all processes take from a key and from its account, and each key and account apart', async () => {
    const redis = willClose(await openTestRedis());
    const one = new AllowanceStore(await connectTo(redis.url));
    const other = new AllowanceStore(await connectTo(redis.url));
    expect(await one.take(ACCOUNT, [ofKey('a', 2), ofAccount(4)])).toMatchObject([
      { taken: 2 },
      { taken: 4 },
    ]);
    expect(await other.take(ACCOUNT, [ofKey('a', 3)])).toMatchObject([{ taken: 5 }]);
    expect(await one.take(ACCOUNT, [ofKey('b', 1), ofAccount(1)])).toMatchObject([
      { taken: 1 },
      { taken: 5 },
    ]);
    expect(await one.take(uniqueAccountId(), [ofAccount(1)])).toMatchObject([{ taken: 1 }]);
  });

  it('asks for several by one command', async () => {
    const redis = willClose(await openTestRedis());
    const client = await connectTo(redis.url);
    const store = new AllowanceStore(client);
    await store.take(ACCOUNT, [ofKey('a', 1), ofAccount(1)]);
    const send = jest.spyOn(client, 'sendCommand');
    await store.take(ACCOUNT, [ofKey('a', 1), ofAccount(1)]);
    expect(send).toHaveBeenCalledTimes(1);
  });

  it('says until when the window goes, which what is taken later does not change', async () => {
    const redis = willClose(await openTestRedis());
    const store = new AllowanceStore(await connectTo(redis.url));
    await store.take(ACCOUNT, [ofKey('a', 4)]);
    await redis.client.pexpire(keys.rateLimit(ACCOUNT, 'a'), 30_000);
    const [usage] = await store.take(ACCOUNT, [ofKey('a', 4)]);
    expect(usage?.taken).toBe(8);
    expect(usage?.resetsInMs).toBeGreaterThan(0);
    expect(usage?.resetsInMs).toBeLessThanOrEqual(30_000);
  });

  it('leaves nothing in Redis beyond the window', async () => {
    const redis = willClose(await openTestRedis());
    await new AllowanceStore(await connectTo(redis.url)).take(ACCOUNT, [ofKey('a', 1), ofAccount(1)]);
    const found = await redis.client.keys('*');
    expect(found.toSorted()).toEqual([`rate-limit:{${ACCOUNT}}`, `rate-limit:{${ACCOUNT}}:a`]);
    for (const key of found) expect(await redis.client.pttl(key)).toBeGreaterThan(0);
  });

  it.each(['refuses connections', 'is silent'])('goes on counting in memory while Redis %s', async (how) => {
    const redis = willClose(await openTestRedis());
    const proxy = willClose(await startRedisProxy(redis.url));
    const store = new AllowanceStore(await connectTo(proxy.url));
    await store.take(ACCOUNT, [ofKey('a', 3)]);
    if (how === 'is silent') proxy.freeze();
    else await proxy.close();
    const four = [ofKey('a', 4), ofAccount(4)];
    expect(await store.take(ACCOUNT, four)).toMatchObject([{ taken: 4 }, { taken: 4 }]);
    expect(await store.take(ACCOUNT, four)).toMatchObject([{ taken: 8 }, { taken: 8 }]);
  });
});
