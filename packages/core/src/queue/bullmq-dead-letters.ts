import type { Queue } from 'bullmq';
import type { AppError } from '../kernel/app-error';
import type { Clock } from '../kernel/clock';
import { queueKeysOf } from '../model/keys';
import { DEAD_LETTERS_QUEUE } from '../model/queue-names';
import { accountOfJob } from './account-of-job';
import { createJobKeys } from './bullmq-layout';
import { openQueue, type QueueConnection } from './bullmq-open-queue';
import type { EventJob } from './read-event-job';
import { describeRefusal, type RejectedJob, rejectedJobId, rejectedJobOf } from './rejected-job';

// As many are kept, the newest: a producer that goes wrong must not fill Redis.
const MAX_REJECTED_JOBS = 100_000;

// More than one at a time, so that there are fewer again when there came to be too many; a few, as Redis has to look
// through the queue for each.
const PRUNED_AT_ONCE = 10;

/** What a list tells of one that is too large to be read for it: whose it is, and why it was refused. */
export const REJECTED_FIELDS = ['account', 'refusal'] as const;

// It can quote what it refuses.
const MAX_REFUSAL_LENGTH = 2_000;

/** Keeps what was pushed onto the events queue and is no valid event, for people to look at. */
export class BullmqDeadLetters {
  readonly #queue: Queue<RejectedJob>;
  readonly #listKey: string;

  constructor(
    private readonly connection: QueueConnection,
    private readonly clock: Clock,
    private readonly maxJobs = MAX_REJECTED_JOBS,
  ) {
    this.#queue = openQueue(DEAD_LETTERS_QUEUE, connection);
    this.#listKey = queueKeysOf(connection.prefix).rejectedJobs;
  }

  /**
   * Keeping the same job again is harmless. Gives the ids of those that had to go for it.
   *
   * @throws RangeError when its data is nested too deeply to be written.
   */
  async keep(job: EventJob, error: AppError): Promise<readonly string[]> {
    const id = rejectedJobId(job);
    const rejected = rejectedJobOf(job, error);
    await this.#queue.add(job.name, rejected, { jobId: id });
    await this.#describe(id, rejected);
    await this.connection.redis.zadd(this.#listKey, 'NX', String(this.clock()), id);
    return await this.#prune();
  }

  async #describe(id: string, { job, reason, errors }: RejectedJob): Promise<void> {
    const [account, refusal] = REJECTED_FIELDS;
    await this.connection.redis.hset(createJobKeys(this.connection.prefix, DEAD_LETTERS_QUEUE).job(id), {
      [account]: accountOfJob(job.data) ?? '',
      [refusal]: describeRefusal(reason, errors).slice(0, MAX_REFUSAL_LENGTH),
    });
  }

  async #prune(): Promise<readonly string[]> {
    const { redis } = this.connection;
    const excess = (await redis.zcard(this.#listKey)) - this.maxJobs;
    if (excess <= 0) return [];
    const last = String(Math.min(excess, PRUNED_AT_ONCE) - 1);
    const oldest = await redis.zrange(this.#listKey, '0', last);
    for (const id of oldest) {
      await this.#queue.remove(id);
      await redis.zrem(this.#listKey, id);
    }
    return oldest;
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }
}
