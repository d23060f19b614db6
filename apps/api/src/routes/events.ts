import type { AccountId } from '@hookferry/core/domain/account';
import {
  type EventId,
  type EventStatus,
  eventIdSchema,
  eventStatuses,
  eventTypeNameSchema,
  publishedAtOf,
  statusOfEvent,
} from '@hookferry/core/domain/event';
import { type DeliveryCounts, type ListedEvent, noDeliveries } from '@hookferry/core/history/history-source';
import { COUNTED_ON_A_PAGE, type CountedEvent } from '@hookferry/core/history/whole-history';
import { AppError } from '@hookferry/core/platform/app-error';
import { formatTime, formatTimeOrNull, sentTimeSchema, timeSchema } from '@hookferry/core/platform/clock';
import { textOfMember } from '@hookferry/core/platform/json';
import { alreadyCancelled, alreadyDue, type ScheduledPage } from '@hookferry/core/publish/scheduled-events';
import { z } from 'zod';
import type { ApiContext } from '../context';
import {
  dataQuery,
  eventCursorSchema,
  historyPageOf,
  isInOrder,
  pageQuery,
  presentHistoryPage,
  timeRangeQuery,
} from '../http/page';
import { defineRoute } from '../http/route';

const eventParams = z.object({ id: eventIdSchema });

const querySchema = pageQuery(eventCursorSchema)
  .extend({
    status: z.literal('scheduled', 'must be scheduled, or left out').optional().meta({
      description:
        '`scheduled`: only events that wait for their time, the next one first. `since` and `until` are about their `deliver_at` then. Default: only events that do not wait for their time.',
    }),
    type: eventTypeNameSchema.optional().describe('Only events of this type. Default: those of all types.'),
    ...dataQuery,
    ...timeRangeQuery('events that were accepted'),
    include: z
      .enum(['deliveries'])
      .optional()
      .describe(
        '`deliveries`: each event of the list has the number of its deliveries by status. Default: none has.',
      ),
  })
  .refine(...isInOrder)
  .refine(({ status, type, data }) => status === undefined || (type === undefined && data === undefined), {
    path: ['status'],
    message: 'cannot be combined with "type" or "data"',
  });

const eventHeadSchema = z.object({
  id: z.string().describe('The id of the event, which receivers get as `webhook-id`.'),
  type: z.string().meta({ example: 'order.created' }).describe('The type of the event.'),
  created_at: timeSchema.meta({ description: 'When the event was accepted.' }),
  status: z.enum(eventStatuses).meta({
    description:
      '`accepted`: it is delivered. `scheduled`: it waits for its time. `cancelled`: it was cancelled before its time, and is not delivered.',
  }),
  deliver_at: timeSchema
    .nullable()
    .meta({ description: 'The time to send it that the producer has set. Null: it was sent at once.' }),
  payload_erased_at: timeSchema
    .nullable()
    .meta({ description: 'When its payload was erased. Null: it was not.' }),
  request_id: z
    .string()
    .nullable()
    .describe(
      'The `X-Request-Id` of the request that published it first. Null: no request did, or it is not known.',
    ),
});

/** The number of its deliveries, in total and by status. */
const deliveryCountsSchema = z
  .object({
    total: z.int().describe('How many deliveries the event has.'),
    pending: z.int().describe('How many of them have an attempt that runs or is due.'),
    held: z
      .int()
      .describe('How many of them wait without using attempts, until their webhook can take them.'),
    delivered: z.int().describe('How many of them the receiver has accepted.'),
    exhausted: z.int().describe('How many of them ended because every attempt failed.'),
    aborted: z.int().describe('How many of them ended because the receiver responded with 410.'),
    cancelled: z.int().describe('How many of them ended because their webhook or the payload was deleted.'),
    superseded: z
      .int()
      .describe('How many of them ended because a newer event of their group replaced them.'),
  } satisfies Record<keyof DeliveryCounts, z.ZodType>)
  .meta({ id: 'DeliveryCounts' });

const listedEventSchema = eventHeadSchema
  .extend({
    delivery_count: z.int().min(0).describe('How many webhooks the event is delivered to.'),
    deliveries: deliveryCountsSchema
      .nullable()
      .optional()
      .describe(
        `The number of its deliveries, in total and by status. Present with \`include=deliveries\`. Null: they were not counted, since the page has more than ${COUNTED_ON_A_PAGE}, or the history is away. Read the event then.`,
      ),
  })
  .meta({ id: 'ListedEvent' });

const eventSchema = eventHeadSchema
  .extend({
    group: z.string().nullable().describe('The group of the event. Null: it was published without one.'),
    deliveries: deliveryCountsSchema.describe('The number of its deliveries, in total and by status.'),
    data: z
      .unknown()
      .meta({ description: 'The payload, byte for byte as it was published. Null: it was erased.' }),
  })
  .meta({ id: 'Event' });

export const listEvents = defineRoute({
  operationId: 'listEvents',
  summary: 'List events',
  method: 'get',
  path: '/v1/events',
  scope: 'deliveries:read',
  request: { query: querySchema },
  responses: {
    200: { description: 'A page of events.', schema: historyPageOf(listedEventSchema, 'EventPage') },
  },
  problems: ['history_unavailable'],
  async handle({ apiKey, query: { status, limit, cursor, include, ...filter } }, core) {
    if (status === 'scheduled') {
      const { since, until } = filter;
      const after = cursor && { id: cursor.eventId, at: cursor.createdAt };
      const { found, nextCursor } = await core.scheduledEvents.list(apiKey.accountId, limit, {
        since,
        until,
        after,
      });
      const next = nextCursor && { createdAt: nextCursor.at, eventId: nextCursor.id };
      const events = found.map((event) => ({
        ...presentScheduled(event),
        // Those are made when it is due.
        ...(include && { deliveries: noDeliveries() }),
      }));
      return { status: 200, body: presentHistoryPage(events, { nextCursor: next }) };
    }
    const page = await core.history.listEvents({ accountId: apiKey.accountId, ...filter }, limit, cursor);
    const part = { ...page, searchedBackTo: page.nextCursor?.createdAt };
    const counts =
      include === 'deliveries' ? await core.history.countEach(apiKey.accountId, page.found) : undefined;
    const events = page.found.map((event, i) => ({
      ...presentListedEvent(event),
      ...(counts && { deliveries: counts[i] ?? null }),
    }));
    return { status: 200, body: presentHistoryPage(events, part) };
  },
});

export const readEvent = defineRoute({
  operationId: 'readEvent',
  summary: 'Read an event with its data',
  method: 'get',
  path: '/v1/events/:id',
  scope: 'deliveries:read',
  request: { params: eventParams },
  responses: {
    200: { description: 'The event.', schema: eventSchema },
  },
  problems: ['history_unavailable'],
  async handle({ apiKey, params }, core) {
    const found = await core.history.readEvent(apiKey.accountId, params.id);
    return { status: 200, bodyText: presentEvent(found) };
  },
});

function presentScheduled({ id, head }: ScheduledPage['found'][number]): z.infer<typeof listedEventSchema> {
  return { ...presentHead({ id, createdAt: head.acceptedAt, ...head }), delivery_count: 0 };
}

/** An event in a list: without its data. */
function presentListedEvent(event: ListedEvent): z.infer<typeof listedEventSchema> {
  return { ...presentHead(event), delivery_count: event.deliveryCount };
}

/** A single event as JSON text: its data is the sent text, byte for byte, which parsing would lose. */
function presentEvent({ event, counts: deliveries }: CountedEvent): string {
  const { acceptedAt: createdAt, group = null, body } = event;
  const shown: Omit<z.infer<typeof eventSchema>, 'data'> = {
    ...presentHead({ ...event, createdAt }),
    group,
    deliveries,
  };
  const dataText = (body === undefined ? undefined : textOfMember(body, 'data')) ?? 'null';
  return `${JSON.stringify(shown).slice(0, -1)},"data":${dataText}}`;
}

type EventHead = Omit<ListedEvent, 'deliveryCount'>;

function presentHead(event: EventHead): z.infer<typeof eventHeadSchema> {
  const { id, type, createdAt, schedule, erasedAt, requestId = null } = event;
  return {
    id,
    type,
    created_at: formatTime(publishedAtOf({ acceptedAt: createdAt, schedule })),
    status: statusOfEvent(event),
    deliver_at: formatTimeOrNull(schedule?.deliverAt),
    payload_erased_at: formatTimeOrNull(erasedAt),
    request_id: requestId,
  };
}

export const rescheduleEvent = defineRoute({
  operationId: 'rescheduleEvent',
  summary: 'Reschedule an event',
  method: 'patch',
  audit: 'event.reschedule',
  path: '/v1/events/:id',
  scope: 'events:write',
  capability: 'schedule',
  request: {
    params: eventParams,
    body: z
      .strictObject({
        deliver_at: sentTimeSchema.describe(
          'When to send it instead, at most `SCHEDULE_MAX` of the service ahead. A time of up to a minute ago means now.',
        ),
      })
      .meta({ id: 'EventChange' }),
    example: { deliver_at: '2030-01-31T12:00:00Z' },
  },
  responses: {
    200: { description: 'The event, with its new time.', schema: eventSchema },
  },
  problems: ['already_due', 'conflict', 'deliver_at_in_past', 'deliver_at_too_far', 'history_unavailable'],
  async handle({ apiKey, act, params, body }, core) {
    const { accountId } = apiKey;
    try {
      await core.scheduledEvents.reschedule(accountId, params.id, body.deliver_at, act);
    } catch (error) {
      const status = await statusOfMoved(core, accountId, params.id, error);
      throw status === 'cancelled' ? alreadyCancelled() : alreadyDue();
    }
    const found = await core.history.readEvent(accountId, params.id);
    return { status: 200, bodyText: presentEvent(found) };
  },
});

/** The event stays in the list. Repeating it changes nothing. */
export const cancelEvent = defineRoute({
  operationId: 'cancelEvent',
  summary: 'Cancel a scheduled event',
  method: 'delete',
  audit: 'event.cancel',
  path: '/v1/events/:id',
  scope: 'events:write',
  capability: 'schedule',
  request: { params: eventParams },
  responses: {
    204: { description: 'The event is cancelled: it is not delivered, and stays in the list of events.' },
  },
  problems: ['already_due', 'history_unavailable'],
  async handle({ apiKey, act, params }, core) {
    const { accountId } = apiKey;
    try {
      await core.scheduledEvents.cancel(accountId, params.id, act);
    } catch (error) {
      const status = await statusOfMoved(core, accountId, params.id, error);
      if (status !== 'cancelled') throw alreadyDue();
    }
    return { status: 204 };
  },
});

/** Of an event that waits no longer, and that the history has. @throws the error for any other event. */
async function statusOfMoved(
  core: ApiContext,
  accountId: AccountId,
  eventId: EventId,
  error: unknown,
): Promise<EventStatus> {
  if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
  return statusOfEvent((await core.history.readEvent(accountId, eventId)).event);
}

/** The event stays recorded without it. Repeating it changes nothing. */
export const erasePayload = defineRoute({
  operationId: 'erasePayload',
  summary: "Erase an event's payload",
  method: 'delete',
  path: '/v1/events/:id/payload',
  scope: 'events:write',
  audit: 'event.erase_payload',
  request: { params: eventParams },
  responses: {
    204: { description: 'The payload is erased for good. Pending deliveries of the event are cancelled.' },
  },
  problems: ['history_unavailable'],
  async handle({ apiKey, params, act }, core) {
    await core.payloadErasure.erase(apiKey.accountId, params.id, act);
    return { status: 204 };
  },
});
