import { QueueKeys } from 'bullmq';

/**
 * BullMQ 6's layout in Redis, as far as this product reads it. All of it is private to BullMQ, so it is here
 * and nowhere else. `bullmq-layout.test.ts` fails first when BullMQ changes it. The tests of
 * `bullmq-delivery-queue`, `bullmq-held-deliveries` and `bullmq-running-jobs` compare the scripts with
 * BullMQ's own.
 */
export function createJobKeys(prefix: string, queue: string) {
  const queueKeys = new QueueKeys(prefix);
  const keyOf = (name: string) => queueKeys.toKey(queue, name);
  return {
    /** The prefix of each job's key. */
    base: keyOf(''),
    job: keyOf,
    /** Names the worker that runs a job. It expires unless the worker renews it. */
    lock: (jobId: string) => `${keyOf(jobId)}:lock`,
    /** Jobs without a priority. The next one to be taken is at the right. */
    wait: keyOf('wait'),
    prioritized: keyOf('prioritized'),
    /** Counts up, so that jobs of one priority keep their order. */
    priorityCounter: keyOf('pc'),
    active: keyOf('active'),
    delayed: keyOf('delayed'),
    failed: keyOf('failed'),
    stalled: keyOf('stalled'),
    /** Where BullMQ before 6, which producers may use, puts jobs while the queue is paused. */
    paused: keyOf('paused'),
    meta: keyOf('meta'),
    /** The marker that idle workers wait for. */
    marker: keyOf('marker'),
    events: keyOf('events'),
  };
}

export type JobKeys = ReturnType<typeof createJobKeys>;

/** BullMQ's names for the fields of a job's hash. */
export const jobFields = {
  name: 'name',
  data: 'data',
  failedReason: 'failedReason',
  /** Of the errors that its worker has thrown, as JSON. */
  stacktrace: 'stacktrace',
  /** Why it fails when it is taken next. */
  deferredFailure: 'defa',
  timestamp: 'timestamp',
  attemptsMade: 'atm',
  attemptsStarted: 'ats',
  /** How often its worker was lost. */
  stalledCount: 'stc',
  /** Not BullMQ's: when a job was put back. BullMQ keeps when it was added. */
  waitingSince: 'since',
  /** Not BullMQ's: when a delivery's event was accepted. */
  acceptedAt: 'at',
  /** Not BullMQ's: the account of an event that has its position, or '' if that is not certain. */
  account: 'acc',
  /** Not BullMQ's: why a delivery was held, and from when, as `encodeHold` writes each. */
  holds: 'held',
  /** Not BullMQ's: the events of the deliveries that a batch's job is for, or that a lane's sends in one request. */
  members: 'members',
  /** Not BullMQ's: in a lane's job, there once one of its deliveries has waited behind another one. */
  hasWaited: 'behind',
  /** Not BullMQ's: in a lane's job, there if its deliveries go in batches and need not wait for each other. */
  inBatches: 'batches',
  /** Not BullMQ's: in a lane's job, how many must be in it for it to go on. */
  fullAt: 'full',
  /** The scheduler that made the job. */
  schedulerKey: 'rjk',
} as const;

/**
 * The options of the jobs of deliveries. The retry policy decides when one ends: BullMQ only has to be far from deciding it first.
 * Settings that are equal for all jobs (removal, backoff) are the worker's.
 */
export const JOB_OPTIONS = '{"attempts":10000}';

/**
 * A job's score among the delayed is its time in milliseconds, times this. It counts up within the
 * millisecond.
 */
export const DELAYED_SCORE = 0x1000;

/**
 * A job's score among the prioritized is its priority times this. It counts up among jobs of the same
 * priority.
 */
export const PRIORITY_SCORE = 0x100000000;
