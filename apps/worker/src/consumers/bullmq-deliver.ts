import { deliver } from '@hookferry/core/deliver/deliver';
import type { DeliverResult } from '@hookferry/core/deliver/end-run';
import type { AttemptParts } from '@hookferry/core/deliver/open-delivery';
import { type DeliveryRun, type JobEnd, parseDeliveryId } from '@hookferry/core/domain/delivery';
import { DELIVERIES_QUEUE, type QueueShard } from '@hookferry/core/domain/queues';
import { isUnreadableSecret } from '@hookferry/core/endpoints/seal';
import { BatchJobs } from '@hookferry/core/queue/bullmq-batch-jobs';
import type { DeliveryJob } from '@hookferry/core/queue/bullmq-delivery-queue';
import { DueDeliveries } from '@hookferry/core/queue/bullmq-due-deliveries';
import { RunningJobs } from '@hookferry/core/queue/bullmq-running-jobs';
import type { DeliveryPlacement } from '@hookferry/core/queue/redis-delivery-placement';
import type { Job } from 'bullmq';
import type { SharedCapacity } from '../capacity';
import { DeliveryJobBatch, type DeliveryJobBatchParts } from './bullmq-delivery-batch';
import { DeliveryWorker, notADelivery, readData } from './bullmq-delivery-worker';
import { announceFailures, type OpenWorkerParts, workerOptionsOf } from './bullmq-open-worker';
import { delayTooNew, giveJobBack, orTryAgainSoon, UNREADABLE_SECRET_DELAY_MS } from './bullmq-put-back';

export interface DeliveryWorkerParts extends OpenWorkerParts {
  readonly attemptParts: AttemptParts;
  readonly placement: DeliveryPlacement;
  /** Over all shards together. */
  readonly deliveryCapacity: SharedCapacity;
  /** How long `stop` lets running attempts finish. Milliseconds. */
  readonly stopDeadlineMs: number;
}

/** What the runs of one shard's deliveries work with. */
interface ShardParts extends DeliveryWorkerParts, DeliveryJobBatchParts {
  readonly shard: QueueShard;
}

// An attempt of the same delivery in another shard takes about as long as any.
const ELSEWHERE_DELAY_MS = 1_000;

/** Open the worker of a shard's deliveries: each run of a job makes one attempt, and says what happens to the job next. */
export function openDeliveryWorker(parts: DeliveryWorkerParts, shard: QueueShard): DeliveryWorker {
  const { redis, atomic, lockDurationMs, deliveryCapacity: capacity, stopDeadlineMs, emit } = parts;
  const { clock } = parts.attemptParts;
  const batchJobs = new BatchJobs(redis, shard, lockDurationMs, clock);
  const worker: DeliveryWorker = new DeliveryWorker(
    DELIVERIES_QUEUE,
    // With a third parameter, BullMQ reports here when the job is cancelled.
    (job, token, abortSignal) => takeJob(own, job, token, abortSignal ?? new AbortController().signal),
    {
      ...workerOptionsOf(parts, { queue: DELIVERIES_QUEUE, shard, capacity, stopDeadlineMs }),
      lockDuration: lockDurationMs,
      runningJobs: new RunningJobs(redis, shard, lockDurationMs, clock),
      batchJobs,
      dueDeliveries: new DueDeliveries({ prefix: shard.prefix, atomic, clock, emit }),
      clock,
    },
  );
  const own: ShardParts = { ...parts, shard, worker, batchJobs };
  announceFailures(worker, emit);
  return worker;
}

async function takeJob(
  parts: ShardParts,
  job: Job<DeliveryJob>,
  token: string | undefined,
  abortSignal: AbortSignal,
): Promise<JobEnd> {
  const { placement, shard, emit } = parts;
  await delayTooNew(job, token, emit);
  const run = readRun(parts, job);
  const result = placement.isInHomeShard(run, shard)
    ? await attempt(parts, job, run, abortSignal)
    : await orTryAgainSoon(() => moveToHomeShard(parts, run), job, token, emit);
  switch (result.kind) {
    case 'done':
      return result;
    case 'retry':
      return { kind: 'delayed', delayMs: result.delayMs, failure: result.reason };
    case 'later':
      return { kind: 'delayed', delayMs: result.delayMs };
    case 'interrupted':
      return await giveJobBack(job, token);
  }
}

// Only this product's fan-out adds such jobs, so an unreadable one is kept among the failed, for people.
function readRun(parts: ShardParts, job: Job<DeliveryJob>): DeliveryRun {
  const { placement, worker } = parts;
  const ids = parseDeliveryId(job.id ?? '');
  const data = readData(job.data);
  if (!ids) throw notADelivery();
  // While queues are split again, each delivery is claimed by itself.
  const batch = placement.isStable ? new DeliveryJobBatch(parts, job, ids.eventId) : undefined;
  return worker.runOf(job, ids, data, batch);
}

// Either nothing was sent, or the attempt is recorded: the delivery waits for the key, and uses no attempt.
async function attempt(
  { attemptParts, placement, shard, emit }: ShardParts,
  job: Job<DeliveryJob>,
  run: DeliveryRun,
  abortSignal: AbortSignal,
): Promise<DeliverResult> {
  try {
    const result = await placement.work(run, shard, () => deliver(attemptParts, run, abortSignal));
    return result === 'elsewhere' ? { kind: 'later', delayMs: ELSEWHERE_DELAY_MS } : result;
  } catch (error) {
    if (!isUnreadableSecret(error)) throw error;
    emit({ name: 'job.interrupted', queue: job.queueName, jobId: job.id ?? '', error });
    return { kind: 'later', delayMs: UNREADABLE_SECRET_DELAY_MS };
  }
}

async function moveToHomeShard({ attemptParts }: ShardParts, run: DeliveryRun): Promise<DeliverResult> {
  return (await attemptParts.deliveryQueue.moveToHomeShard(run))
    ? { kind: 'done' }
    : { kind: 'later', delayMs: ELSEWHERE_DELAY_MS };
}
