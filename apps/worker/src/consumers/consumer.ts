import type { RedisClient } from '@webhooks/core/redis/redis-connect';
import type { Emit } from '@webhooks/core/signals/signals';
import type { WorkerOptions } from 'bullmq';

export interface ConsumerOptions {
  readonly redis: RedisClient;
  readonly prefix: string;
  /** Jobs under way at the same time. */
  readonly concurrency: number;
  /** How long a dead worker's jobs wait until another one takes them over: about twice this. Milliseconds. */
  readonly lockDurationMs: number;
  readonly emit: Emit;
}

// A stall is no fault of the job: the second one must not fail it, as BullMQ's default would.
const MAX_STALLS = 1_000_000;
// What ends a job that kills each worker that takes it. Above what retries can add up to, and what a proxy that is out of
// order for as long as events are kept (14 days, a start every 5 seconds) does.
const MAX_STARTS = 300_000;

/** What all our consumers ask of BullMQ. */
export function workerOptions({
  redis,
  prefix,
  concurrency,
  lockDurationMs,
}: ConsumerOptions): WorkerOptions {
  return {
    connection: redis,
    prefix,
    concurrency,
    autorun: false,
    lockDuration: lockDurationMs,
    stalledInterval: lockDurationMs,
    maxStalledCount: MAX_STALLS,
    maxStartedAttempts: MAX_STARTS,
    // What became of a job is on our own record; a job that failed nonetheless is kept, to be looked into.
    removeOnComplete: { count: 0 },
  };
}
