export type RunNumber = 1 | 2 | 3;

/** Whose lock an active job has: a run's, that of a run which crashed and that is still to expire, or no more. */
type Lock = RunNumber | 'crashed' | 'expired';

/** One id on a BullMQ queue. */
export type QueuedJob = 'absent' | 'waiting' | `active:${Lock}` | 'delayed:retry' | 'delayed:held';

// What BullMQ's commands make of a job. One that is refused changes nothing.

export function added(job: QueuedJob): QueuedJob {
  return job === 'absent' ? 'waiting' : job;
}

export function promoted(job: QueuedJob): QueuedJob {
  return isDelayed(job) ? 'waiting' : job;
}

/** By a run that puts it off or ends it, with the token of its lock. */
export function movedBy(run: RunNumber, job: QueuedJob, to: QueuedJob): QueuedJob {
  return isLockedBy(run, job) ? to : job;
}

export function putBackIfStalled(job: QueuedJob): QueuedJob {
  return job === 'active:expired' ? 'waiting' : job;
}

export function isLockedBy(run: RunNumber, job: QueuedJob): boolean {
  return job === `active:${run}`;
}

function isDelayed(job: QueuedJob): boolean {
  return job === 'delayed:retry' || job === 'delayed:held';
}
