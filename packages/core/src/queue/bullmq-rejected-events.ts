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

// Keeps this many, the newest: a faulty producer must not fill Redis.
const MAX_REJECTED_JOBS = 100_000;

// More than one at a time, so that an excess shrinks again. Few, as Redis has to search the queue for each.
const PRUNED_AT_ONCE = 10;

/** Fields that a list shows of a job that is too large to be read: its account, and why it was refused. */
export const REJECTED_FIELDS = ['account', 'refusal'] as const;

// The message can quote the refused value.
const MAX_REFUSAL_LENGTH = 2_000;

/** Keeps invalid events from the events queue, for people to look at. */
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
   * Keep a job. Idempotent. Gives the ids of the jobs that were removed for it.
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

  /** When the newest that is still here came. Milliseconds since the Unix epoch; `undefined`: there is none. */
  async newestAt(): Promise<number | undefined> {
    const [, at] = await this.redis.zrevrange(this.#listKey, '0', '0', 'WITHSCORES');
    return at === undefined ? undefined : Number(at);
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
}

/** A refused job of the events queue as it is kept: the job itself, and why it was refused. */
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
 * The id under which it is kept and put back. It includes the time, as another job can have the same number
 * after Redis was emptied. A job that was put back and is refused again has that time already.
 */
export function rejectedJobId({ id, timestamp }: Pick<EventJob, 'id' | 'timestamp'>): string {
  return withTime(timestamp, originalId({ id, timestamp }));
}

/**
 * A new id for each retry: the job could be refused again before it is removed from the dead letters, and
 * would be removed together with its old entry.
 */
export function retriedJobId(job: Pick<EventJob, 'id' | 'timestamp'>, retriedAt: number): string {
  return withTime(retriedAt, originalId(job));
}

// The ids of scheduled jobs have colons, which BullMQ refuses in added jobs.
function withTime(time: number, id: string): string {
  return `${time}-${id}`.replaceAll(':', '-');
}

function originalId({ id, timestamp }: Pick<EventJob, 'id' | 'timestamp'>): string {
  const prefix = `${timestamp}-`;
  return id.startsWith(prefix) ? id.slice(prefix.length) : id;
}

// Every job has its account in the first form; a replay's job has the whole order.
const jobOfAccountSchema = z.union([
  z.object({ account_id: accountIdSchema }).transform(({ account_id }) => account_id),
  z.object({ accountId: accountIdSchema }).transform(({ accountId }) => accountId),
]);

/** The account that a job on any queue names, even in an invalid job. */
export function accountOfJob(data: unknown): AccountId | undefined {
  return jobOfAccountSchema.safeParse(data).data;
}

/** The account of a job that became a dead letter as an invalid event. */
export function accountOfRejectedJob(data: unknown): AccountId | undefined {
  const rejected = rejectedJobSchema.safeParse(data);
  return rejected.success ? accountOfJob(rejected.data.job.data) : undefined;
}
