import { once } from 'node:events';
import { QUEUE_PREFIX } from '@hookferry/producer/contract';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { deliveryIdOf, type NewDelivery } from '../domain/delivery';
import { DELIVERIES_QUEUE, oneShard } from '../domain/queues';
import { atomicAsOne } from '../platform/redis-atomic';
import { createClosables } from '../testing/closables';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { readWaitingIds } from '../testing/waiting-jobs';
import { DeliveryQueue } from './bullmq-delivery-queue';
import { DUE_GRACE_MS, DueDeliveries } from './bullmq-due-deliveries';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const HOUR_MS = 3_600_000;

/** A queue of deliveries, and a DueDeliveries by a clock of the test's. */
async function arrange() {
  const { url, client } = willClose(await openTestRedis());
  const connection = { redis: client, prefix: QUEUE_PREFIX };
  const deliveryQueue = new DeliveryQueue(connection.redis, oneShard(connection.prefix));
  const jobs = willClose(new Queue(DELIVERIES_QUEUE, { connection: client }));
  const worker = willClose(new Worker(DELIVERIES_QUEUE, null, { connection: client }));
  const signals = recordSignals();
  // So far ahead that BullMQ does not come before us.
  const time = { now: Date.now() + HOUR_MS };
  const clock = () => time.now;
  const dueDeliveries = new DueDeliveries({
    prefix: QUEUE_PREFIX,
    atomic: atomicAsOne(client),
    clock,
    emit: signals.listen,
  });
  willClose({ close: () => dueDeliveries.stop() });
  const flow = () => ({ accountId: uniqueAccountId(), endpointId: uniqueEndpointId() });

  /**
   * Deliveries of one endpoint that are due at a time, as the consumer leaves them when an attempt has
   * failed.
   */
  async function delay(count: number, dueAt: number, to = flow()): Promise<readonly string[]> {
    const deliveries: NewDelivery[] = Array.from({ length: count }, () => ({
      ...to,
      eventId: uniqueEventId(),
    }));
    await deliveryQueue.addAll(deliveries);
    for (let i = 0; i < count; i += 1) {
      const job = await worker.getNextJob('token', { block: false });
      await job?.moveToDelayed(dueAt + DUE_GRACE_MS, 'token');
    }
    return deliveries.map(deliveryIdOf);
  }

  return {
    url,
    client,
    deliveryQueue,
    jobs,
    worker,
    signals,
    time,
    clock,
    dueDeliveries,
    flow,
    delay,
    waiting: () => readWaitingIds(client, jobs),
    async untilWaiting(count: number): Promise<void> {
      while ((await readWaitingIds(client, jobs)).length < count);
    },
    async take(count: number): Promise<readonly string[]> {
      const taken: string[] = [];
      for (let i = 0; i < count; i += 1) {
        taken.push((await worker.getNextJob('token', { block: false }))?.id ?? '');
      }
      return taken;
    },
  };
}

describe('runOnce', () => {
  it('puts back what is due and nothing else, and tells when the next one is', async () => {
    const { dueDeliveries, delay, waiting, time, jobs } = await arrange();
    const due = await delay(2, time.now);
    const dueBefore = await delay(1, time.now - 1);
    const later = await delay(1, time.now + 1);
    await delay(1, time.now + 5_000);
    expect(await dueDeliveries.runOnce()).toBe(time.now + 1);
    expect((await waiting()).toSorted()).toEqual([...due, ...dueBefore].toSorted());
    expect(await jobs.getJobState(later[0] ?? '')).toBe('delayed');

    time.now += 1;
    expect(await dueDeliveries.runOnce()).toBe(time.now + 4_999);
    expect(await waiting()).toContain(later[0]);
  });

  it('says that there is none', async () => {
    const { dueDeliveries, delay, time } = await arrange();
    expect(await dueDeliveries.runOnce()).toBeUndefined();
    await delay(1, time.now);
    expect(await dueDeliveries.runOnce()).toBeUndefined();
  });

  it('puts back hundreds that are due at once, all of them, once each, in the order in which they are due', async () => {
    const { dueDeliveries, delay, take, time, flow, waiting } = await arrange();
    const to = flow();
    const ids = [...(await delay(250, time.now - 2, to)), ...(await delay(250, time.now, to))];
    await Promise.all([dueDeliveries.runOnce(), dueDeliveries.runOnce()]);
    expect(await waiting()).toHaveLength(500);
    const taken = await take(500);
    expect(taken.slice(0, 250).toSorted()).toEqual(ids.slice(0, 250).toSorted());
    expect(taken.slice(250).toSorted()).toEqual(ids.slice(250).toSorted());
  });

  it('leaves a job as BullMQ does that puts it back by itself, apart from its place', async () => {
    const { dueDeliveries, delay, time, jobs, client, take } = await arrange();
    const seen = async (id: string) => {
      const {
        timestamp: _,
        priority: __,
        processedOn: ___,
        since: ____,
        ...fields
      } = await client.hgetall(jobs.toKey(id));
      const events = await client.xrevrange(jobs.toKey('events'), '+', '-', 'COUNT', 1);
      const event = events.flatMap(([, pairs]) => pairs).map((text) => (text === id ? 'it' : text));
      const marker = await client.zrange(jobs.toKey('marker'), '0', '-1', 'WITHSCORES');
      return { fields: JSON.stringify(fields).replaceAll(/(evt|wh|acct?)_[0-9a-z]+/g, '*'), event, marker };
    };
    const [ours = ''] = await delay(1, time.now);
    await client.del(jobs.toKey('marker'));
    await dueDeliveries.runOnce();
    const putBack = await seen(ours);
    await take(1);
    const [theirs = ''] = await delay(1, time.now + HOUR_MS);
    await client.del(jobs.toKey('marker'));
    await (await jobs.getJob(theirs))?.promote();
    expect(putBack).toEqual(await seen(theirs));
  });

  it.each([
    ['is paused', 0, async (jobs: Queue) => await jobs.pause()],
    ['has room for more under way', 1, async (jobs: Queue) => await jobs.setGlobalConcurrency(5)],
    ['has as many under way as it may', 0, async (jobs: Queue) => await jobs.setGlobalConcurrency(1)],
  ])('wakes idle workers as BullMQ would when the queue %s', async (_what, wakes, change) => {
    const { dueDeliveries, delay, time, jobs, client, deliveryQueue, flow, take } = await arrange();
    await delay(1, time.now);
    await deliveryQueue.addAll([{ ...flow(), eventId: uniqueEventId() }]);
    await take(1);
    await change(jobs);
    await client.del(jobs.toKey('marker'));
    await dueDeliveries.runOnce();
    expect(await client.zcount(jobs.toKey('marker'), 0, 0)).toBe(wakes);
  });

  it('puts back a job whose data and id are not ours as well: a worker says what is wrong with it', async () => {
    const { dueDeliveries, jobs, waiting, time } = await arrange();
    for (const jobId of ['strange', 'strange.', 'a.b.c']) {
      await jobs.add('x', { data: 'no account' }, { jobId, delay: 10 });
    }
    time.now += 1_000;
    await dueDeliveries.runOnce();
    expect((await waiting()).toSorted()).toEqual(['a.b.c', 'strange', 'strange.']);
  });
});

describe('a delivery that is due', () => {
  it('has a place of today, and not the one that it had', async () => {
    const { dueDeliveries, deliveryQueue, delay, flow, take, time } = await arrange();
    const [failing, busy] = [flow(), flow()];
    const ids = await delay(300, time.now + 1_000, failing);
    await deliveryQueue.addAll(Array.from({ length: 100 }, () => ({ ...busy, eventId: uniqueEventId() })));
    time.now += 1_000;
    await dueDeliveries.runOnce();
    // Deliveries with the last positions of their time take turns with today's waiting ones.
    const taken = await take(200);
    const ofFailing = taken.filter((id) => ids.includes(id)).length;
    expect(Math.abs(ofFailing - 100)).toBeLessThanOrEqual(2);
  });

  it('goes before nobody else with a thousand that have failed together', async () => {
    const { dueDeliveries, deliveryQueue, delay, flow, take, time } = await arrange();
    await delay(1_000, time.now + 1_000, flow());
    const other = flow();
    const waiting = Array.from({ length: 100 }, () => ({ ...other, eventId: uniqueEventId() }));
    await deliveryQueue.addAll(waiting);
    time.now += 1_000;
    await dueDeliveries.runOnce();
    const light = { ...flow(), eventId: uniqueEventId() };
    await deliveryQueue.addAll([light]);
    const taken = await take(201);
    expect(taken.slice(0, 3)).toContain(deliveryIdOf(light));
    expect(waiting.map(deliveryIdOf).filter((id) => !taken.includes(id)).length).toBeLessThanOrEqual(1);
  });
});

describe('once started', () => {
  it('puts back what it finds, and what it is told of', async () => {
    const { dueDeliveries, delay, untilWaiting, take, time } = await arrange();
    const found = await delay(1, time.now);
    dueDeliveries.start();
    await untilWaiting(1);
    expect(await take(1)).toEqual(found);
    const told = await delay(1, time.now + 400);
    dueDeliveries.expect(time.now + 400);
    time.now += 400;
    await untilWaiting(1);
    expect(await take(1)).toEqual(told);
  });

  it('does nothing any more after it was stopped, and again when it is started again', async () => {
    const { dueDeliveries, delay, time, untilWaiting, waiting } = await arrange();
    dueDeliveries.start();
    await dueDeliveries.stop();
    await dueDeliveries.stop();
    await delay(1, time.now);
    dueDeliveries.expect(time.now);
    expect(await waiting()).toEqual([]);
    dueDeliveries.start();
    await untilWaiting(1);
    await dueDeliveries.stop();
  });

  it('says that Redis is away, and goes on when it is back', async () => {
    const { url, signals, delay, untilWaiting, time, clock } = await arrange();
    const away = new Redis(url, { enableOfflineQueue: false, retryStrategy: () => null });
    willClose({ close: () => away.disconnect() });
    await once(away, 'ready');
    away.disconnect();
    await once(away, 'end');
    const cut = new DueDeliveries({
      prefix: QUEUE_PREFIX,
      atomic: atomicAsOne(away),
      clock,
      emit: signals.listen,
    });
    willClose({ close: () => cut.stop() });
    await delay(1, time.now);
    cut.start();
    await signals.first('task.failed');
    expect(signals.named('task.failed')).toMatchObject([{ task: 'queue due deliveries' }]);
    await away.connect();
    await untilWaiting(1);
  });
});

it('BullMQ is the net: a worker takes what nobody has put back', async () => {
  const { url, delay } = await arrange();
  const ids = await delay(2, Date.now() - DUE_GRACE_MS);
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  willClose({ close: () => connection.disconnect() });
  const taken: string[] = [];
  await new Promise<void>((resolve) => {
    const processor = async ({ id = '' }: { readonly id?: string }) => {
      taken.push(id);
      if (taken.length === ids.length) resolve();
    };
    willClose(new Worker(DELIVERIES_QUEUE, processor, { connection }));
  });
  expect(taken.toSorted()).toEqual(ids.toSorted());
});
