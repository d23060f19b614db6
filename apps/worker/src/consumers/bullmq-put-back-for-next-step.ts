import { createJobKeys, jobFields } from '@hookferry/core/queue/bullmq-layout';
import type { Job } from 'bullmq';
import type { ConsumerOptions } from './bullmq-open-worker';
import { delayJob } from './bullmq-put-back';

/**
 * Puts a job back whose work is done in steps, once one is done.
 *
 * BullMQ counts each step as a start. Work of many steps would look like a job that kills each worker that takes it, so
 * the count begins anew with each step that came to its end.
 *
 * @throws DelayedError always, which tells BullMQ that the job is not at its end.
 */
export async function putBackForNextStep(
  job: Job,
  token: string | undefined,
  delayMs: number,
  { redis, prefix }: Pick<ConsumerOptions, 'redis' | 'prefix'>,
): Promise<never> {
  await redis.hset(createJobKeys(prefix, job.queueName).job(job.id ?? ''), jobFields.attemptsStarted, 0);
  return await delayJob(job, token, delayMs);
}
