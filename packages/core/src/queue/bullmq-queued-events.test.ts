import { eventJobId } from '@hookferry/producer/contract';
import { Queue } from 'bullmq';
import { EVENTS_QUEUE } from '../model/queue-names';
import { createClosables } from '../testing/closables';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEventId } from '../testing/unique-ids';
import { BullmqQueuedEvents } from './bullmq-queued-events';

let redis: TestRedis;
const { willClose, closeAll } = createClosables();
beforeAll(async () => {
  redis = await openTestRedis();
});
afterEach(closeAll);
afterAll(() => redis.close());

/** An event that a producer has pushed. */
async function arrange() {
  const [accountId, id] = [uniqueAccountId(), uniqueEventId()];
  const queue = willClose(new Queue(EVENTS_QUEUE, { connection: redis.client }));
  const jobId = eventJobId(accountId, id);
  const data = { account_id: accountId, type: 'brief.created', data: {}, id };
  await queue.add('brief.created', data, { jobId, timestamp: 1_000 });
  const queuedEvents = new BullmqQueuedEvents({ redis: redis.client, prefix: 'bull' });
  return { accountId, id, queuedEvents, jobKey: queue.toKey(jobId) };
}

it('finds an event that no worker has taken yet', async () => {
  const { queuedEvents, accountId, id } = await arrange();
  expect(await queuedEvents.find(accountId, id)).toEqual({
    type: 'brief.created',
    acceptedAt: 1_000,
    isAimed: false,
  });
});

it("finds none in what is not JSON, in another account's and in none at all", async () => {
  const { queuedEvents, accountId, id, jobKey } = await arrange();
  await redis.client.hset(jobKey, 'data', '{"broken');
  expect(await queuedEvents.find(accountId, id)).toBeUndefined();
  expect(await queuedEvents.find(uniqueAccountId(), id)).toBeUndefined();
  expect(await queuedEvents.find(accountId, uniqueEventId())).toBeUndefined();
});
