import { z } from 'zod';
import type { AccountId } from './account';
import { DEAD_LETTERS_QUEUE, workedQueues } from './queues';

/** The queues whose jobs can become dead letters. */
export const deadLetterQueues = workedQueues;
export type DeadLetterQueue = (typeof deadLetterQueues)[number];

/**
 * Where they are kept: invalid events on a queue of their own, jobs that failed for good among the failed
 * jobs of their queue.
 */
export const deadLetterPlaces = [...deadLetterQueues, DEAD_LETTERS_QUEUE] as const;
export type DeadLetterPlace = (typeof deadLetterPlaces)[number];

/** `<where it is kept>.<its job id there>`: no queue's name has a dot. */
export const deadLetterIdSchema = z
  .string()
  .regex(new RegExp(`^(${deadLetterPlaces.join('|')})\\.[\\s\\S]+$`))
  .brand<'DeadLetterId'>();
export type DeadLetterId = z.infer<typeof deadLetterIdSchema>;

/** A job that no worker takes any more unless somebody puts it back. Without its data, which may be large. */
export interface ListedDeadLetter {
  readonly id: DeadLetterId;
  /** Where it came from, and goes back to. */
  readonly queue: DeadLetterQueue;
  readonly name: string;
  /** The account that its data names, as the data of every job of an account does. */
  readonly accountId: AccountId | undefined;
  /** Why it is one, for people. */
  readonly reason: string;
  /** Milliseconds since the Unix epoch. */
  readonly failedAt: number;
  /** Runs that failed. */
  readonly attemptsMade: number;
}

export interface DeadLetter extends ListedDeadLetter {
  /** Its id where it came from. */
  readonly jobId: string;
  /** The job's data as it is stored, which need not be JSON. */
  readonly dataText: string;
}

export function deadLetterIdOf(place: DeadLetterPlace, jobId: string): DeadLetterId {
  return `${place}.${jobId}` as DeadLetterId;
}

export function parseDeadLetterId(id: DeadLetterId): {
  readonly place: DeadLetterPlace;
  readonly jobId: string;
} {
  const dot = id.indexOf('.');
  return { place: id.slice(0, dot) as DeadLetterPlace, jobId: id.slice(dot + 1) };
}
