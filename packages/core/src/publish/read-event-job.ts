import type { z } from 'zod';
import { type AcceptedEvent, EVENT_ID_PREFIX, type EventId } from '../domain/event';
import { lookUpEndpoints } from '../endpoints/resolve-endpoints';
import { AppError, validationErrorsOf } from '../platform/app-error';
import { derivedId } from '../platform/ids';
import { inWords } from '../platform/zod-words';
import { acceptedEventSchema, type EventJob, publishedEventSchema } from '../queue/bullmq-event-queue';
import type { PublishingParts } from './publishing-parts';
import { scheduleOf } from './scheduled-events';
import { tooDeep, validateEvent } from './validate-event';

export interface ReadEvent {
  readonly event: AcceptedEvent;
  /** How the event arrived. */
  readonly source: 'http' | 'queue';
}

/**
 * Read the event in a job: as the API sealed it, or as a producer pushed it. A producer's event is checked
 * just as the API would have done.
 *
 * @throws AppError `invalid_request` or `payload_too_large` when it is not a valid event, `quota_exceeded`
 *   when its account stores as much as it may: never for events that the API has accepted.
 */
export async function readEventJob(parts: PublishingParts, job: EventJob): Promise<ReadEvent> {
  const accepted = acceptedEventSchema.safeParse(job.data);
  return accepted.success
    ? { event: readAccepted(job, accepted.data), source: 'http' }
    : { event: await readPublished(parts, job), source: 'queue' };
}

// The API has looked up the endpoints. One that was deleted since then gets nothing, as at any other time.
function readAccepted(
  { name }: EventJob,
  {
    id,
    account_id,
    body,
    accepted_at,
    webhook_ids,
    trace,
    group,
    request_id,
  }: z.output<typeof acceptedEventSchema>,
): AcceptedEvent {
  return {
    id,
    accountId: account_id,
    type: name,
    body,
    acceptedAt: accepted_at,
    ...(webhook_ids === undefined ? {} : { endpointIds: webhook_ids }),
    ...(trace === undefined ? {} : { trace }),
    ...(group === undefined ? {} : { group }),
    ...(request_id === undefined ? {} : { requestId: request_id }),
  };
}

async function readPublished(parts: PublishingParts, job: EventJob): Promise<AcceptedEvent> {
  const {
    id = idOfJob(job),
    account_id: accountId,
    type,
    data,
    webhook_ids,
    trace,
    deliver_at,
    group,
  } = parsePublished(job);
  const now = parts.clock();
  // With a producer's clock that is ahead, all earlier events would soon count as too old to keep.
  const pushedAt = Math.min(publishedAt(job), now);
  // By the time at which it was pushed, because the queue may have stood still since.
  const schedule = scheduleOf(deliver_at, pushedAt, parts.scheduleMaxMs);
  const dueAt = schedule?.deliverAt ?? pushedAt;
  // The same, or its producer's clock is far behind: it would end unsent.
  const isOver = dueAt <= now - parts.retention.ageMs;
  await parts.quota.requireRoomAsKnown(accountId, 'queue');
  const body = await validateEvent(parts.eventTypeStore, parts.maxEventBytes, {
    type,
    data,
    dataText: textOf(data),
  });
  const endpointIds = webhook_ids && (await lookUpEndpoints(parts, accountId, webhook_ids))(webhook_ids);
  return {
    id,
    accountId,
    type,
    body,
    acceptedAt: isOver ? now : dueAt,
    ...(schedule === undefined || isOver ? {} : { schedule }),
    ...(endpointIds === undefined ? {} : { endpointIds }),
    ...(trace === undefined ? {} : { trace }),
    ...(group === undefined ? {} : { group }),
  };
}

function parsePublished(job: EventJob): z.output<typeof publishedEventSchema> {
  const parsed = publishedEventSchema.safeParse(job.data, inWords);
  if (!parsed.success) {
    throw new AppError('invalid_request', 'The job is not an event: see "errors".', {
      validationErrors: validationErrorsOf(parsed.error),
    });
  }
  return parsed.data;
}

// BullMQ has parsed it, so this is the closest available to the producer's text.
function textOf(data: unknown): string {
  try {
    return JSON.stringify(data) ?? '';
  } catch (error) {
    // Data parsed from JSON can't be serialised again for one reason only: the stack is too short for its
    // depth.
    throw tooDeep(error);
  }
}

// A job that is processed twice must give the same event, so its id comes from the job's own data.
function idOfJob(job: EventJob): EventId {
  return derivedId(EVENT_ID_PREFIX, publishedAt(job), `${job.id}:${job.timestamp}`) as EventId;
}

// An event that was delayed for longer than the retention would be too old from the first moment.
function publishedAt({ timestamp, delay = 0 }: EventJob): number {
  return timestamp + delay;
}
