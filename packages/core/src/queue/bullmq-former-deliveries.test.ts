import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { createRedisAccountStore } from '../accounts/redis-account-store';
import { createRedisAdmissionStore } from '../admission/redis-admission-store';
import { createRedisEndpointStore } from '../endpoints/redis-endpoint-store';
import { type DeliveryParts, deliveryIdOf } from '../model/delivery';
import type { Endpoint } from '../model/endpoint';
import type { EventId } from '../model/event';
import { DELIVERIES_QUEUE } from '../model/queue-names';
import { buildEndpoint } from '../testing/build-endpoint';
import { createClosables } from '../testing/closables';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis } from '../testing/test-redis';
import { testSealer } from '../testing/test-sealer';
import { uniqueEventId } from '../testing/unique-ids';
import { readWaitingIds, WAITING } from '../testing/waiting-jobs';
import { BullmqDeliveryQueue } from './bullmq-delivery-queue';
import { FormerDeliveries } from './bullmq-former-deliveries';

const ACCEPTED_AT = 1_700_000_000_000;
const SLOW_QUEUE = 'deliveries-slow';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

/** An account with an endpoint, as the former version has left them in an empty database. */
async function arrange(change: Partial<Endpoint> = {}) {
  const { url, client } = willClose(await openTestRedis());
  const connection = { redis: client, prefix: 'bull' };
  const endpoint = buildEndpoint(change);
  const { accountId, id: endpointId } = endpoint;
  const endpointStore = createRedisEndpointStore(client, testSealer);
  await createRedisAccountStore(client).create({ id: accountId, createdAt: 1 });
  await endpointStore.create(endpoint);
  const deliveryQueue = willClose(new BullmqDeliveryQueue(connection));
  const admissionStore = createRedisAdmissionStore(client);
  const signals = recordSignals();
  const former = new FormerDeliveries({
    connection,
    deliveryQueue,
    endpointStore,
    admissionStore,
    clock: Date.now,
    emit: signals.listen,
  });
  willClose({ close: () => former.stop() });
  const queueOf = (name: string) => willClose(new Queue(name, { connection: client }));
  const [today, slow, wakes] = [queueOf(DELIVERIES_QUEUE), queueOf(SLOW_QUEUE), queueOf('gates')];
  const data = { account_id: accountId, released: true };
  return {
    client,
    former,
    signals,
    today,
    slow,
    wakes,
    data,
    endpointId,
    admissionStore,
    /** Lets something happen right after a job was added, each time. */
    afterAdding(then: () => Promise<unknown>): void {
      const addAll = deliveryQueue.addAll.bind(deliveryQueue);
      deliveryQueue.addAll = async (...given) => {
        await addAll(...given);
        await then();
      };
    },
    delivery: (): DeliveryParts => ({ eventId: uniqueEventId(), endpointId }),
    park: (parts: DeliveryParts, side: 'first' | 'second', acceptedAt = ACCEPTED_AT) =>
      client.zadd(`parked:{${endpointId}}`, acceptedAt, `${parts.eventId} ${side}`),
    countParked: () => client.zcard(`parked:{${endpointId}}`),
    /** Those that are taken next first. */
    waiting: () => readWaitingIds(client, today),
    /** Lets a worker take the next job of a queue; it is at it until it is told to finish. */
    async take(name: string): Promise<() => void> {
      const connected = new Redis(url, { maxRetriesPerRequest: null });
      willClose({ close: () => connected.disconnect() });
      return await new Promise<() => void>((resolveTaken) => {
        let isFirst = true;
        const processor = async () => {
          if (isFirst) await new Promise<void>((resolve) => resolveTaken(resolve));
          isFirst = false;
        };
        willClose(new Worker(name, processor, { connection: connected }));
      });
    },
  };
}

const secondIdOf = (parts: DeliveryParts) => `${deliveryIdOf(parts)}~`;

describe('what the former version has left', () => {
  it.each<[string, object]>([
    ['waits for a worker', {}],
    ['waits with a priority', { priority: 3 }],
    ['waits for its next attempt', { delay: 3_600_000 }],
  ])('on its second queue, where it %s, becomes a job like all others', async (_what, options) => {
    const { former, slow, today, data, delivery, waiting } = await arrange();
    const [first, second] = [delivery(), delivery()];
    await slow.add('d', data, { jobId: deliveryIdOf(first), ...options });
    await slow.add('d', data, { jobId: secondIdOf(second), ...options });
    await former.runOnce();
    expect((await waiting()).toSorted()).toEqual([first, second].map(deliveryIdOf).toSorted());
    const job = await today.getJob(deliveryIdOf(first));
    expect(job?.data).toEqual({ account_id: data.account_id });
    expect(await slow.getJobCountByTypes('wait', 'prioritized', 'delayed')).toBe(0);
  });

  it('failed for good on its second queue gets another try', async () => {
    const { client, former, slow, data, delivery, waiting } = await arrange();
    const parts = delivery();
    await slow.add('d', data, { jobId: deliveryIdOf(parts) });
    await client.lrem(slow.toKey('wait'), 1, deliveryIdOf(parts));
    await client.zadd(slow.toKey('failed'), 1, deliveryIdOf(parts));
    await former.runOnce();
    expect(await waiting()).toEqual([deliveryIdOf(parts)]);
    expect(await slow.getFailedCount()).toBe(0);
  });

  it('on its second queue is taken over however much it is', async () => {
    const { former, slow, data, delivery, waiting } = await arrange();
    const all = Array.from({ length: 450 }, delivery);
    await slow.addBulk(all.map((parts) => ({ name: 'd', data, opts: { jobId: deliveryIdOf(parts) } })));
    await former.runOnce();
    expect((await waiting()).toSorted()).toEqual(all.map(deliveryIdOf).toSorted());
    expect(await slow.getWaitingCount()).toBe(0);
  });

  it('held becomes jobs, the longest waiting first, whichever of its two jobs came next', async () => {
    const { former, park, countParked, delivery, waiting } = await arrange();
    const all = [delivery(), delivery(), delivery()] as const;
    await park(all[2], 'first', ACCEPTED_AT + 2);
    await park(all[0], 'second', ACCEPTED_AT);
    await park(all[1], 'first', ACCEPTED_AT + 1);
    await former.runOnce();
    expect(await waiting()).toEqual(all.map(deliveryIdOf));
    expect(await countParked()).toBe(0);
  });

  it('held is taken over however much it is', async () => {
    const { former, park, countParked, delivery, waiting } = await arrange();
    const all = Array.from({ length: 450 }, delivery);
    for (const [index, parts] of all.entries()) await park(parts, 'second', ACCEPTED_AT + index);
    await former.runOnce();
    expect(await waiting()).toEqual(all.map(deliveryIdOf));
    expect(await countParked()).toBe(0);
  });

  it('held for an endpoint that takes one at a time goes in the order of acceptance', async () => {
    const { former, park, delivery, admissionStore, endpointId } = await arrange({ ordering: 'strict' });
    const all = [delivery(), delivery()] as const;
    await park(all[1], 'first', ACCEPTED_AT + 1);
    await park(all[0], 'second', ACCEPTED_AT);
    await former.runOnce();
    const order: EventId[] = [];
    for (;;) {
      const { next } = await admissionStore.stand(endpointId, undefined);
      if (!next) break;
      order.push(next.eventId);
      await admissionStore.leaveOrder(endpointId, next.eventId);
    }
    expect(order).toEqual(all.map(({ eventId }) => eventId));
  });

  it('for an endpoint that takes one at a time is in its order before it has a job', async () => {
    const { former, park, delivery, admissionStore, endpointId, today } = await arrange({
      ordering: 'strict',
    });
    const parts = delivery();
    await park(parts, 'first');
    const jobsThen: (number | undefined)[] = [];
    const { joinOrder } = admissionStore;
    admissionStore.joinOrder = async (...given) => {
      jobsThen.push(await today.getJobCountByTypes(...WAITING));
      await joinOrder(...given);
    };
    await former.runOnce();
    expect(jobsThen).toEqual([0]);
    expect((await admissionStore.stand(endpointId, undefined)).next?.eventId).toBe(parts.eventId);
  });

  it('asked for looks at what it held is taken away', async () => {
    const { former, wakes, endpointId } = await arrange();
    await wakes.add('w', {}, { jobId: endpointId, delay: 60_000 });
    await wakes.add('w', {}, { jobId: 'now' });
    await former.runOnce();
    expect(await wakes.getJobCountByTypes('wait', 'delayed')).toBe(0);
  });
});

describe('a delivery that a worker is just at', () => {
  it('by its job of today keeps what was held, until that has ended', async () => {
    const { former, today, data, delivery, park, countParked, waiting, take } = await arrange();
    const [parts, idle] = [delivery(), delivery()];
    await today.add('d', data, { jobId: deliveryIdOf(parts) });
    const finish = await take(DELIVERIES_QUEUE);
    await today.pause();
    await park(parts, 'second');
    await park(idle, 'second', ACCEPTED_AT + 1);
    await former.runOnce();
    expect(await countParked()).toBe(1);
    expect(await waiting()).toEqual([deliveryIdOf(idle)]);

    finish();
    while ((await today.getActiveCount()) > 0);
    await former.runOnce();
    expect(await countParked()).toBe(0);
  });

  it('by its job of today keeps the one of the second queue, until that has ended', async () => {
    const { former, today, slow, data, delivery, take } = await arrange();
    const parts = delivery();
    await today.add('d', data, { jobId: deliveryIdOf(parts) });
    const finish = await take(DELIVERIES_QUEUE);
    await slow.add('d', data, { jobId: deliveryIdOf(parts) });
    await former.runOnce();
    expect(await slow.getWaitingCount()).toBe(1);
    finish();
    while ((await today.getActiveCount()) > 0);
    await former.runOnce();
    expect(await slow.getWaitingCount()).toBe(0);
  });

  it('by a job of the second queue keeps that', async () => {
    const { former, slow, data, delivery, take } = await arrange();
    const parts = delivery();
    await slow.add('d', data, { jobId: deliveryIdOf(parts) });
    const finish = await take(SLOW_QUEUE);
    await former.runOnce();
    expect(await slow.getActiveCount()).toBe(1);
    expect(await slow.getJob(deliveryIdOf(parts))).toBeDefined();
    finish();
  });

  it('by a job of the second queue is taken over once that worker has died, since nobody else looks there', async () => {
    const { former, slow, client, data, delivery, waiting, take } = await arrange();
    const parts = delivery();
    await slow.add('d', data, { jobId: deliveryIdOf(parts) });
    const finish = await take(SLOW_QUEUE);
    await client.del(`bull:${SLOW_QUEUE}:${deliveryIdOf(parts)}:lock`);
    await former.runOnce();
    expect(await waiting()).toEqual([deliveryIdOf(parts)]);
    expect(await slow.getActiveCount()).toBe(0);
    finish();
  });
});

// It takes the job that has just been added, cannot send yet, and finds that its delivery waits elsewhere already.
describe('a worker of the former version that is faster', () => {
  it('and holds the delivery anew, keeps it held', async () => {
    const { client, former, today, delivery, endpointId, park, countParked, waiting, afterAdding } =
      await arrange();
    const parts = delivery();
    await park(parts, 'second');
    let isFirst = true;
    afterAdding(async () => {
      if (!isFirst) return;
      isFirst = false;
      await client.hdel(`claims:{${endpointId}}`, `${parts.eventId} second`);
      await park(parts, 'second');
      await today.remove(deliveryIdOf(parts));
    });
    await former.runOnce();
    expect(await countParked()).toBe(0);
    expect(await waiting()).toEqual([deliveryIdOf(parts)]);
  });

  it('and moves it to the second queue, keeps it there', async () => {
    const { former, slow, today, data, delivery, waiting, afterAdding } = await arrange();
    const parts = delivery();
    await slow.add('d', data, { jobId: deliveryIdOf(parts) });
    let isFirst = true;
    afterAdding(async () => {
      if (isFirst) await today.remove(deliveryIdOf(parts));
      isFirst = false;
    });
    await former.runOnce();
    expect(await slow.getWaitingCount()).toBe(1);
    await former.runOnce();
    expect(await slow.getWaitingCount()).toBe(0);
    expect(await waiting()).toEqual([deliveryIdOf(parts)]);
  });

  it('and puts it back under its second id, keeps it there', async () => {
    const { former, today, data, delivery, afterAdding } = await arrange();
    const parts = delivery();
    await today.add('d', data, { jobId: secondIdOf(parts) });
    afterAdding(() => today.remove(deliveryIdOf(parts)));
    expect(await former.replace(secondIdOf(parts), data)).toBe(1_000);
    expect(await today.getJob(secondIdOf(parts))).toBeDefined();
  });

  it('and is just releasing what it held, is left to it until its claim is over', async () => {
    const { client, former, delivery, endpointId, park, countParked, waiting } = await arrange();
    const parts = delivery();
    await park(parts, 'second');
    const claim = (until: number) =>
      client.hset(`claims:{${endpointId}}`, `${parts.eventId} second`, `one ${until}`);
    await claim(Date.now() + 60_000);
    await former.runOnce();
    expect(await countParked()).toBe(1);
    expect(await waiting()).toEqual([]);
    await claim(Date.now() - 1);
    await former.runOnce();
    expect(await countParked()).toBe(0);
    expect(await waiting()).toEqual([deliveryIdOf(parts)]);
  });
});

it('changes nothing when it is done again', async () => {
  const { former, slow, data, delivery, park, waiting } = await arrange();
  const [parked, moved] = [delivery(), delivery()];
  await park(parked, 'second');
  await slow.add('d', data, { jobId: secondIdOf(moved) });
  await former.runOnce();
  const before = await waiting();
  expect(before).toHaveLength(2);
  await former.runOnce();
  expect(await waiting()).toEqual(before);
});

it('makes one job of a delivery that was left in several places', async () => {
  const { former, slow, today, data, delivery, park, waiting } = await arrange();
  const parts = delivery();
  await today.add('d', data, { jobId: deliveryIdOf(parts) });
  await slow.add('d', data, { jobId: deliveryIdOf(parts) });
  await slow.add('d', data, { jobId: secondIdOf(parts) });
  await park(parts, 'first');
  await park(parts, 'second');
  await former.runOnce();
  expect(await waiting()).toEqual([deliveryIdOf(parts)]);
});

describe('a job under a second id', () => {
  it('is told from one of today', async () => {
    const { former, delivery } = await arrange();
    const parts = delivery();
    expect(former.isFormer(secondIdOf(parts))).toBe(true);
    expect(former.isFormer(deliveryIdOf(parts))).toBe(false);
  });

  it('has its place taken by one of today', async () => {
    const { former, data, delivery, waiting } = await arrange();
    const parts = delivery();
    expect(await former.replace(secondIdOf(parts), data)).toBe('replaced');
    expect(await waiting()).toEqual([deliveryIdOf(parts)]);
  });

  it('is gone from wherever it was', async () => {
    const { client, former, today, data, delivery, waiting } = await arrange();
    const parts = delivery();
    await today.add('d', data, { jobId: secondIdOf(parts) });
    await client.lmove(today.toKey('wait'), today.toKey('active'), 'RIGHT', 'LEFT');
    expect(await former.replace(secondIdOf(parts), data)).toBe('replaced');
    expect(await waiting()).toEqual([deliveryIdOf(parts)]);
    expect(await today.getActiveCount()).toBe(0);
    expect(await today.getJob(secondIdOf(parts))).toBeUndefined();
  });

  it('has to wait while a worker is at the one of today, which may end though its delivery does not', async () => {
    const { former, today, data, delivery, waiting, take } = await arrange();
    const parts = delivery();
    await today.add('d', data, { jobId: deliveryIdOf(parts) });
    const finish = await take(DELIVERIES_QUEUE);
    expect(await former.replace(secondIdOf(parts), data)).toBe(1_000);
    expect(await waiting()).toEqual([]);
    finish();
  });

  it('goes without one in its place that can not be read', async () => {
    const { former, delivery, data, waiting } = await arrange();
    expect(await former.replace('nonsense~', data)).toBe('unreadable');
    expect(await former.replace(secondIdOf(delivery()), 'nonsense')).toBe('unreadable');
    expect(await waiting()).toEqual([]);
  });
});

it('is done at once when a worker starts', async () => {
  const { former, park, delivery, countParked, waiting } = await arrange();
  const parts = delivery();
  await park(parts, 'second');
  former.start();
  while ((await countParked()) > 0);
  expect(await waiting()).toEqual([deliveryIdOf(parts)]);
});
