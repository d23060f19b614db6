import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { deliveryIdOf } from '../model/delivery';
import { DELIVERIES_QUEUE } from '../model/queue-names';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { createAddDeliveries, type DeliveryToAdd } from './bullmq-add-deliveries';
import { createJobKeys } from './bullmq-layout';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const jobKeys = createJobKeys('bull', DELIVERIES_QUEUE);

function buildDelivery(): DeliveryToAdd {
  const accountId = uniqueAccountId();
  const data = { account_id: accountId };
  return { accountId, eventId: uniqueEventId(), endpointId: uniqueEndpointId(), data, step: 1 };
}

async function arrange() {
  const { url, client } = willClose(await openTestRedis());
  const queue = willClose(new Queue(DELIVERIES_QUEUE, { connection: client }));
  await queue.waitUntilReady();
  return { url, client, queue, addDeliveries: createAddDeliveries({ redis: client, prefix: 'bull' }) };
}

/** All that there is of a queue, without what differs from one moment, and from one job, to the next. */
async function readQueue(client: Redis, jobId: string) {
  // The time of acceptance is ours.
  const { timestamp, opts, at: _, ...job } = await client.hgetall(jobKeys.job(jobId));
  const events = await client.xrange(jobKeys.events, '-', '+');
  return {
    job,
    attempts: (JSON.parse(opts ?? '{}') as { readonly attempts?: number }).attempts,
    hasTime: Number(timestamp) > 1_700_000_000_000,
    places: await client.zrange(jobKeys.prioritized, '0', '-1', 'WITHSCORES'),
    marker: await client.zrange(jobKeys.marker, '0', '-1', 'WITHSCORES'),
    counter: await client.get(jobKeys.priorityCounter),
    waiting: events.map(([, fields]) => fields).filter((fields) => fields.includes('waiting')),
  };
}

it('leaves in Redis what BullMQ’s own add leaves', async () => {
  const delivery = buildDelivery();
  const jobId = deliveryIdOf(delivery);
  const ours = await arrange();
  await ours.addDeliveries([delivery]);
  const theirs = await arrange();
  await theirs.queue.add('d', delivery.data, { attempts: 10_000, priority: 1, jobId });
  expect(await readQueue(ours.client, jobId)).toEqual(await readQueue(theirs.client, jobId));
});

it('leaves a job alone that is there, in whichever state', async () => {
  const { client, queue, addDeliveries } = await arrange();
  const [delayed, waiting] = [buildDelivery(), buildDelivery()];
  await queue.add('other', { is: 'theirs' }, { jobId: deliveryIdOf(delayed), delay: 60_000 });
  await addDeliveries([waiting]);
  const all = async () =>
    await Promise.all([delayed, waiting].map((one) => client.hgetall(jobKeys.job(deliveryIdOf(one)))));
  const before = await all();
  await addDeliveries([waiting, delayed]);
  expect(await all()).toEqual(before);
  expect(await queue.getJobCounts('delayed', 'prioritized')).toEqual({ delayed: 1, prioritized: 1 });
});

it('does not wake anybody while the queue is paused', async () => {
  const { client, queue, addDeliveries } = await arrange();
  await queue.pause();
  await addDeliveries([buildDelivery()]);
  expect(await client.zcard(jobKeys.marker)).toBe(0);
});

it('wakes a worker that waits, which takes and ends them', async () => {
  const { url, queue, addDeliveries } = await arrange();
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  willClose({ close: () => connection.disconnect() });
  const taken: string[] = [];
  const deliveries = Array.from({ length: 30 }, buildDelivery);
  const allTaken = new Promise<void>((resolve) => {
    const worker = new Worker(
      DELIVERIES_QUEUE,
      async ({ id = '', data }) => {
        taken.push(`${id} ${data.account_id}`);
      },
      { connection, removeOnComplete: { count: 0 }, drainDelay: 3_600 },
    );
    willClose(worker);
    worker.on('completed', () => {
      if (taken.length === deliveries.length) resolve();
    });
  });
  await new Promise(setImmediate);
  await addDeliveries(deliveries);
  await allTaken;
  expect(taken.toSorted()).toEqual(
    deliveries.map((one) => `${deliveryIdOf(one)} ${one.accountId}`).toSorted(),
  );
  expect(await queue.getJobCountByTypes('prioritized', 'active', 'completed', 'failed')).toBe(0);
});

it('fails as the store being away while Redis is', async () => {
  const { url } = await arrange();
  const redis = new Redis(url, { maxRetriesPerRequest: 0, enableOfflineQueue: false, lazyConnect: true });
  willClose({ close: () => redis.disconnect() });
  const addDeliveries = createAddDeliveries({ redis, prefix: 'bull' });
  await expect(addDeliveries([buildDelivery()])).rejects.toMatchObject({ code: 'storage_unavailable' });
});
