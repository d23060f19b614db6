import type { RedisClient } from '@webhooks/core/redis/redis-connect';
import type { Emit } from '@webhooks/core/signals/signals';
import { type Job, type JobJson, type Processor, Worker } from 'bullmq';
import { RetryLater } from './retry-later';

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

/** What all our consumers ask of BullMQ. Takes no job before it is told to `run`. */
export function openWorker<Data>(
  queue: string,
  process: Processor<Data>,
  { redis, prefix, concurrency, lockDurationMs, emit }: ConsumerOptions,
): Worker<Data> {
  const worker = new KeepingWorker<Data>(queue, process, {
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

// A type that BullMQ doesn't have leads to the `backoffStrategy`.
const OUR_BACKOFF = { type: 'custom' };

/**
 * Gives jobs what need not be stored with each, and sees to it that one that fails for good is kept, and one that is done
 * is not, whatever it is like.
 */
class KeepingWorker<Data> extends Worker<Data> {
  protected override createJob(json: JobJson, jobId: string): Job<Data> {
    const job = this.#read(json, jobId);
    job.opts.backoff ??= OUR_BACKOFF;
    // Producers set these for queues of their own. Here the one would take away what nobody has seen; the other would leave
    // what was done, with its payload, where no retention and no erasure looks for it.
    if (job.opts.removeOnFail !== undefined) delete job.opts.removeOnFail;
    if (job.opts.removeOnComplete !== undefined) delete job.opts.removeOnComplete;
    return job;
  }

  // By itself BullMQ would drop such a job, find it again when its lock has expired, and go on like that for ever.
  #read(json: JobJson, jobId: string): Job<Data> {
    try {
      return super.createJob(json, jobId);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      const deferredFailure = `Its data is not JSON: ${error.message}`;
      return super.createJob({ ...json, data: '{}', deferredFailure }, jobId);
    }
  }
}
