import { createHash } from 'node:crypto';
import { AppError } from '../errors/app-error';
import { faultsOf } from '../errors/zod-faults';
import { type AcceptedEvent, EVENT_ID_PREFIX, type EventId } from '../events/event';
import { validateEvent } from '../events/validate-event';
import { encodeBytes, encodeTime } from '../runtime/ids';
import { acceptedEventSchema, publishedEventSchema } from './event-job';

/** What is needed of a job on the events queue. */
export interface EventJob {
  readonly id: string;
  /** The event's type. */
  readonly name: string;
  /** When it was pushed. Milliseconds since the Unix epoch. */
  readonly timestamp: number;
  readonly data: unknown;
}

export interface ReadEvent {
  readonly event: AcceptedEvent;
  /** Which door it came in by. */
  readonly source: 'http' | 'queue';
}

/**
 * The event in a job: as the API sealed it, or as a producer pushed it, in which case it is checked just as the
 * API would have done.
 *
 * @throws AppError `invalid_request` or `payload_too_large` when it is no valid event.
 */
export function readEventJob(job: EventJob, maxBytes: number): ReadEvent {
  const accepted = acceptedEventSchema.safeParse(job.data);
  if (!accepted.success) return { event: readPublished(job, maxBytes), source: 'queue' };
  const { id, account_id, body, accepted_at } = accepted.data;
  return {
    event: { id, accountId: account_id, type: job.name, body, acceptedAt: accepted_at },
    source: 'http',
  };
}

function readPublished(job: EventJob, maxBytes: number): AcceptedEvent {
  const parsed = publishedEventSchema.safeParse(job.data);
  if (!parsed.success) {
    throw new AppError('invalid_request', 'The job is not an event: see "errors".', {
      faults: faultsOf(parsed.error),
    });
  }
  const { id, account_id, type, data } = parsed.data;
  return {
    id: id ?? idOfJob(job),
    accountId: account_id,
    type,
    body: validateEvent({ type, data }, maxBytes),
    acceptedAt: job.timestamp,
  };
}

// A job that is processed twice must give the same event, so its id comes from what the job has for itself.
function idOfJob({ id, timestamp }: EventJob): EventId {
  const digest = createHash('sha256').update(`${id}:${timestamp}`).digest();
  return `${EVENT_ID_PREFIX}_${encodeTime(timestamp)}${encodeBytes(digest, 12)}` as EventId;
}
