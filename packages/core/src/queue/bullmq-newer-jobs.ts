import type { Clock } from '../kernel/clock';
import { defineScript } from '../kernel/redis-script';
import { queueKeysOf } from '../model/keys';
import { type WorkedQueue, workedQueues } from '../model/queue-names';
import type { Emit } from '../model/signal';
import { createJobKeys, DELAYED_SCORE } from './bullmq-layout';
import type { QueueConnection } from './bullmq-open-queue';

export interface NewerJobsOptions {
  readonly connection: QueueConnection;
  /** The latest form of a job's data that this process can read. */
  readonly readableVersion: number;
  readonly clock: Clock;
  readonly emit: Emit;
}

const AT_ONCE = 1_000;
const LOOK_EVERY_MS = 30_000;
// While workers of both versions run, one of the others may take it once more.
const LOOK_AGAIN_MS = 1_000;

// An entry goes when its job is due, runs without being delayed, or is gone. While a worker is at the job it may be about to
// delay it: then the entry stays. KEYS: index, delayed, active, marker. ARGV: what the keys of jobs begin with, what entries
// begin with, the score of what is due now, then the ids.
const MAKE_DUE = defineScript(`
  local index, delayed, active, marker = unpack(KEYS)
  for i = 4, #ARGV do
    local job = ARGV[i]
    if redis.call('ZSCORE', delayed, job) then
      redis.call('ZADD', delayed, 'XX', ARGV[3], job)
      redis.call('ZADD', marker, 0, '0')
    end
    if not redis.call('LPOS', active, job) then redis.call('ZREM', index, ARGV[2] .. job) end
  end`);

/**
 * Jobs of a shard that workers of a version before could not read, and have delayed: an index of them beside the queues.
 * Whoever can read them makes them due. It only saves time: their delays end by themselves.
 */
export class NewerJobs {
  readonly #index: string;
  #timer: NodeJS.Timeout | undefined;
  #look: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(private readonly options: NewerJobsOptions) {
    this.#index = queueKeysOf(options.connection.prefix).newerJobs;
  }

  start(): void {
    this.#lookIn(0);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#look;
  }

  /** Notes a job that this process can't read. It is to be delayed afterwards: an entry without a delay does no harm. */
  async note(queue: string, jobId: string, version: number): Promise<void> {
    await this.options.connection.redis.zadd(this.#index, version, entryOf(queue, jobId));
  }

  /** Makes due what this process can read. Gives how many there were, of all queues of the shard. */
  async runOnce(): Promise<number> {
    const { connection, readableVersion } = this.options;
    const limit = ['LIMIT', 0, AT_ONCE] as const;
    const entries = await connection.redis.zrangebyscore(this.#index, '-inf', readableVersion, ...limit);
    for (const queue of workedQueues) {
      const start = entryOf(queue, '');
      const jobIds = entries
        .filter((entry) => entry.startsWith(start))
        .map((entry) => entry.slice(start.length));
      if (jobIds.length > 0) await this.#makeDue(queue, jobIds);
    }
    return entries.length;
  }

  async #makeDue(queue: WorkedQueue, jobIds: readonly string[]): Promise<void> {
    const { connection, clock } = this.options;
    const { base, delayed, active, marker } = createJobKeys(connection.prefix, queue);
    const args = [base, entryOf(queue, ''), clock() * DELAYED_SCORE, ...jobIds];
    await MAKE_DUE(connection.redis, [this.#index, delayed, active, marker], args);
  }

  #lookIn(delayMs: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#look = this.#lookNow();
    }, delayMs);
  }

  async #lookNow(): Promise<void> {
    try {
      this.#lookIn((await this.runOnce()) > 0 ? LOOK_AGAIN_MS : LOOK_EVERY_MS);
    } catch (error) {
      this.options.emit({ name: 'task.failed', task: 'make newer jobs due', error });
      this.#lookIn(LOOK_EVERY_MS);
    }
  }
}

function entryOf(queue: string, jobId: string): string {
  return `${queue}/${jobId}`;
}
