import { systemClock } from '@hookferry/core/kernel/clock';
import { DelayedError, ErrorCode, type Job, WaitingError } from 'bullmq';

const FIRST = 1;

// What BullMQ says of a job that is not ours any more.
const NOT_OURS: readonly unknown[] = [
  ErrorCode.JobLockMismatch,
  ErrorCode.JobLockNotExist,
  ErrorCode.JobNotExist,
  ErrorCode.JobNotInState,
];

/**
 * Delays a job without counting an attempt. One that another worker has taken over meanwhile stays as it is.
 *
 * @throws DelayedError always, which tells BullMQ that the job is not at its end.
 */
export async function delayJob(job: Job, token: string | undefined, delayMs: number): Promise<never> {
  await unlessLost(job.moveToDelayed(systemClock() + delayMs, token));
  throw new DelayedError();
}

/**
 * Puts a job back, to be taken next. One that another worker has taken over meanwhile stays as it is.
 *
 * @throws WaitingError always, which tells BullMQ that the job is not at its end.
 */
export async function giveJobBack(job: Job, token: string | undefined): Promise<never> {
  // With a place of its own it would be where it was when it came, and that may be far behind by now.
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
