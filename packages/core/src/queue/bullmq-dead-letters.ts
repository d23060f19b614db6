import type { Queue } from 'bullmq';
import type { AppError } from '../errors/app-error';
import { openQueue } from './bullmq-open-queue';
import type { QueueConnection } from './queue-connection';
import { DEAD_LETTERS_QUEUE } from './queue-names';
import type { EventJob } from './read-event-job';

/** A job that was refused, as it was, and why. */
export interface DeadLetter {
  readonly job: EventJob;
  readonly code: string;
  readonly reason: string;
  readonly errors: AppError['faults'];
}

/** Keeps what was pushed onto the events queue and is no valid event, for people to look at. */
export class BullmqDeadLetters {
  readonly #queue: Queue<DeadLetter>;

  constructor(connection: QueueConnection) {
    this.#queue = openQueue(DEAD_LETTERS_QUEUE, connection);
  }

  /** Keeping the same job again is harmless. */
  async keep(job: EventJob, error: AppError): Promise<void> {
    const letter: DeadLetter = { job, code: error.code, reason: error.message, errors: error.faults };
    // The ids of scheduled jobs hold colons, which BullMQ does not take back.
    await this.#queue.add(job.name, letter, { jobId: `${job.timestamp}-${job.id}`.replaceAll(':', '-') });
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }
}
