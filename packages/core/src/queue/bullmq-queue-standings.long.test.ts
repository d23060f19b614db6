import { QUEUE_PREFIX } from '@hookferry/producer/contract';
import { Queue, Worker } from 'bullmq';
import { deliveryIdOf, type NewDelivery } from '../domain/delivery';
import {
  createQueueLayout,
  DELIVERIES_QUEUE,
  EVENTS_QUEUE,
  oneShard,
  shardsAmong,
  workedQueues,
} from '../domain/queues';
import { atomicAsOne } from '../platform/redis-atomic';
import { createClosables } from '../testing/closables';
import { createSeededRandom } from '../testing/seeded-random';
import { openTestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { DeliveryQueue } from './bullmq-delivery-queue';
import { DueDeliveries } from './bullmq-due-deliveries';
import { createJobKeys } from './bullmq-layout';
import { LOOKED_AT, QueueStandings } from './bullmq-queue-standings';

describe('sharded standings', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  async function arrange(shardCount: number) {
    const { client } = willClose(await openTestRedis());
    const shards = shardsAmong(createQueueLayout(shardCount, QUEUE_PREFIX), []);
    const deliveryQueue = new DeliveryQueue(client, shards);
    const standings = new QueueStandings(client, shards);
    async function add(accountId: ReturnType<typeof uniqueAccountId>, count: number): Promise<void> {
      const endpointIds = Array.from({ length: 8 }, uniqueEndpointId);
      const deliveries = Array.from({ length: count }, (_, i) => {
        return { accountId, endpointId: endpointIds[i % 8] ?? uniqueEndpointId(), eventId: uniqueEventId() };
      });
      await deliveryQueue.addAll(deliveries);
    }
    return { standings, add };
  }

  it('gives each queue of each shard, and nothing where nothing is', async () => {
    const { standings } = await arrange(2);
    const { queues, deadLetters } = await standings.read(Date.now());
    expect(deadLetters).toBe(0);
    expect(queues.map(({ name, shard }) => [name, shard])).toEqual(
      [0, 1].flatMap((shard) => workedQueues.map((name) => [name, shard])),
    );
    for (const queue of queues) expect(queue).toMatchObject({ waiting: 0, active: 0, delayed: 0, failed: 0 });
    expect(await standings.busiestAccounts(10)).toEqual([]);
  });

  it('counts what waits in each shard, and for how long the oldest has', async () => {
    const { standings, add } = await arrange(2);
    await add(uniqueAccountId(), 80);
    const { queues } = await standings.read(Date.now() + 60_000);
    const deliveries = queues.filter(({ name }) => name === DELIVERIES_QUEUE);
    expect(deliveries.reduce((sum, { waiting }) => sum + waiting, 0)).toBe(80);
    expect(Math.max(...deliveries.map(({ oldestWaitedMs }) => oldestWaitedMs))).toBeGreaterThan(59_000);
  });

  it('names the accounts with the most waiting, exactly while few wait', async () => {
    const { standings, add } = await arrange(2);
    const [large, small, smallest] = [uniqueAccountId(), uniqueAccountId(), uniqueAccountId()];
    await add(small, 20);
    await add(large, 300);
    await add(smallest, 1);
    expect(await standings.busiestAccounts(2)).toEqual([
      { accountId: large, waiting: 300 },
      { accountId: small, waiting: 20 },
    ]);
  });

  it('estimates them where more wait than are looked at', async () => {
    const { standings, add } = await arrange(1);
    const [large, small] = [uniqueAccountId(), uniqueAccountId()];
    const total = 3 * LOOKED_AT;
    await add(large, total * 0.8);
    await add(small, total * 0.2);
    const [first, second] = await standings.busiestAccounts(10);
    expect([first?.accountId, second?.accountId]).toEqual([large, small]);
    expect((first?.waiting ?? 0) + (second?.waiting ?? 0)).toBe(total);
  });
});

describe('bullmq oldest waiting', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  // So far ahead that BullMQ does not put back by itself what is due.
  const AHEAD_MS = 3_600_000;

  const jobKeys = createJobKeys(QUEUE_PREFIX, DELIVERIES_QUEUE);

  async function arrange() {
    const { client } = willClose(await openTestRedis());
    const connection = { redis: client, prefix: QUEUE_PREFIX };
    const deliveryQueue = new DeliveryQueue(client, oneShard(QUEUE_PREFIX));
    const standings = new QueueStandings(client, oneShard(QUEUE_PREFIX));
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
        (await standings.readOldestWaiting(now)).find((each) => each.queue === queue)?.waitedMs,
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
    await new DueDeliveries({
      prefix: connection.prefix,
      atomic: atomicAsOne(connection.redis),
      clock: () => now,
      emit: () => {},
    }).runOnce();
    expect(await waitedIn(DELIVERIES_QUEUE)).toBeLessThan(2 * AHEAD_MS);
  });

  it('knows jobs that producers push without a position', async () => {
    const { events, client, waitedIn } = await arrange();
    await events.add('a', {}, { jobId: 'a', timestamp: 5 });
    await events.add('b', {});
    expect(await client.llen(createJobKeys(QUEUE_PREFIX, EVENTS_QUEUE).wait)).toBe(2);
    expect(await waitedIn(EVENTS_QUEUE)).toBeGreaterThan(1_700_000_000_000);
  });

  it('is that of the job that has waited for the longest in any shard', async () => {
    const { client, now, flow, deliveriesTo } = await arrange();
    const shards = shardsAmong(createQueueLayout(3, QUEUE_PREFIX), []);
    for (const [i, { prefix }] of shards.all().entries()) {
      const queue = new DeliveryQueue(client, oneShard(prefix));
      const [delivery] = deliveriesTo(flow(), 1);
      if (!delivery) throw new Error('There is none.');
      await queue.addAll([delivery]);
      const key = createJobKeys(prefix, DELIVERIES_QUEUE).job(deliveryIdOf(delivery));
      await client.hset(key, 'timestamp', now - (i === 1 ? 9_000 : 1_000));
    }
    const oldest = await new QueueStandings(client, shards).readOldestWaiting(now);
    expect(oldest).toEqual([
      { queue: EVENTS_QUEUE, waitedMs: 0 },
      { queue: DELIVERIES_QUEUE, waitedMs: 9_000 },
      { queue: 'replays', waitedMs: 0 },
      { queue: 'erasures', waitedMs: 0 },
    ]);
  });
});

describe('bullmq queue depth', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  describe('read', () => {
    it('counts the jobs of each queue by state, and shows zero where there are none', async () => {
      const redis = willClose(await openTestRedis());
      const events = willClose(new Queue(EVENTS_QUEUE, { connection: redis.client }));
      await events.addBulk([
        { name: 'one', data: {} },
        { name: 'two', data: {} },
        { name: 'in order', data: {}, opts: { priority: 3 } },
        { name: 'later', data: {}, opts: { delay: 60_000 } },
      ]);
      const standings = new QueueStandings(redis.client, oneShard('bull'));
      const jobs = Object.fromEntries(
        (await standings.readDepths()).map(({ queue, state, jobs: count }) => [`${queue} ${state}`, count]),
      );
      expect(jobs).toEqual({
        'events wait': 3,
        'events active': 0,
        'events delayed': 1,
        'events failed': 0,
        'deliveries wait': 0,
        'deliveries active': 0,
        'deliveries delayed': 0,
        'deliveries failed': 0,
        'replays wait': 0,
        'replays active': 0,
        'replays delayed': 0,
        'replays failed': 0,
        'erasures wait': 0,
        'erasures active': 0,
        'erasures delayed': 0,
        'erasures failed': 0,
        'events-dead-letters wait': 0,
        'events-dead-letters active': 0,
        'events-dead-letters delayed': 0,
        'events-dead-letters failed': 0,
      });
    });
  });
});
