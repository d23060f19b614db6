import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { DeliveryParts } from '../deliveries/delivery-id';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { BullmqDeliveryJobs } from './bullmq-delivery-jobs';
import { deliveryJobId } from './delivery-job';
import { DELIVERIES_QUEUE, SLOW_DELIVERIES_QUEUE } from './queue-names';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

it('takes away what waits for its time, leaves what waits for a worker, and says what a worker is at', async () => {
  const { url, client } = willClose(await openTestRedis());
  const jobs = willClose(new BullmqDeliveryJobs({ redis: client, prefix: 'bull' }));
  const fast = willClose(new Queue(DELIVERIES_QUEUE, { connection: client }));
  const slow = willClose(new Queue(SLOW_DELIVERIES_QUEUE, { connection: client }));
  const [none, waiting, delayed, active] = Array.from(
    { length: 4 },
    (): DeliveryParts => ({ eventId: uniqueEventId(), endpointId: uniqueEndpointId() }),
  ) as [DeliveryParts, DeliveryParts, DeliveryParts, DeliveryParts];
  await slow.add('d', {}, { jobId: deliveryJobId(active, 'second') });
  const taken = new Promise<() => void>((resolveTaken) => {
    const connection = new Redis(url, { maxRetriesPerRequest: null });
    willClose({ close: () => connection.disconnect() });
    const processor = () => new Promise<void>((resolve) => resolveTaken(resolve));
    willClose(new Worker(SLOW_DELIVERIES_QUEUE, processor, { connection }));
  });
  const finish = await taken;
  await fast.add('d', {}, { jobId: deliveryJobId(waiting, 'first') });
  await fast.add('d', {}, { jobId: deliveryJobId(delayed, 'first'), delay: 60_000 });

  expect(await jobs.removeIdle([none, waiting, delayed, active])).toEqual([active]);
  expect(await fast.getJobCounts('delayed', 'wait')).toEqual({ delayed: 0, wait: 1 });
  expect(await fast.getJob(deliveryJobId(delayed, 'first'))).toBeUndefined();
  finish();
});
