import { QUEUE_PREFIX } from '@hookferry/producer/contract';
import { Queue, Worker } from 'bullmq';
import type { NewDelivery } from '../intake/fan-out-event';
import { deliveryIdOf } from '../model/delivery';
import { createQueueLayout, shardsOf } from '../model/queue-layout';
import { DELIVERIES_QUEUE, EVENTS_QUEUE } from '../model/queue-names';
import { createClosables } from '../testing/closables';
import { createSeededRandom } from '../testing/seeded-random';
import { openTestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { BullmqDeliveryQueue } from './bullmq-delivery-queue';
import { DueDeliveries } from './bullmq-due-deliveries';
import { createJobKeys } from './bullmq-layout';
import { createBullmqOldestWaiting } from './bullmq-oldest-waiting';
import { createShardedOldestWaiting } from './sharded-oldest-waiting';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

// So far ahead that BullMQ does not put back by itself what is due.
const AHEAD_MS = 3_600_000;

const jobKeys = createJobKeys(QUEUE_PREFIX, DELIVERIES_QUEUE);

async function arrange() {
  const { client } = willClose(await openTestRedis());
  const connection = { redis: client, prefix: QUEUE_PREFIX };
  const deliveryQueue = willClose(new BullmqDeliveryQueue(connection));
  const oldest = createBullmqOldestWaiting(connection);
  const now = Date.now() + AHEAD_MS;
  const flow = () => ({ accountId: uniqueAccountId(), endpointId: uniqueEndpointId() });
  const deliveriesTo = (to: ReturnType<typeof flow>, count: number): NewDelivery[] =>
    Array.from({ length: count }, () => ({ ...to, eventId: uniqueEventId() }));
  return {
    client,
    connection,
    now,
    deliveryQueue,
    flow,
    deliveriesTo,
    events: willClose(new Queue(EVENTS_QUEUE, { connection: client })),
    worker: willClose(new Worker(DELIVERIES_QUEUE, null, { connection: client })),
    /** As if a job had been added so long ago. */
    age: async (delivery: NewDelivery, waitedMs: number) =>
      await client.hset(jobKeys.job(deliveryIdOf(delivery)), 'timestamp', now - waitedMs),
    waitedIn: async (queue: string) =>
      (await oldest.read(now)).find((each) => each.queue === queue)?.waitedMs,
  };
}

it('is zero for every queue in which nothing waits', async () => {
  const { waitedIn } = await arrange();
  const all = await Promise.all(['events', 'deliveries', 'replays', 'erasures'].map(waitedIn));
  expect(all).toEqual([0, 0, 0, 0]);
});

it('is that of the job that came first, not of the one that is taken next', async () => {
  const { deliveryQueue, deliveriesTo, flow, age, waitedIn } = await arrange();
  const [first, ...more] = deliveriesTo(flow(), 3);
  const [other] = deliveriesTo(flow(), 1);
  if (!first || !other) throw new Error('There are none.');
  await deliveryQueue.addAll([first, ...more]);
  await deliveryQueue.addAll([other]);
  await age(first, 9_000);
  await age(other, 1_000);
  expect(await waitedIn(DELIVERIES_QUEUE)).toBe(9_000);
});

it('finds the oldest wherever it stands while hundreds of endpoints have work', async () => {
  const { client, deliveryQueue, deliveriesTo, flow, worker, now, waitedIn } = await arrange();
  const random = createSeededRandom(7);
  const deliveries = Array.from({ length: 300 }, () => deliveriesTo(flow(), 10)).flat();
  const shuffled = deliveries.toSorted(() => random() - 0.5);
  for (const delivery of shuffled) await deliveryQueue.addAll([delivery]);
  // A millisecond apart: which one is the oldest is no matter of luck then.
  const addedAt = new Map<string, number>(
    shuffled.map((delivery, i) => [deliveryIdOf(delivery), now - 100_000 + i]),
  );
  for (const [id, at] of addedAt) await client.hset(jobKeys.job(id), 'timestamp', at);
  for (let taken = 0; taken < 600; taken += 1) {
    const job = await worker.getNextJob('token', { block: false });
    addedAt.delete(job?.id ?? '');
  }
  expect(await waitedIn(DELIVERIES_QUEUE)).toBe(now - Math.min(...addedAt.values()));
});

it('counts a retry from when it was put back, not from when it was added', async () => {
  const { connection, deliveryQueue, deliveriesTo, flow, worker, age, now, waitedIn } = await arrange();
  const [delivery] = deliveriesTo(flow(), 1);
  if (!delivery) throw new Error('There is none.');
  await deliveryQueue.addAll([delivery]);
  await age(delivery, now - 5);
  expect(await waitedIn(DELIVERIES_QUEUE)).toBe(now - 5);
  const job = await worker.getNextJob('token', { block: false });
  await job?.moveToDelayed(now, 'token');
  await new DueDeliveries({ connection, clock: () => now, emit: () => {} }).runOnce();
  expect(await waitedIn(DELIVERIES_QUEUE)).toBeLessThan(2 * AHEAD_MS);
});

it('knows those that producers push without a place', async () => {
  const { events, client, waitedIn } = await arrange();
  await events.add('a', {}, { jobId: 'a', timestamp: 5 });
  await events.add('b', {});
  expect(await client.llen(createJobKeys(QUEUE_PREFIX, EVENTS_QUEUE).wait)).toBe(2);
  expect(await waitedIn(EVENTS_QUEUE)).toBeGreaterThan(1_700_000_000_000);
});

it('is that of the job that has waited for the longest in any shard', async () => {
  const { client, now, flow, deliveriesTo } = await arrange();
  const shards = shardsOf(createQueueLayout(3, QUEUE_PREFIX));
  for (const [i, { prefix }] of shards.all().entries()) {
    const queue = willClose(new BullmqDeliveryQueue({ redis: client, prefix }));
    const [delivery] = deliveriesTo(flow(), 1);
    if (!delivery) throw new Error('There is none.');
    await queue.addAll([delivery]);
    const key = createJobKeys(prefix, DELIVERIES_QUEUE).job(deliveryIdOf(delivery));
    await client.hset(key, 'timestamp', now - (i === 1 ? 9_000 : 1_000));
  }
  const oldest = await createShardedOldestWaiting(client, shards).read(now);
  expect(oldest).toEqual([
    { queue: EVENTS_QUEUE, waitedMs: 0 },
    { queue: DELIVERIES_QUEUE, waitedMs: 9_000 },
    { queue: 'replays', waitedMs: 0 },
    { queue: 'erasures', waitedMs: 0 },
  ]);
});
