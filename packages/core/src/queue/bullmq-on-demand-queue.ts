import { ErrorCode, Job, type JobsOptions, Queue } from 'bullmq';
import type { RedisClient } from '../platform/redis-connect';
import { storageUnavailable } from '../platform/redis-errors';
import { jobFields } from './bullmq-layout';

// BullMQ's codes for a job that does not exist, or is not in the state that was asked for.
const NOT_THERE: readonly unknown[] = [ErrorCode.JobNotExist, ErrorCode.JobNotInState];

/**
 * A queue for callers that can't wait, such as API requests: adding fails at once while Redis is away.
 *
 * A queue that was made while Redis is away would wait for it endlessly, and one whose first command fails
 * stays unusable for ever. So it is made on demand, once there is a connection, and again after a failure.
 */
export class OnDemandQueue {
  #queue: Queue | undefined;

  constructor(
    private readonly name: string,
    private readonly connection: QueueConnection,
  ) {}

  /** @throws Error of Redis; the job may still be on the queue, so add it under an id. */
  async add({ name, data, opts }: NewJob): Promise<void> {
    const queue = await this.#open();
    await queue.add(name, data, opts);
  }

  /** Not atomic: when it throws, some of the jobs may be on the queue. @throws as `add` does. */
  async addAll(jobs: readonly NewJob[]): Promise<void> {
    await addJobs(await this.#open(), jobs);
  }

  /**
   * Put a job that failed for good back, as if it had never run. Gives whether it existed. @throws as `add`
   * does.
   */
  async retryFailed(jobId: string): Promise<boolean> {
    const queue = await this.#open();
    try {
      // BullMQ leaves the count of its stalls, and would fail it at the next one.
      await this.connection.redis.hdel(queue.toKey(jobId), jobFields.stalledCount);
      // Not read from Redis: a job with unreadable data must run, and fail, again like any other.
      const job = new Job(queue, '', {}, {}, jobId);
      await job.retry('failed', { resetAttemptsMade: true, resetAttemptsStarted: true });
      return true;
    } catch (error) {
      throwUnlessNotThere(error);
      return false;
    }
  }

  /** Give whether it was there and no worker ran it. @throws as `add` does. */
  async remove(jobId: string): Promise<boolean> {
    const queue = await this.#open();
    return (await queue.remove(jobId)) === 1;
  }

  async #open(): Promise<Queue> {
    const { redis } = this.connection;
    if (redis.status !== 'ready')
      throw storageUnavailable(new Error(`The connection to Redis is not ready: ${redis.status}.`));
    this.#queue ??= openQueue(this.name, this.connection);
    const queue = this.#queue;
    try {
      await queue.waitUntilReady();
      return queue;
    } catch (error) {
      if (this.#queue === queue) this.#queue = undefined;
      // Otherwise each failure would leave its listeners on the connection.
      await queue.close();
      throw error;
    }
  }
}

// A worker may have taken the job since it was read, and even have ended it.
function throwUnlessNotThere(error: unknown): void {
  if (!NOT_THERE.includes((error as { readonly code?: unknown }).code)) throw error;
}

export interface NewJob {
  readonly name: string;
  readonly data: unknown;
  readonly opts: JobsOptions;
}

/**
 * Add jobs in one round trip. Not atomic: when it throws, some of them may be on the queue.
 *
 * Most of the time there is one job, and ioredis' pipeline, which copies each of BullMQ's scripts, would cost
 * most.
 */
async function addJobs(queue: Queue, jobs: readonly NewJob[]): Promise<void> {
  const [first, ...others] = jobs;
  if (first === undefined) return;
  if (others.length === 0) await queue.add(first.name, first.data, first.opts);
  else await queue.addBulk([...jobs]);
}

/**
 * The side of a queue where jobs are added and counted, over a connection of others. One that lasts as long as its connection
 * need not be closed; any other leaves its listeners there.
 */
export function openQueue<Data>(name: string, { redis, prefix }: QueueConnection): Queue<Data> {
  const queue = new Queue<Data>(name, { connection: redis, prefix });
  queue.on('error', ignore);
  return queue;
}

// The connection's own listener announces its errors. Without one here, BullMQ's copy would end the process.
function ignore(): void {}

/** The Redis connection of a queue, and its prefix. */
export interface QueueConnection {
  readonly redis: RedisClient;
  readonly prefix: string;
}
