import { QUEUE_PREFIX } from '@hookferry/producer/contract';
import { Queue, Worker } from 'bullmq';
import { DELIVERIES_QUEUE } from '../../domain/queues';
import { EndedList } from '../../events/redis-ended-list';
import { EventStore } from '../../events/redis-event-store';
import { MovedStore } from '../../events/redis-moved';
import { MovedIds } from '../../events/redis-moved-ids';
import { RehydrationStore } from '../../events/redis-rehydration';
import { atomicOneByOne } from '../../platform/redis-atomic';
import { DueDeliveries } from '../../queue/bullmq-due-deliveries';
import { createJobKeys } from '../../queue/bullmq-layout';
import { RunningJobs } from '../../queue/bullmq-running-jobs';
import type { DeliveryJob } from '../../queue/delivery-job';
import { buildAdmission } from '../build-admission';
import { MemoryHistory } from '../memory-history';
import { recordSignals } from '../record-signals';
import { openTestRedis } from '../test-redis';
import { testRetention } from '../test-retention';
import { PUT_OFF_MS, startProcess } from './model-run';

// Longer than any test: time passes when the model says so. BullMQ uses the real clock.
const LOCK_MS = 3_600_000;
const MANY = 1_000_000;

/** A Redis database with a queue of deliveries and two workers, for one interleaving after the other. */
export async function openModelLane() {
  const redis = await openTestRedis();
  const time = { now: 1_700_000_000_000 };
  const admission = buildAdmission({
    redis: redis.client,
    clock: () => time.now,
    signals: { ...recordSignals(), listen: () => {} },
  });
  const queue = new Queue(DELIVERIES_QUEUE, { connection: redis.client, prefix: QUEUE_PREFIX });
  const workers = [1, 2].map(() => openWorker());
  await Promise.all([queue.waitUntilReady(), ...workers.map((worker) => worker.waitUntilReady())]);
  const jobKeys = createJobKeys(QUEUE_PREFIX, DELIVERIES_QUEUE);

  // By its clock, all delayed jobs are due.
  const dueDeliveries = new DueDeliveries({
    prefix: QUEUE_PREFIX,
    atomic: atomicOneByOne(redis.client),
    clock: () => Date.now() + 2 * PUT_OFF_MS,
    emit: () => {},
  });

  // As the product's workers are: apps/worker/src/consumers/bullmq-open-worker.ts.
  function openWorker(): Worker<DeliveryJob> {
    const worker = new Worker<DeliveryJob>(DELIVERIES_QUEUE, null, {
      connection: redis.client,
      prefix: QUEUE_PREFIX,
      lockDuration: LOCK_MS,
      maxStalledCount: MANY,
      maxStartedAttempts: MANY,
      removeOnComplete: { count: 0 },
      settings: { backoffStrategy: () => PUT_OFF_MS },
    });
    worker.on('error', () => {});
    return worker;
  }

  /** BullMQ checks twice: a job without a lock both times goes back onto the queue. */
  async function checkForStalled(): Promise<void> {
    const [worker] = workers;
    if (!worker) throw new Error('There are no workers.');
    for (const _ of ['it notes what is active', 'it takes what is so still']) {
      await redis.client.del(`${jobKeys.base}stalled-check`);
      await (worker as unknown as { moveStalledJobsToWait(): Promise<void> }).moveStalledJobsToWait();
    }
  }

  return {
    redis: redis.client,
    runningJobs: new RunningJobs(redis.client, { prefix: QUEUE_PREFIX }, LOCK_MS),
    history: new MemoryHistory(),
    endedList: new EndedList(redis.client),
    movedStore: new MovedStore(redis.client, testRetention),
    rehydrationStore: new RehydrationStore(testRetention),
    movedIds: new MovedIds(redis.client, testRetention.ageMs),
    time,
    admission,
    eventStore: new EventStore(redis.client, testRetention),
    queue,
    processes: workers.map((worker) => startProcess(admission, worker)),
    jobKeys,
    checkForStalled,
    dueDeliveries,
    async close(): Promise<void> {
      await Promise.all([...workers, queue, admission].map((one) => one.close()));
      await redis.close();
    },
  };
}

export type ModelLane = Awaited<ReturnType<typeof openModelLane>>;
