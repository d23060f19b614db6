import type { Queue } from 'bullmq';
import { z } from 'zod';
import { type AccountId, accountIdSchema } from '../domain/account';
import { queueKeysOf } from '../domain/keys';
import { DEAD_LETTERS_QUEUE, type QueueShards } from '../domain/queues';
import { type AppError, type ValidationError, validationErrorSchema } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import type { RedisClient } from '../platform/redis-connect';
import type { EventJob } from './bullmq-event-queue';
import { openQueue } from './bullmq-on-demand-queue';

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
export class RejectedEvents {
  readonly #queue: Queue<RejectedJob>;
  readonly #listKey: string;

  constructor(
    private readonly redis: RedisClient,
    { first: { prefix } }: Pick<QueueShards, 'first'>,
    private readonly clock: Clock,
    private readonly maxJobs = MAX_REJECTED_JOBS,
  ) {
    this.#queue = openQueue(DEAD_LETTERS_QUEUE, { redis, prefix });
    this.#listKey = queueKeysOf(prefix).rejectedJobs;
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
    await this.redis.zadd(this.#listKey, 'NX', String(this.clock()), id);
    return await this.#prune();
  }

  async #describe(id: string, { job, reason, errors }: RejectedJob): Promise<void> {
    const [account, refusal] = REJECTED_FIELDS;
    await this.redis.hset(this.#queue.toKey(id), {
      [account]: accountOfJob(job.data) ?? '',
      [refusal]: describeRefusal(reason, errors).slice(0, MAX_REFUSAL_LENGTH),
    });
  }

  async #prune(): Promise<readonly string[]> {
    const excess = (await this.redis.zcard(this.#listKey)) - this.maxJobs;
    if (excess <= 0) return [];
    const last = String(Math.min(excess, PRUNED_AT_ONCE) - 1);
    const oldest = await this.redis.zrange(this.#listKey, '0', last);
    for (const id of oldest) {
      await this.#queue.remove(id);
      await this.redis.zrem(this.#listKey, id);
    }
    return oldest;
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }
}

/** What is kept of a job on the events queue that is no valid event: the job as it was, and why it was refused. */
export const rejectedJobSchema = z.object({
  job: z.object({ id: z.string(), name: z.string(), timestamp: z.number(), data: z.unknown() }),
  code: z.string(),
  reason: z.string(),
  errors: z.array(validationErrorSchema).readonly(),
});
export type RejectedJob = Readonly<z.infer<typeof rejectedJobSchema>>;

function rejectedJobOf(job: EventJob, { code, message, validationErrors }: AppError): RejectedJob {
  return { job, code, reason: message, errors: validationErrors };
}

/** In one line, for people; `reason` refers to `errors`, if there are any. */
export function describeRefusal(reason: string, errors: readonly ValidationError[]): string {
  if (errors.length === 0) return reason;
  return errors.map(({ pointer, detail }) => `${pointer || "the job's data"} ${detail}`).join('; ');
}

/**
 * Under which id it is kept, and put back: with its time, as there can be another job with the same number when Redis
 * was emptied. One that was put back and is refused again has that time already.
 */
export function rejectedJobId({ id, timestamp }: Pick<EventJob, 'id' | 'timestamp'>): string {
  return withTime(timestamp, originalId({ id, timestamp }));
}

/**
 * Another id for each time that it is put back: the job could be refused again before it is gone from where it was
 * kept, and would go together with what it was.
 */
export function redrivenJobId(job: Pick<EventJob, 'id' | 'timestamp'>, redrivenAt: number): string {
  return withTime(redrivenAt, originalId(job));
}

// The ids of scheduled jobs hold colons, which BullMQ does not take back.
function withTime(time: number, id: string): string {
  return `${time}-${id}`.replaceAll(':', '-');
}

function originalId({ id, timestamp }: Pick<EventJob, 'id' | 'timestamp'>): string {
  const prefix = `${timestamp}-`;
  return id.startsWith(prefix) ? id.slice(prefix.length) : id;
}

// All our jobs say whose they are by the first; a replay's is the replay as it was ordered.
const jobOfAccountSchema = z.union([
  z.object({ account_id: accountIdSchema }).transform(({ account_id }) => account_id),
  z.object({ accountId: accountIdSchema }).transform(({ accountId }) => accountId),
]);

/** Whose job it says that it is, on any of our queues: also one that is not as it should be. */
export function accountOfJob(data: unknown): AccountId | undefined {
  return jobOfAccountSchema.safeParse(data).data;
}

/** Whose job it was that became a dead letter for not being a valid event. */
export function accountOfRejectedJob(data: unknown): AccountId | undefined {
  const rejected = rejectedJobSchema.safeParse(data);
  return rejected.success ? accountOfJob(rejected.data.job.data) : undefined;
}
