import { Queue } from 'bullmq';
import { deliveryIdOf } from '../domain/delivery';
import { type DeliveryFact, FULL_LOG_BYTES } from '../domain/delivery-log';
import { DELIVERIES_QUEUE, oneShard } from '../domain/queues';
import { createRedisDeliveryStore } from '../events/redis-delivery-store';
import { createRedisEventStore } from '../events/redis-event-store';
import { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import { buildAttempt } from '../testing/build-attempt';
import { buildEvent } from '../testing/build-event';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { uniqueEndpointId } from '../testing/unique-ids';
import { takeFromWaiting, WAITING, WAITS } from '../testing/waiting-jobs';
import { createResend, type ResendDeps } from './redeliver';

let redis: TestRedis;
let deliveryQueue: DeliveryQueue;
let jobs: Queue;
beforeAll(async () => {
  redis = await openTestRedis();
  deliveryQueue = new DeliveryQueue(redis.client, oneShard('bull'));
  jobs = new Queue(DELIVERIES_QUEUE, { connection: redis.client });
});
afterEach(() => redis.client.flushdb());
afterAll(async () => {
  await Promise.all([deliveryQueue.close(), jobs.close()]);
  await redis.close();
});

const exhausted: DeliveryFact = { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: undefined };

/** A delivery that may have something on record, and a queue that remembers how many it was given at once. */
function arrange(change: Partial<Pick<ResendDeps, 'deliveryStore'>> = {}) {
  const deliveryStore = createRedisDeliveryStore(redis.client, testRetention);
  const eventStore = createRedisEventStore(redis.client, testRetention);
  const event = buildEvent();
  const delivery = { eventId: event.id, endpointId: uniqueEndpointId() };
  const jobId = deliveryIdOf(delivery);
  const batches: number[] = [];
  const signals = recordSignals();
  const deps: ResendDeps = {
    eventStore,
    deliveryStore,
    resendQueue: {
      requestOf: (parts) => deliveryQueue.requestOf(parts),
      putBackFailed: (parts) => deliveryQueue.putBackFailed(parts),
      addRequested: async (all) => {
        batches.push(all.length);
        await deliveryQueue.addRequested(all);
      },
    },
    clock: () => 0,
    emit: signals.listen,
  };
  const { resend, resendAll } = createResend({ ...deps, ...change });
  const { accountId, acceptedAt } = event;
  const input = { accountId, acceptedAt, ...delivery, trigger: 'manual' } as const;
  return {
    deps,
    delivery,
    input,
    signals,
    batches,
    /** The job of the schedule, as a fan-out or a retry leaves it. */
    addJob: () => deliveryQueue.addAll([{ accountId, ...delivery }]),
    delayJob: () => jobs.add('d', { account_id: accountId }, { jobId, delay: 60_000 }),
    endJob: () => jobs.remove(jobId),
    async failJob() {
      await takeFromWaiting(redis.client, jobs, jobId);
      await redis.client.zadd(jobs.toKey('failed'), 1, jobId);
    },
    jobState: () => jobs.getJobState(jobId),
    append: (fact: DeliveryFact) => deliveryStore.append(delivery, fact),
    read: async () => (await deliveryStore.readWithLength(delivery.endpointId, delivery.eventId)).state,
    isListed: () => deliveryStore.isListed(delivery),
    receivers: async () => (await eventStore.listReceivers(accountId, event.id, 10)).members,
    resend: (requestId: string) => resend({ ...input, requestId }),
    /** This delivery, and as many new ones to other endpoints. */
    resendWith: (others: number, requestId: string) =>
      resendAll(
        [delivery.endpointId, ...Array.from({ length: others }, uniqueEndpointId)].map((endpointId) => ({
          accountId,
          acceptedAt,
          endpointId,
          eventId: event.id,
          trigger: 'replay',
          requestId,
        })),
      ),
  };
}

it('opens a delivery that has ended, and puts it on the queue', async () => {
  const { resend, append, read, jobState, signals } = arrange();
  await append(exhausted);
  expect(await resend('a')).toBe('resent');
  expect(await read()).toMatchObject({ status: 'pending', isOpen: true, requestIds: ['a'] });
  expect(await jobState()).toMatch(WAITS);
  expect(signals.named('delivery.requested')).toMatchObject([{ trigger: 'manual' }]);
});

it('makes a delivery of an event that the endpoint has not had', async () => {
  const { resend, read, jobState, isListed, receivers, delivery } = arrange();
  expect(await resend('a')).toBe('resent');
  expect(await read()).toMatchObject({ status: 'pending', attempts: [] });
  expect(await jobState()).toMatch(WAITS);
  expect(await isListed()).toBe(true);
  expect(await receivers()).toEqual([delivery.endpointId]);
});

it('leaves alone what is on the queue already', async () => {
  const { resend, append, read } = arrange();
  await append(exhausted);
  await resend('a');
  expect(await resend('b')).toBe('on_its_way');
  expect(await read()).toMatchObject({ requestIds: ['a'] });
});

it('leaves alone what is delayed: it is held, or tried again later', async () => {
  const { resend, read, delayJob, jobState } = arrange();
  await delayJob();
  expect(await resend('a')).toBe('on_its_way');
  expect(await jobState()).toBe('delayed');
  expect(await read()).toMatchObject({ requestIds: [] });
});

it('sends nothing more whose log is full, but knows the request that it has on record', async () => {
  const { resend, append, read, jobState } = arrange();
  await append({ kind: 'requested', requestId: 'a', trigger: 'manual', requestedAt: 0 });
  const attempt = buildAttempt({ responseBody: 'x'.repeat(FULL_LOG_BYTES) });
  await append({ kind: 'attempted', attempt, nextAttemptAt: 1 });
  expect(await resend('b')).toBe('full');
  expect(await resend('a')).toBe('resent');
  expect(await jobState()).toBe('unknown');
  expect(await read()).toMatchObject({ requestIds: ['a'] });
});

it('does not send one whose last job is about to end', async () => {
  const { resend, append, read, addJob } = arrange();
  await append(exhausted);
  await addJob();
  expect(await resend('a')).toBe('ending');
  expect(await read()).toMatchObject({ status: 'exhausted', requestIds: [] });
});

it('does not send one whose last job has ended just now, before it could be told whose it was', async () => {
  const { deps, input, append, endJob, read } = arrange();
  await append(exhausted);
  const { resend } = createResend({
    ...deps,
    resendQueue: {
      ...deps.resendQueue,
      async requestOf(parts) {
        await endJob();
        return await deps.resendQueue.requestOf(parts);
      },
    },
  });
  expect(await resend({ ...input, requestId: 'a' })).toBe('ending');
  expect(await read()).toMatchObject({ status: 'exhausted', requestIds: [] });
});

it('sees to it that a job which has failed for good runs again', async () => {
  const { resend, addJob, failJob, jobState } = arrange();
  await addJob();
  await failJob();
  expect(await resend('a')).toBe('on_its_way');
  expect(await jobState()).toMatch(WAITS);
});

describe('a request that breaks off', () => {
  const broken = async () => {
    throw new Error('killed');
  };

  it('has its job before the record says that the delivery is open', async () => {
    const { deps, input, append, read, jobState } = arrange();
    await append(exhausted);
    const doomed = createResend({
      ...deps,
      deliveryStore: { ...deps.deliveryStore, appendIfUnchanged: broken },
    });
    await expect(doomed.resend({ ...input, requestId: 'a' })).rejects.toThrow('killed');
    expect(await read()).toMatchObject({ isOpen: false });
    expect(await jobState()).toMatch(WAITS);
  });

  it('leaves nothing open without a job when the job could not be added', async () => {
    const { deps, input, append, read, isListed } = arrange();
    await append(exhausted);
    const doomed = createResend({ ...deps, resendQueue: { ...deps.resendQueue, addRequested: broken } });
    await expect(doomed.resend({ ...input, requestId: 'a' })).rejects.toThrow('killed');
    expect(await read()).toMatchObject({ isOpen: false });
    expect(await isListed()).toBe(false);
  });

  it('is carried out by the same job when it is repeated', async () => {
    const { deps, input, append, read, resend, batches, jobState } = arrange();
    await append(exhausted);
    const doomed = createResend({
      ...deps,
      deliveryStore: { ...deps.deliveryStore, appendIfUnchanged: broken },
    });
    await expect(doomed.resend({ ...input, requestId: 'a' })).rejects.toThrow('killed');
    expect(await resend('a')).toBe('resent');
    expect(await read()).toMatchObject({ isOpen: true, requestIds: ['a'] });
    expect(batches).toEqual([1, 1]);
    expect(await jobState()).toMatch(WAITS);
  });
});

it('tells of a request whose job has put it on record, and was done, before it could do so itself', async () => {
  const { deps, input, append, endJob, read, isListed } = arrange();
  await append(exhausted);
  const { resend } = createResend({
    ...deps,
    resendQueue: {
      ...deps.resendQueue,
      async addRequested(all) {
        await deps.resendQueue.addRequested(all);
        await append({ kind: 'requested', requestId: 'a', trigger: 'manual', requestedAt: 0 });
        await append(exhausted);
        await endJob();
      },
    },
  });
  expect(await resend({ ...input, requestId: 'a' })).toBe('resent');
  expect(await read()).toMatchObject({ isOpen: false, requestIds: ['a'] });
  expect(await isListed()).toBe(true);
});

it('sends nothing a second time when the same request is worked on again', async () => {
  const { resend, append, endJob, jobState, signals } = arrange();
  await append(exhausted);
  await resend('a');
  await endJob();
  await append(exhausted);
  expect(await resend('a')).toBe('resent');
  expect(await jobState()).toBe('unknown');
  expect(signals.named('delivery.requested')).toHaveLength(1);
});

it('makes one job for many requests at once, and has one of them on record', async () => {
  const { resend, append, read } = arrange();
  await append(exhausted);
  const results = await Promise.all(Array.from({ length: 20 }, (_, i) => resend(`r${i}`)));
  expect(results.filter((result) => result === 'resent')).toHaveLength(1);
  expect(await jobs.getJobCountByTypes(...WAITING)).toBe(1);
  expect((await read()).requestIds).toHaveLength(1);
});

it('puts many onto the queue as one batch, where those that are on it already stay as they are', async () => {
  const { resend, resendWith, append, read, batches } = arrange();
  await append(exhausted);
  await resend('a');
  expect(await resendWith(3, 'b')).toEqual(['on_its_way', 'resent', 'resent', 'resent']);
  expect(batches).toEqual([1, 4]);
  expect(await jobs.getJobCountByTypes(...WAITING)).toBe(4);
  expect(await read()).toMatchObject({ requestIds: ['a'] });
});
