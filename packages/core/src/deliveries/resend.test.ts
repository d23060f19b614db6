import { createRedisEventStore } from '../events/redis-event-store';
import { createRedisParkedStore } from '../gates/redis-parked-store';
import { buildAttempt } from '../testing/build-attempt';
import { buildEvent } from '../testing/build-event';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { uniqueEndpointId } from '../testing/unique-ids';
import type { DeliveryFact } from './delivery-fact';
import { deliveryIdOf } from './delivery-id';
import { FULL_LOG_BYTES } from './delivery-log';
import { createRedisDeliveryStore } from './redis-delivery-store';
import { createResend } from './resend';

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

const exhausted: DeliveryFact = { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: undefined };

/** A delivery with something on record, and a queue that remembers what it was given. */
function arrange() {
  const deliveryStore = createRedisDeliveryStore(redis.client, testRetention);
  const parkedStore = createRedisParkedStore(redis.client, { retentionMs: 60_000, clock: () => 0 });
  const event = buildEvent();
  const delivery = { eventId: event.id, endpointId: uniqueEndpointId() };
  const jobs = new Set<string>();
  const batches: number[] = [];
  const putBack: string[] = [];
  const signals = recordSignals();
  const { resend, resendAll } = createResend({
    eventStore: createRedisEventStore(redis.client, testRetention),
    deliveryStore,
    parkedStore,
    resendQueue: {
      hasJob: async (parts) => jobs.has(deliveryIdOf(parts)),
      putBackFailed: async (parts) => void putBack.push(deliveryIdOf(parts)),
      addAll: async (all) => {
        batches.push(all.length);
        for (const parts of all) jobs.add(deliveryIdOf(parts));
      },
    },
    clock: () => 0,
    emit: signals.listen,
  });
  const { accountId, acceptedAt } = event;
  return {
    delivery,
    jobs,
    putBack,
    signals,
    parkedStore,
    append: (fact: DeliveryFact) => deliveryStore.append(delivery, fact),
    read: () => deliveryStore.find(delivery),
    batches,
    resend: (requestId: string) =>
      resend({ accountId, acceptedAt, ...delivery, trigger: 'manual', requestId }),
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
  const { resend, append, read, jobs, signals } = arrange();
  await append(exhausted);
  expect(await resend('a')).toBe('resent');
  expect(await read()).toMatchObject({ status: 'pending', isOpen: true, requestIds: ['a'] });
  expect(jobs.size).toBe(1);
  expect(signals.named('delivery.requested')).toMatchObject([{ trigger: 'manual' }]);
});

it('makes a delivery of an event that the endpoint has not had', async () => {
  const { resend, read, jobs } = arrange();
  expect(await resend('a')).toBe('resent');
  expect(await read()).toMatchObject({ status: 'pending', attempts: [] });
  expect(jobs.size).toBe(1);
});

it('leaves alone what is on the queue already, or parked', async () => {
  const { resend, append, read, jobs, delivery, parkedStore } = arrange();
  await append(exhausted);
  await resend('a');
  expect(await resend('b')).toBe('on_its_way');
  jobs.clear();
  await parkedStore.park(delivery.endpointId, { eventId: delivery.eventId, side: 'first' }, 0);
  expect(await resend('b')).toBe('on_its_way');
  expect(await read()).toMatchObject({ requestIds: ['a'] });
});

it('sends nothing more whose log is full, but for the request that it has on record', async () => {
  const { resend, append, read, jobs } = arrange();
  await append({ kind: 'requested', requestId: 'a', trigger: 'manual', requestedAt: 0 });
  const attempt = buildAttempt({ responseBody: 'x'.repeat(FULL_LOG_BYTES) });
  await append({ kind: 'attempted', attempt, nextAttemptAt: 1 });
  expect(await resend('b')).toBe('full');
  expect(jobs.size).toBe(0);
  expect(await resend('a')).toBe('resent');
  expect(jobs.size).toBe(1);
  expect(await read()).toMatchObject({ requestIds: ['a'] });
});

it('does not send one whose last job is about to end', async () => {
  const { resend, append, jobs, delivery } = arrange();
  await append(exhausted);
  jobs.add(deliveryIdOf(delivery));
  expect(await resend('a')).toBe('ending');
});

it('sees to it that a job which has failed for good runs again', async () => {
  const { resend, jobs, delivery, putBack } = arrange();
  jobs.add(deliveryIdOf(delivery));
  expect(await resend('a')).toBe('on_its_way');
  expect(putBack).toEqual([deliveryIdOf(delivery)]);
});

it('puts on the queue what a request that broke off has only put on record', async () => {
  const { resend, append, jobs } = arrange();
  await append(exhausted);
  await resend('a');
  jobs.clear();
  expect(await resend('a')).toBe('resent');
  expect(jobs.size).toBe(1);
});

it('sends nothing a second time when the same request is worked on again', async () => {
  const { resend, append, jobs, signals } = arrange();
  await append(exhausted);
  await resend('a');
  jobs.clear();
  await append(exhausted);
  expect(await resend('a')).toBe('resent');
  expect(jobs.size).toBe(0);
  expect(signals.named('delivery.requested')).toHaveLength(1);
});

it('makes one job for many requests at once', async () => {
  const { resend, append, jobs } = arrange();
  await append(exhausted);
  const results = await Promise.all(Array.from({ length: 20 }, (_, i) => resend(`r${i}`)));
  expect(results).toContain('resent');
  expect(jobs.size).toBe(1);
});

it('puts many onto the queue as one batch, without those that are on it already', async () => {
  const { resend, resendWith, append, jobs, batches } = arrange();
  await append(exhausted);
  await resend('a');
  expect(await resendWith(3, 'b')).toEqual(['on_its_way', 'resent', 'resent', 'resent']);
  expect(batches).toEqual([1, 3]);
  expect(jobs.size).toBe(4);
});
