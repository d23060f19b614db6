import { Queue } from 'bullmq';
import { createClosables } from '../testing/closables';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { BullmqResendQueue } from './bullmq-resend-queue';
import { deliveryJobId } from './delivery-job';
import { DELIVERIES_QUEUE, SLOW_DELIVERIES_QUEUE } from './queue-names';

let redis: TestRedis;
const { willClose, closeAll } = createClosables();
beforeAll(async () => {
  redis = await openTestRedis();
});
afterEach(closeAll);
afterAll(() => redis.close());

/** A delivery's job in one of the lanes. */
async function arrange(queueName: string) {
  const delivery = { eventId: uniqueEventId(), endpointId: uniqueEndpointId() };
  const queue = willClose(new Queue(queueName, { connection: redis.client }));
  const jobId = deliveryJobId(delivery, 'first');
  await queue.add('d', {}, { jobId });
  return {
    delivery,
    resendQueue: willClose(new BullmqResendQueue({ redis: redis.client, prefix: 'bull' })),
    jobState: () => queue.getJobState(jobId),
    // As BullMQ leaves it that has failed for good.
    async fail() {
      await redis.client.lrem(queue.toKey('wait'), 1, jobId);
      await redis.client.zadd(queue.toKey('failed'), 1, jobId);
    },
  };
}

describe.each([DELIVERIES_QUEUE, SLOW_DELIVERIES_QUEUE])('on %s', (queueName) => {
  it('puts a job back that has failed for good', async () => {
    const { resendQueue, delivery, jobState, fail } = await arrange(queueName);
    await fail();
    expect(await jobState()).toBe('failed');
    await resendQueue.putBackFailed(delivery);
    expect(await jobState()).toBe('waiting');
  });

  it('leaves alone one that has not', async () => {
    const { resendQueue, delivery, jobState } = await arrange(queueName);
    await resendQueue.putBackFailed(delivery);
    expect(await jobState()).toBe('waiting');
  });
});
