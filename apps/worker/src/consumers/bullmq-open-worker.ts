import type { QueueShard } from '@hookferry/core/domain/queues';
import type { Emit } from '@hookferry/core/domain/signal';
import { steadyClock } from '@hookferry/core/platform/clock';
import type { Atomic } from '@hookferry/core/platform/redis-atomic';
import type { RedisClient } from '@hookferry/core/platform/redis-connect';
import { isUnavailable } from '@hookferry/core/platform/redis-errors';
import type { MinimalJob, Processor } from 'bullmq';
import { ReplyError } from 'ioredis';
import type { SharedCapacity } from '../capacity';
import { interruptionOf } from './bullmq-put-back';
import { BullmqWorker, type BullmqWorkerOptions } from './bullmq-worker';

export interface OpenWorkerParts {
  readonly redis: RedisClient;
  readonly atomic: Atomic;
  /** How long a dead worker's jobs stay its own. Milliseconds. */
  readonly lockDurationMs: number;
  readonly emit: Emit;
}

export interface OpenWorkerOptions {
  readonly queue: string;
  readonly shard: QueueShard;
  /** Jobs running at the same time, including those of other workers with the same capacity. */
  readonly capacity: SharedCapacity;
  /** How often it looks for jobs with an expired lock: it has them later by at most this. Milliseconds. */
  readonly stalledCheckMs?: number;
  readonly stopDeadlineMs?: number;
}

// A dead worker's jobs are taken over at most a quarter of the lock's time after its end.
const STALLED_CHECKS_PER_LOCK = 4;
// For so long after one worker's check, others skip theirs. Each may come up to two seconds early.
const INTERVAL_SHARE = 0.4;
// A stall is no fault of the job: the second one must not fail it, as BullMQ's default would.
const MAX_STALLS = 1_000_000;
// Ends a job that kills each worker that takes it. More starts than retries can add up to, and than a broken
// proxy causes in the whole retention (14 days, a start every 5 seconds).
const MAX_STARTS = 300_000;
// An idle worker asks this often although nothing has woken it. A second later it takes a silent connection
// for dead.
const ASK_AFTER_S = 12;
// Until a job that has thrown an error runs again. Each error that nobody has foreseen makes that longer: it may have sent its request.
const FIRST_DELAY_MS = 5_000;
const MAX_DELAY_MS = 600_000;
// A worker has two connections. One may fetch while the other still fails, each second.
const QUIET_MS = 2_000;
// BullMQ waits this long before it repeats a command that a broken connection has stopped.
const RETRY_DELAY_MS = 500;

/** Open a worker of a queue in a shard. It takes no jobs before it is started. */
export function openWorker<Data>(
  parts: OpenWorkerParts,
  options: OpenWorkerOptions,
  process: Processor<Data>,
): BullmqWorker<Data> {
  const worker = new BullmqWorker<Data>(options.queue, process, workerOptionsOf(parts, options));
  announceFailures(worker, parts.emit);
  return worker;
}

export function workerOptionsOf(parts: OpenWorkerParts, options: OpenWorkerOptions): BullmqWorkerOptions {
  const { redis, atomic, lockDurationMs } = parts;
  const { shard, capacity, stopDeadlineMs } = options;
  const stalledCheckMs = options.stalledCheckMs ?? Math.ceil(lockDurationMs / STALLED_CHECKS_PER_LOCK);
  return {
    redis,
    atomic,
    prefix: shard.prefix,
    capacity,
    stopDeadlineMs,
    lockDuration: lockDurationMs,
    stalledCheckMs,
    stalledInterval: Math.ceil(stalledCheckMs * INTERVAL_SHARE),
    drainDelay: ASK_AFTER_S,
    maxStalledCount: MAX_STALLS,
    maxStartedAttempts: MAX_STARTS,
    runRetryDelay: RETRY_DELAY_MS,
    // The product's own record has the result of a job; a job that failed nonetheless is kept, for people.
    removeOnComplete: { count: 0 },
    settings: { backoffStrategy: (_attempts, _type, error, job) => delayAfter(error, job) },
  };
}

// BullMQ's count of attempts has those that a receiver refused as well. Only a job that throws gets a trace.
function delayAfter(error: Error | undefined, job: MinimalJob | undefined): number {
  if (isUnavailable(error)) return FIRST_DELAY_MS;
  const errorsBefore = job?.stacktrace?.length ?? 0;
  return Math.min(FIRST_DELAY_MS * 2 ** errorsBefore, MAX_DELAY_MS);
}

/** From the socket, from the library for a connection that is lost, or a reply of Redis. */
function isOfRedis(error: Error): boolean {
  return 'code' in error || error instanceof ReplyError || isUnavailable(error);
}

export function announceFailures<Data, Result>(worker: BullmqWorker<Data, Result>, emit: Emit): void {
  const queue = worker.name;
  let awaySince: number | undefined;
  let lastErrorAt = 0;
  worker.on('error', (error) => {
    // BullMQ tells of its own troubles here too, such as a lock that it could not renew because this process was late.
    if (!isOfRedis(error)) return emit({ name: 'library.warned', text: `${queue}: ${error.message}` });
    lastErrorAt = steadyClock();
    awaySince ??= lastErrorAt;
    emit({ name: 'redis.error', connection: queue, error });
  });
  worker.onFetched = () => {
    if (awaySince === undefined || steadyClock() - lastErrorAt < QUIET_MS) return;
    emit({ name: 'redis.back', connection: queue, awayMs: Math.round(steadyClock() - awaySince) });
    awaySince = undefined;
  };
  worker.on('failed', (job, error) => {
    const jobId = job?.id ?? '';
    // BullMQ has set the time of its end by then, unless it runs it again.
    const isForGood = job?.finishedOn !== undefined;
    const interruption = isForGood ? undefined : interruptionOf(error);
    if (interruption) emit({ name: 'job.interrupted', queue, jobId, reason: interruption.reason, error });
    else emit({ name: 'job.failed', queue, jobId, error, isForGood });
  });
}
