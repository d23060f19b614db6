import { ErrorCode, Job, type JobsOptions, Queue } from 'bullmq';
import { type RedisClient, storageUnavailable } from '../platform/redis-connect';
import { jobFields } from './bullmq-layout';

// What BullMQ says of a job that is not there, or not among the failed.
const NOT_FAILED: readonly unknown[] = [ErrorCode.JobNotExist, ErrorCode.JobNotInState];

/**
 * A queue for whoever answers a client and can't wait: adding fails at once while Redis is away.
 *
 * A queue that was made while Redis is away would wait for it without end, and one whose first command fails stays
 * unusable for ever. So it is made on demand, once there is a connection, and anew after a failure.
 */
export class OnDemandQueue {
  #queue: Queue | undefined;

  constructor(
    private readonly name: string,
    private readonly connection: QueueConnection,
  ) {}

  /** @throws AppError `storage_unavailable`; the job may be on the queue all the same, so add it under an id. */
  async add({ name, data, opts }: NewJob): Promise<void> {
    await this.#reach((queue) => queue.add(name, data, opts));
  }

  /** Not all or nothing: when it throws, some of them may be on the queue. @throws as `add` does. */
  async addAll(jobs: readonly NewJob[]): Promise<void> {
    await this.#reach((queue) => addJobs(queue, jobs));
  }

  /** Puts a job that failed for good back, as if it had never run. Whether there is such a one. @throws as `add` does. */
  async retryFailed(jobId: string): Promise<boolean> {
    return await this.#reach(async (queue) => {
      try {
        // BullMQ leaves the count of its stalls, and would fail it for the next one.
        await this.connection.redis.hdel(queue.toKey(jobId), jobFields.stalledCount);
        // Not read from Redis: what can't be read shall run, and fail, again like any other.
        const job = new Job(queue, '', {}, {}, jobId);
        await job.retry('failed', { resetAttemptsMade: true, resetAttemptsStarted: true });
        return true;
      } catch (error) {
        if (NOT_FAILED.includes((error as { readonly code?: unknown }).code)) return false;
        throw error;
      }
    });
  }

  /** Whether it was there, and no worker at it. @throws as `add` does. */
  async remove(jobId: string): Promise<boolean> {
    return (await this.#reach((queue) => queue.remove(jobId))) === 1;
  }

  /** Where the job is to be once it waits. What has none is left alone. @throws as `add` does. */
  async changePriority(jobId: string, priority: number): Promise<void> {
    await this.#reach(async (queue) => {
      const job = await queue.getJob(jobId);
      await job?.changePriority({ priority });
    });
  }

  /** If the job is delayed, it is no longer. @throws as `add` does. */
  async promote(jobId: string): Promise<void> {
    await this.#reach(async (queue) => {
      const job = await queue.getJob(jobId);
      await job?.promote().catch(passIfNotDelayed);
    });
  }

  async #reach<Result>(work: (queue: Queue) => Promise<Result>): Promise<Result> {
    try {
      return await work(await this.#open());
    } catch (error) {
      throw storageUnavailable(error);
    }
  }

  async close(): Promise<void> {
    await this.#queue?.close();
  }

  async #open(): Promise<Queue> {
    const { redis } = this.connection;
    if (redis.status !== 'ready') throw new Error(`The connection to Redis is not ready: ${redis.status}.`);
    this.#queue ??= openQueue(this.name, this.connection);
    const queue = this.#queue;
    try {
      await queue.waitUntilReady();
      return queue;
    } catch (error) {
      if (this.#queue === queue) this.#queue = undefined;
      // Or each failure would leave its listeners on the connection.
      await queue.close();
      throw error;
    }
  }
}

function passIfNotDelayed(error: unknown): void {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code !== ErrorCode.JobNotInState) throw error;
}

export interface NewJob {
  readonly name: string;
  readonly data: unknown;
  readonly opts: JobsOptions;
}

/**
 * Adds jobs in one round trip. Not all or nothing: when it throws, some of them may be on the queue.
 *
 * Most of the time it is one, and ioredis' pipeline, which copies each of BullMQ's scripts, would be the dearest part.
 */
async function addJobs(queue: Queue, jobs: readonly NewJob[]): Promise<void> {
  const [first, ...others] = jobs;
  if (first === undefined) return;
  if (others.length === 0) await queue.add(first.name, first.data, first.opts);
  else await queue.addBulk([...jobs]);
}

/** The end of a queue where jobs are added and counted. */
export function openQueue<Data>(name: string, { redis, prefix }: QueueConnection): Queue<Data> {
  const queue = new Queue<Data>(name, { connection: redis, prefix });
  queue.on('error', ignore);
  return queue;
}

// The connection's own listener announces its errors; without one here, BullMQ's copy would end the process.
function ignore(): void {}

/** What every queue needs to know of Redis. */
export interface QueueConnection {
  readonly redis: RedisClient;
  readonly prefix: string;
}
