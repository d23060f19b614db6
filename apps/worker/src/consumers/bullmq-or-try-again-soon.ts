import { isUnreadableSecret } from '@hookferry/core/endpoints/seal';
import type { Emit } from '@hookferry/core/model/signal';
import { DelayedError, type Job, UnrecoverableError } from 'bullmq';
import { delayJob } from './bullmq-put-back';
import { UNREADABLE_SECRET_DELAY_MS } from './unreadable-secret';

const SOON_MS = 1_000;

/**
 * Does a job's work; when that breaks off, for Redis could not take all of it, puts the job back for a second,
 * whatever the job's own options say about attempts.
 *
 * @throws UnrecoverableError when the work does: no later run would go better. DelayedError when it has put the job back itself.
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
    emit({ name: 'job.interrupted', queue: job.queueName, jobId: job.id ?? '', error });
    const delayMs = isUnreadableSecret(error) ? UNREADABLE_SECRET_DELAY_MS : SOON_MS;
    return await delayJob(job, token, delayMs);
  }
}
