import { QueueObserver } from './queue-depths';
import { startRedisOnDisk } from './redis/single-redis';

it('finds what is left of an order, once it was left for long enough', async () => {
  const deployment = await startRedisOnDisk();
  const redis = deployment.connect({});
  const observer = new QueueObserver(deployment);
  expect(await observer.findLeftKeys(1)).toEqual([]);
  await redis.set('behind-heads:{bull}', '1');
  await redis.set('held-counts:{bull}', '1');
  expect([...(await observer.findLeftKeys(1))].sort()).toEqual(['behind-heads:{bull}', 'held-counts:{bull}']);
  await observer.close();
  redis.disconnect();
  await deployment.remove();
});
