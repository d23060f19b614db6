import { Redis } from 'ioredis';
import { type SentinelRedis, startSentinelRedis } from '../faults/redis/sentinel-redis';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

let redis: SentinelRedis;
let stack: Stack;
beforeAll(async () => {
  redis = await startSentinelRedis();
  stack = await Stack.start({ environment: { REDIS_URL: redis.url } });
});
afterAll(async () => {
  await stack.stop();
  await redis.remove();
});

it('leaves a master that the Sentinels have replaced, although it still replies', async () => {
  redis.network.cutOff();
  await redis.untilFailedOver();
  const promoted = new Redis(redis.replica.port, '127.0.0.1');
  // The old master takes everything still: what it is told now would be gone when the network is whole again.
  const kept = await until(async () => {
    const id = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data).catch(() => undefined);
    if (id === undefined) return undefined;
    return (await promoted.keys(`event:*${id}*`)).length > 0 ? id : undefined;
  });
  promoted.disconnect();
  redis.network.heal();
  await redis.untilDemoted();
  await stack.client.waitUntilReady();
  expect((await stack.client.request('GET', `/v1/events/${kept}`)).status).toBe(200);
});
