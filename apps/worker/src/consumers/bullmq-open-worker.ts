import type { RedisClient } from '@hookferry/core/kernel/redis-connect';
import type { Emit } from '@hookferry/core/model/signal';
import type { Processor } from 'bullmq';
import { KeepingWorker } from './bullmq-keeping-worker';
import { RetryLater } from './retry-later';
import type { SharedCapacity } from './shared-capacity';

export interface ConsumerOptions {
  readonly redis: RedisClient;
  readonly prefix: string;
  /** Jobs under way at the same time, those of other consumers with the same one included. */
  readonly capacity: SharedCapacity;
  /** How long a dead worker's jobs stay its own. Milliseconds. */
  readonly lockDurationMs: number;
  /** How often workers look for jobs whose lock is over: so much later at most they take them over. Milliseconds. */
  readonly stalledCheckMs: number;
  readonly emit: Emit;
}

// A stall is no fault of the job: the second one must not fail it, as BullMQ's default would.
const MAX_STALLS = 1_000_000;
// What ends a job that kills each worker that takes it. Above what retries can add up to, and what a proxy that is out of
// order for as long as events are kept (14 days, a start every 5 seconds) does.
const MAX_STARTS = 300_000;
// So often an idle worker asks although nothing has woken it, and a second later it takes a connection that says nothing
// for dead.
const ASK_AFTER_S = 10;
// BullMQ waits so long before it tries again what a broken connection has kept it from.
const RETRY_DELAY_MS = 500;

/** What all our consumers ask of BullMQ. Takes no job before it is told to `run`. */
export function openWorker<Data>(
  queue: string,
  process: Processor<Data>,
  { redis, prefix, capacity, lockDurationMs, stalledCheckMs, emit }: ConsumerOptions,
): KeepingWorker<Data> {
  const worker = new KeepingWorker<Data>(queue, process, {
    redis,
    prefix,
    capacity,
    autorun: false,
    lockDuration: lockDurationMs,
    stalledInterval: stalledCheckMs,
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
