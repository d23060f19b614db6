import { Queue } from 'bullmq';
import { deliveryIdOf } from '../domain/delivery';
import { type DeliveryFact, FULL_LOG_BYTES } from '../domain/delivery-log';
import { DELIVERIES_QUEUE, oneShard } from '../domain/queues';
import { createRedisDeliveryStore } from '../events/redis-delivery-store';
import type { DeliveryWithAttempts } from '../history/delivery-standings';
import { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import { buildAttempt } from '../testing/build-attempt';
import { createClosables } from '../testing/closables';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { type BroughtForward, createBringForward, createRedeliver, type Resent } from './redeliver';

describe('redeliver', () => {
  /** A delivery, and what comes of each try to send it; the last of these comes of all that follow. */
  function arrange(
    resent: readonly Resent[],
    broughtForward: readonly BroughtForward[] = ['soon'],
    { isEventThere = true } = {},
  ) {
    const parts = { endpointId: uniqueEndpointId(), eventId: uniqueEventId() };
    const delivery: DeliveryWithAttempts = {
      hold: undefined,
      lastOutcome: undefined,
      lastResponseStatus: undefined,
      ...parts,
      id: deliveryIdOf(parts),
      type: 'keyword.quick_win',
      status: 'pending',
      attemptCount: 1,
      attempts: [],
      nextAttemptAt: undefined,
      createdAt: 0,
    };
    const head = { type: delivery.type, acceptedAt: 0, isAimed: false };
    const tries = { resend: 0, bringForward: 0 };
    const redeliver = createRedeliver({
      deliveries: { read: async () => delivery },
      eventStore: { findHead: async () => (isEventThere ? head : undefined) },
      resend: async () => resent[Math.min(tries.resend++, resent.length - 1)] ?? 'resent',
      bringForward: async () =>
        broughtForward[Math.min(tries.bringForward++, broughtForward.length - 1)] ?? 'soon',
    });
    return { delivery, tries, redeliver: () => redeliver(uniqueAccountId(), delivery.id, 'rdl_1') };
  }

  it.each<[string, Resent[], BroughtForward[]]>([
    ['the job of its last attempt has ended', ['ending', 'ending', 'resent'], ['soon']],
    ['the job of its last attempt has been put back', ['on_its_way'], ['ending', 'ending', 'soon']],
  ])('waits until %s', async (_what, resent, broughtForward) => {
    const { redeliver, delivery, tries } = arrange(resent, broughtForward);
    expect(await redeliver()).toEqual(delivery);
    expect(tries.resend).toBe(3);
  });

  it.each<[Resent[], BroughtForward[]]>([
    [['full'], ['soon']],
    [['on_its_way'], ['full']],
  ])('says that the record is full: %j, %j', async (resent, broughtForward) => {
    const { redeliver } = arrange(resent, broughtForward);
    await expect(redeliver()).rejects.toMatchObject({ code: 'limit_reached' });
  });

  it.each<[Resent[], BroughtForward[]]>([
    [['ending'], ['soon']],
    [['on_its_way'], ['ending']],
  ])('gives up in the end, so that whoever asked can ask again: %j, %j', async (resent, broughtForward) => {
    const { redeliver } = arrange(resent, broughtForward);
    await expect(redeliver()).rejects.toMatchObject({ code: 'conflict' });
  });

  it('sends nothing when its event is no longer kept, though what became of it is', async () => {
    const { redeliver, tries } = arrange(['resent'], ['soon'], { isEventThere: false });
    await expect(redeliver()).rejects.toMatchObject({ code: 'not_found' });
    expect(tries.resend).toBe(0);
  });
});

describe('bring forward', () => {
  const NOW = 1_700_000_000_000;
  const LATER = NOW + 3_600_000;

  let redis: TestRedis;
  const { willClose, closeAll } = createClosables();
  beforeAll(async () => {
    redis = await openTestRedis();
  });
  afterEach(closeAll);
  afterAll(() => redis.close());

  const failed = (nextAttemptAt: number): DeliveryFact => ({
    kind: 'attempted',
    attempt: buildAttempt(),
    nextAttemptAt,
  });

  const longAttempt = buildAttempt({ responseBody: 'x'.repeat(FULL_LOG_BYTES) });

  /** A delivery that is tried again in an hour, and the job that waits for that. */
  async function arrange() {
    const delivery = { eventId: uniqueEventId(), endpointId: uniqueEndpointId() };
    const deliveryStore = createRedisDeliveryStore(redis.client, testRetention);
    await deliveryStore.enlist(delivery.eventId, [delivery.endpointId], NOW);
    await deliveryStore.append(delivery, failed(LATER));

    const queue = willClose(new Queue(DELIVERIES_QUEUE, { connection: redis.client }));
    const jobId = deliveryIdOf(delivery);
    await queue.add('d', {}, { jobId, delay: 3_600_000 });
    const signals = recordSignals();
    const delayedJobs = willClose(new DeliveryQueue(redis.client, oneShard('bull')));
    let beforePromote: () => Promise<unknown> = async () => undefined;
    const bringForward = createBringForward({
      deliveryStore,
      delayedJobs: {
        isRunning: (parts) => delayedJobs.isRunning(parts),
        promote: async (parts) => {
          await beforePromote();
          await delayedJobs.promote(parts);
        },
      },
      clock: () => NOW,
      emit: signals.listen,
    });
    return {
      signals,
      append: (fact: DeliveryFact) => deliveryStore.append(delivery, fact),
      read: () => deliveryStore.find(delivery),
      jobState: () => queue.getJobState(jobId),
      removeJob: () => queue.remove(jobId),
      lock: () => redis.client.set(queue.toKey(`${jobId}:lock`), 'worker'),
      onPromote: (act: () => Promise<unknown>) => {
        beforePromote = act;
      },
      bringForward: (requestId: string) =>
        bringForward({ ...delivery, accountId: uniqueAccountId(), trigger: 'manual', requestId }),
    };
  }

  it('puts the job at the end of its queue, and on record that it is due', async () => {
    const { bringForward, read, jobState, signals } = await arrange();
    expect(await bringForward('a')).toBe('soon');
    expect(await jobState()).toBe('waiting');
    expect(await read()).toMatchObject({ status: 'pending', nextAttemptAt: undefined, requestIds: ['a'] });
    expect(signals.named('delivery.requested')).toMatchObject([{ trigger: 'manual' }]);
  });

  it('is asked for once by many requests at once', async () => {
    const { bringForward, read, signals } = await arrange();
    const results = await Promise.all(Array.from({ length: 20 }, (_, i) => bringForward(`r${i}`)));
    expect(new Set(results)).toEqual(new Set(['soon']));
    expect((await read())?.requestIds).toHaveLength(1);
    expect(signals.named('delivery.requested')).toHaveLength(1);
  });

  it('leaves alone what waits on the queue already, and what has no job', async () => {
    const { bringForward, jobState, read, removeJob } = await arrange();
    await bringForward('a');
    expect(await bringForward('b')).toBe('soon');
    expect(await jobState()).toBe('waiting');
    await removeJob();
    expect(await bringForward('c')).toBe('soon');
    expect(await read()).toMatchObject({ requestIds: ['a'] });
  });

  it('asks to wait when a worker has taken the job meanwhile, and thinks that it is not due', async () => {
    const { bringForward, lock, onPromote } = await arrange();
    onPromote(lock);
    expect(await bringForward('a')).toBe('ending');
  });

  // The worker would put its job back until the time it has in mind.
  it('asks to wait while the job whose attempt has failed is about to be put back', async () => {
    const { bringForward, read, jobState, lock } = await arrange();
    await lock();
    expect(await bringForward('a')).toBe('ending');
    expect(await read()).toMatchObject({ nextAttemptAt: LATER, requestIds: [] });
    expect(await jobState()).toBe('delayed');
  });

  it('leaves one alone whose log is full', async () => {
    const { bringForward, append, read, jobState } = await arrange();
    await append({ kind: 'attempted', attempt: longAttempt, nextAttemptAt: LATER });
    expect(await bringForward('a')).toBe('full');
    expect(await read()).toMatchObject({ nextAttemptAt: LATER, requestIds: [] });
    expect(await jobState()).toBe('delayed');
  });

  it('brings the job forward that a request which broke off has only put on record', async () => {
    const { bringForward, append, jobState } = await arrange();
    await append({ kind: 'requested', requestId: 'a', trigger: 'manual', requestedAt: NOW });
    expect(await bringForward('a')).toBe('soon');
    expect(await jobState()).toBe('waiting');
  });

  it('sends nothing a second time when the same request is worked on again', async () => {
    const { bringForward, append, read, jobState } = await arrange();
    await append({ kind: 'requested', requestId: 'a', trigger: 'manual', requestedAt: NOW });
    await append(failed(LATER));
    expect(await bringForward('a')).toBe('soon');
    expect(await jobState()).toBe('delayed');
    expect(await read()).toMatchObject({ nextAttemptAt: LATER, requestIds: ['a'] });
  });
});
