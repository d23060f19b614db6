import type { Emit } from '@hookferry/core/model/signal';
import { JOB_VERSION, versionOfJob } from '@hookferry/core/queue/job-version';
import type { Job } from 'bullmq';
import { delayJob } from './bullmq-put-back';

const FIRST_DELAY_MS = 1_000;
// After a rollback there may be very many of them: they must not keep the workers busy.
const MAX_DELAY_MS = 600_000;

/**
 * Delays a job whose data this process can't read. It uses up no attempt, and waits the longer the more often it came.
 *
 * @throws DelayedError when it has delayed the job, which tells BullMQ that the job is not at its end.
 */
export async function delayTooNew(job: Job, token: string | undefined, emit: Emit): Promise<void> {
  const version = versionOfJob(job.data);
  if (version <= JOB_VERSION) return;
  emit({ name: 'job.too_new', queue: job.queueName, jobId: job.id ?? '', version });
  await delayJob(job, token, Math.min(FIRST_DELAY_MS * 2 ** job.attemptsStarted, MAX_DELAY_MS));
}
