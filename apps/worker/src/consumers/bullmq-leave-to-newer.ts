import type { Emit } from '@hookferry/core/model/signal';
import type { NewerJobs } from '@hookferry/core/queue/bullmq-newer-jobs';
import { JOB_VERSION, versionOfJob } from '@hookferry/core/queue/job-version';
import type { Job } from 'bullmq';
import { delayJob } from './bullmq-put-back';

export interface LeaveToNewerOptions {
  readonly newerJobs: Pick<NewerJobs, 'note'>;
  readonly emit: Emit;
}

const FIRST_DELAY_MS = 1_000;
// So many of them as there may be after a way back to a version before must not keep its workers busy.
const MAX_DELAY_MS = 600_000;

/**
 * Leaves a job alone whose data this version can't read: it uses up no attempt, and waits for a worker that can. One that dies
 * in the middle leaves a job whose lock expires, and that comes here again.
 *
 * @throws DelayedError when it is one, which tells BullMQ that the job is not at its end.
 */
export async function leaveToNewer(
  job: Job,
  token: string | undefined,
  { newerJobs, emit }: LeaveToNewerOptions,
): Promise<void> {
  const version = versionOfJob(job.data);
  if (version <= JOB_VERSION) return;
  const { queueName: queue, id: jobId = '' } = job;
  // Before it is delayed: what is delayed and not noted would wait for all of its time.
  await newerJobs.note(queue, jobId, version);
  emit({ name: 'job.too_new', queue, jobId, version });
  await delayJob(job, token, Math.min(FIRST_DELAY_MS * 2 ** job.attemptsStarted, MAX_DELAY_MS));
}
