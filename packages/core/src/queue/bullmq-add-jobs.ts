import type { JobsOptions, Queue } from 'bullmq';

export interface NewJob {
  readonly name: string;
  readonly data: unknown;
  readonly opts: JobsOptions;
}

/**
 * Adds jobs in one round trip. Not all or nothing: when it throws, some of them may be on the queue.
 *
 * Most of the time it is one, and ioredis' pipeline, which copies each of BullMQ's scripts, would be the dearest part.
 */
export async function addJobs(queue: Queue, jobs: readonly NewJob[]): Promise<void> {
  const [first, ...others] = jobs;
  if (first === undefined) return;
  if (others.length === 0) await queue.add(first.name, first.data, first.opts);
  else await queue.addBulk([...jobs]);
}
