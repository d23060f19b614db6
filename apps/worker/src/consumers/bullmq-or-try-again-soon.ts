import type { Emit } from '@webhooks/core/signals/signals';
import { DelayedError, type Job } from 'bullmq';

const SOON_MS = 1_000;

/**
 * Does a job's work; when that breaks off, for Redis could not take all of it, puts the job back for a second,
 * whatever the job's own options say about attempts.
 */
export async function orTryAgainSoon(
  work: () => Promise<void>,
  job: Job,
  token: string | undefined,
  emit: Emit,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    emit({ name: 'job.interrupted', queue: job.queueName, jobId: job.id ?? '', error });
    await job.moveToDelayed(Date.now() + SOON_MS, token);
    throw new DelayedError();
  }
}
