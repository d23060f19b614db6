import type { QueueShard } from '@hookferry/core/domain/queues';
import type { Emit } from '@hookferry/core/domain/signal';
import type { RedisClient } from '@hookferry/core/platform/redis-connect';
import type { Processor } from 'bullmq';
import { BullmqWorker, type SharedCapacity } from './bullmq-worker';

export interface OpenWorkerContext {
  readonly redis: RedisClient;
  /** How long a dead worker's jobs stay its own. Milliseconds. */
  readonly lockDurationMs: number;
  readonly emit: Emit;
}

export interface OpenWorkerOptions {
  readonly queue: string;
  readonly shard: QueueShard;
  /** Jobs under way at the same time, those of other workers with the same one included. */
  readonly capacity: SharedCapacity;
  /** How often it looks for jobs whose lock is over: so much later at most it has them. Milliseconds. */
  readonly stalledCheckMs?: number;
  readonly stopDeadlineMs?: number;
}

// So a dead worker's jobs are taken over a quarter of the lock's time after it is over, at most.
const STALLED_CHECKS_PER_LOCK = 4;
// A stall is no fault of the job: the second one must not fail it, as BullMQ's default would.
const MAX_STALLS = 1_000_000;
// What ends a job that kills each worker that takes it. Above what retries can add up to, and what a proxy
// that is out of order for as long as events are kept (14 days, a start every 5 seconds) does.
const MAX_STARTS = 300_000;
// So often an idle worker asks although nothing has woken it, and a second later it takes a connection that
// says nothing for dead.
const ASK_AFTER_S = 10;
// BullMQ waits so long before it tries again what a broken connection has kept it from.
const RETRY_DELAY_MS = 500;

/** Open what takes a queue's jobs in a shard. It takes none before it is started. */
export function openWorker<Data>(
  { redis, lockDurationMs, emit }: OpenWorkerContext,
  { queue, shard, capacity, stalledCheckMs, stopDeadlineMs }: OpenWorkerOptions,
  process: Processor<Data>,
): BullmqWorker<Data> {
  const worker = new BullmqWorker<Data>(queue, process, {
    redis,
    prefix: shard.prefix,
    capacity,
    stopDeadlineMs,
    autorun: false,
    lockDuration: lockDurationMs,
    stalledInterval: stalledCheckMs ?? Math.ceil(lockDurationMs / STALLED_CHECKS_PER_LOCK),
    drainDelay: ASK_AFTER_S,
    maxStalledCount: MAX_STALLS,
    maxStartedAttempts: MAX_STARTS,
    runRetryDelay: RETRY_DELAY_MS,
    // What became of a job is on our own record; a job that failed nonetheless is kept, to be looked into.
    removeOnComplete: { count: 0 },
    settings: { backoffStrategy: (_attemptsMade, _type, error) => RetryLater.delayOf(error) },
  });
  worker.on('error', (error) => emit({ name: 'redis.error', connection: queue, error }));
  worker.on('failed', (job, error) => {
    if (error instanceof RetryLater) return;
    // BullMQ knows by then when it finished, unless it runs it again.
    emit({
      name: 'job.failed',
      queue,
      jobId: job?.id ?? '',
      error,
      isForGood: job?.finishedOn !== undefined,
    });
  });
  return worker;
}

// For an error of ours that got here unforeseen, such as a reply that Redis should not give.
const UNFORESEEN_DELAY_MS = 5_000;

/** How a failed attempt tells BullMQ's backoff when to run the job again. */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';
  // BullMQ stores the stack with the job. This is no fault, and a pending delivery is to be small.
  override readonly stack = '';

  constructor(
    readonly delayMs: number,
    reason: string,
  ) {
    super(reason);
  }

  /** Milliseconds, at least 1: for BullMQ, 0 means the end of the queue, at once. */
  static delayOf(error: Error | undefined): number {
    return Math.max(error instanceof RetryLater ? error.delayMs : UNFORESEEN_DELAY_MS, 1);
  }
}
