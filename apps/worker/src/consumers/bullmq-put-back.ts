import type { QueueShard } from '@hookferry/core/domain/queues';
import type { Emit } from '@hookferry/core/domain/signal';
import type { InterruptionReason } from '@hookferry/core/domain/signals/work';
import { isUnreadableSecret } from '@hookferry/core/endpoints/seal';
import { AppError } from '@hookferry/core/platform/app-error';
import { systemClock } from '@hookferry/core/platform/clock';
import type { RedisClient } from '@hookferry/core/platform/redis-connect';
import { isUnavailable } from '@hookferry/core/platform/redis-errors';
import { JOB_VERSION, versionOfJob } from '@hookferry/core/queue/bullmq-event-queue';
import { createJobKeys, jobFields } from '@hookferry/core/queue/bullmq-layout';
import { DelayedError, ErrorCode, type Job, UnrecoverableError, WaitingError } from 'bullmq';

const FIRST = 1;

// BullMQ's errors for a job that this worker has lost.
const NOT_OURS: readonly unknown[] = [
  ErrorCode.JobLockMismatch,
  ErrorCode.JobLockNotExist,
  ErrorCode.JobNotExist,
  ErrorCode.JobNotInState,
];

/**
 * Delay a job without counting an attempt. A job that another worker has taken over meanwhile stays as it is.
 *
 * @throws DelayedError always, which tells BullMQ that the job has not ended.
 */
export async function delayJob(job: Job, token: string | undefined, delayMs: number): Promise<never> {
  await unlessLost(job.moveToDelayed(systemClock() + delayMs, token));
  throw new DelayedError();
}

/**
 * Put a job back, to be taken next. A job that another worker has taken over meanwhile stays as it is.
 *
 * @throws WaitingError always, which tells BullMQ that the job has not ended.
 */
export async function giveJobBack(job: Job, token: string | undefined): Promise<never> {
  // Its priority would return it to its original position, which may be far behind by now.
  if (job.priority > 0) await unlessLost(job.changePriority({ priority: FIRST }));
  await unlessLost(job.moveToWait(token));
  throw new WaitingError();
}

async function unlessLost(move: Promise<unknown>): Promise<void> {
  try {
    await move;
  } catch (error) {
    if (!NOT_OURS.includes((error as { readonly code?: unknown }).code)) throw error;
  }
}

/**
 * Count the starts of a job with several steps again after one of them. BullMQ counts each step as a start: a
 * job of many steps would look like one that kills each worker that takes it.
 */
export async function countStartsAnew(
  job: Job,
  { redis, shard: { prefix } }: { readonly redis: RedisClient; readonly shard: QueueShard },
): Promise<void> {
  await redis.hset(createJobKeys(prefix, job.queueName).job(job.id ?? ''), jobFields.attemptsStarted, 0);
}

const SOON_MS = 1_000;

/**
 * Do a job's work. When it fails, put the job back for a while, whatever the job's own options say about attempts: for a
 * second when Redis or the history could not do its part, and longer each time after a bug.
 *
 * @throws UnrecoverableError when the work does: no later run would succeed. DelayedError when the job is put
 *   back.
 */
export async function orTryAgainSoon<Result>(
  work: () => Promise<Result>,
  job: Job,
  token: string | undefined,
  emit: Emit,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UnrecoverableError || error instanceof DelayedError) throw error;
    const { reason, delayMs } = interruptionOf(error) ?? { reason: 'other', delayMs: longerEachTime(job) };
    emit({ name: 'job.interrupted', queue: job.queueName, jobId: job.id ?? '', reason, error });
    return await delayJob(job, token, delayMs);
  }
}

/** Why a job could not be done now, and for how long it waits. */
export interface Interruption {
  readonly reason: InterruptionReason;
  readonly delayMs: number;
}

/** @returns `undefined` after a bug. */
export function interruptionOf(error: unknown): Interruption | undefined {
  if (isUnreadableSecret(error)) {
    return { reason: 'secret_unreadable', delayMs: UNREADABLE_SECRET_DELAY_MS };
  }
  if (error instanceof AppError) return { reason: 'unavailable', delayMs: error.retryAfterMs ?? SOON_MS };
  return isUnavailable(error) ? { reason: 'unavailable', delayMs: SOON_MS } : undefined;
}

const FIRST_DELAY_MS = 1_000;
// There may be very many of them, after a rollback for example: they must not keep the workers busy.
const MAX_DELAY_MS = 600_000;

function longerEachTime({ attemptsStarted }: Job): number {
  return Math.min(FIRST_DELAY_MS * 2 ** attemptsStarted, MAX_DELAY_MS);
}

/**
 * Delay a job whose data this process can't read. It uses no attempt, and waits longer each time.
 *
 * @throws DelayedError when it has delayed the job, which tells BullMQ that the job has not ended.
 */
export async function delayTooNew(job: Job, token: string | undefined, emit: Emit): Promise<void> {
  const version = versionOfJob(job.data);
  if (version <= JOB_VERSION) return;
  emit({ name: 'job.too_new', queue: job.queueName, jobId: job.id ?? '', version });
  await delayJob(job, token, longerEachTime(job));
}

/**
 * How long a job waits while its endpoint's secrets can't be read. An operator has to provide the key or
 * repair the record. Until then a job must not use up its starts, of which `bullmq-open-worker.ts` allows a
 * number: this makes them last a week.
 */
const UNREADABLE_SECRET_DELAY_MS = 60_000;
