import { QueueKeys } from 'bullmq';

/**
 * Where BullMQ 6 has what, as far as we look into it ourselves. All of it is private to BullMQ: what relies on it is here
 * and in the modules that take it from here, and `bullmq-held-deliveries.test.ts` holds our scripts against BullMQ's own.
 */
export function createJobKeys(prefix: string, queue: string) {
  const queueKeys = new QueueKeys(prefix);
  const keyOf = (name: string) => queueKeys.toKey(queue, name);
  return {
    /** What the key of each job begins with. */
    base: keyOf(''),
    job: keyOf,
    /** While a worker is at a job, this says which one; it expires unless the worker renews it. */
    lock: (jobId: string) => `${keyOf(jobId)}:lock`,
    /** Jobs without a priority; the next one to be taken is at the right. */
    wait: keyOf('wait'),
    prioritized: keyOf('prioritized'),
    /** Counts up, so that jobs of one priority go in the order in which they came. */
    priorityCounter: keyOf('pc'),
    active: keyOf('active'),
    delayed: keyOf('delayed'),
    failed: keyOf('failed'),
    stalled: keyOf('stalled'),
    meta: keyOf('meta'),
    /** What idle workers wait for. */
    marker: keyOf('marker'),
    events: keyOf('events'),
  };
}

export type JobKeys = ReturnType<typeof createJobKeys>;
