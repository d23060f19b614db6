import { catalogue } from '@hookferry/core/accounts/event-types/built-in';
import type { AccountId } from '@hookferry/core/domain/account';
import { endpointRefsSchema } from '@hookferry/core/domain/endpoint';
import {
  EVENT_TYPE_NAME_FORM,
  type EventId,
  type EventStatus,
  eventGroupSchema,
  eventIdSchema,
  eventStatuses,
  eventTypeNameSchema,
  publishedAtOf,
  statusOfEvent,
} from '@hookferry/core/domain/event';
import type { DeliveryCounts, ListedEvent } from '@hookferry/core/history/history-source';
import * as history from '@hookferry/core/history/read-events';
import { AppError, invalidRequest, validationErrorsOf } from '@hookferry/core/platform/app-error';
import { formatTime, formatTimeOrNull, sentTimeSchema, timeSchema } from '@hookferry/core/platform/clock';
import { inWords } from '@hookferry/core/platform/zod-words';
import type { PublishedEvent } from '@hookferry/core/publish/accept-events';
import * as scheduling from '@hookferry/core/publish/schedule-events';
import { invalidEvent } from '@hookferry/core/publish/validate-event';
import { z } from 'zod';
import type { ApiContext } from '../context';
import { EACH } from '../http/json-walk';
import {
  dataQuery,
  eventCursorSchema,
  historyPageOf,
  isInOrder,
  pageQuery,
  presentHistoryPage,
  presentPage,
  timeRangeQuery,
} from '../http/page';
import { defineRoute } from '../http/route';
import {
  acceptedSchema,
  MAX_BATCH_BYTES,
  MAX_EVENTS,
  outcomesSchema,
  presentOutcomes,
  presentSingle,
  publish,
  spendOnOthers,
} from './publish';
import { cloudEventForms, cloudEventsOutcome } from './publish-cloudevents';

const eventParams = z.object({ id: eventIdSchema });

/** An event as clients publish it. The catalogue decides the form of `data`. */
const publishedEventSchema = z
  .strictObject({
    type: z
      .string()
      .meta(EVENT_TYPE_NAME_FORM)
      .describe('The event type: one of `GET /v1/event-types`, but no operational one.'),
    data: z
      .unknown()
      .describe('The payload. It must match the schema of the event type, and is delivered byte for byte.'),
    id: eventIdSchema
      .optional()
      .describe(
        'An id of your own. A later event with the same id is not delivered again. Default: a generated one.',
      ),
    webhook_ids: endpointRefsSchema
      .optional()
      .describe(
        'The only webhooks that get the event: their ids or `uid`s, 1 to 100. Default: all webhooks that get its type.',
      ),
    deliver_at: sentTimeSchema
      .optional()
      .describe(
        'When to send it, at most `SCHEDULE_MAX` of the service ahead. A time of up to a minute ago means now. Default: at once.',
      ),
    group: eventGroupSchema
      .optional()
      .describe(
        'The group of the event, such as the id of an order. A webhook with `"ordering": "group"` gets the events of a group in their order. At most 256 bytes. Default: none.',
      ),
  })
  .meta({ id: 'NewEvent' });

const [firstExample, ...otherExamples] = catalogue.map(({ name, example }) => ({
  type: name,
  data: example,
}));

/** 202 is sent only after Redis has the event; 200 when it had it before, under the client's id. */
export const publishEvent = defineRoute({
  operationId: 'publishEvent',
  summary: 'Publish an event',
  method: 'post',
  path: '/v1/events',
  scope: 'events:write',
  capability: 'publish',
  audit: { notAudited: 'An event is a record of its own.' },
  request: { body: publishedEventSchema, hasEventData: true, dataAt: ['data'], example: firstExample },
  creates: true,
  stores: 'event',
  mayAssume: true,
  responses: {
    202: { description: 'Accepted: the event is stored and will be delivered.', schema: acceptedSchema },
    200: {
      description: 'An event with this id was accepted before. It is not delivered again.',
      schema: acceptedSchema,
    },
    207: cloudEventsOutcome,
  },
  problems: ['event_id_conflict', 'deliver_at_in_past', 'deliver_at_too_far', 'clock_skewed'],
  otherForms: cloudEventForms,
  async handle(request, context) {
    const { body, dataTexts } = request;
    const [outcome] = await publish(request, context, [toPublishedEvent(body, dataTexts[0] ?? '')]);
    return presentSingle(outcome);
  },
});

/** @param dataText the JSON that its data were parsed from. */
function toPublishedEvent(
  { type, data, id, webhook_ids, deliver_at, group }: z.infer<typeof publishedEventSchema>,
  dataText: string,
): PublishedEvent {
  return {
    type,
    data,
    dataText,
    ...(id === undefined ? {} : { id }),
    ...(webhook_ids === undefined ? {} : { endpointRefs: webhook_ids }),
    ...(deliver_at === undefined ? {} : { deliverAt: deliver_at }),
    ...(group === undefined ? {} : { group }),
  };
}

const bodySchema = batchOf(z.unknown());
// As many as the deliveries of a request that the API makes itself.
const MAX_AIMED_AT = 1_000;
/**
 * Each event has a result of its own, as if it had been published alone; a refused one does not affect the
 * others.
 */
export const publishBatch = defineRoute({
  operationId: 'publishBatch',
  summary: 'Publish up to 500 events',
  method: 'post',
  path: '/v1/events/batch',
  scope: 'events:write',
  audit: { notAudited: 'An event is a record of its own.' },
  request: {
    body: bodySchema,
    // Errors of a single event are in its own result.
    describedBody: batchOf(publishedEventSchema).meta({ id: 'EventBatch' }),
    hasEventData: true,
    dataAt: ['events', EACH, 'data'],
    example: { events: [{ ...firstExample, id: 'quick-win-4711' }, ...otherExamples] },
  },
  maxBodyBytes: MAX_BATCH_BYTES,
  creates: true,
  stores: 'event',
  mayAssume: true,
  responses: {
    200: { description: 'The outcome of each event, in the order of the request.', schema: outcomesSchema },
  },
  problems: ['clock_skewed'],
  async handle(request, context) {
    const { body, dataTexts } = request;
    await spendOnOthers(request, body.events.length);
    requireFewAimedAt(body.events);
    const events = body.events.map((item, index) => readItem(item, dataTexts[index] ?? ''));
    const outcomes = await publish(request, context, events);
    return { status: 200, body: presentOutcomes(outcomes, '/events') };
  },
});

function batchOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    events: z
      .array(item)
      .min(1)
      .max(MAX_EVENTS)
      .describe('The events to publish: 1 to 500. Each is accepted or refused by itself.'),
  });
}

function readItem(item: unknown, dataText: string): PublishedEvent | AppError {
  const parsed = publishedEventSchema.safeParse(item, inWords);
  return parsed.success
    ? toPublishedEvent(parsed.data, dataText)
    : invalidEvent(validationErrorsOf(parsed.error));
}

// Before the events are checked: a body has room for hundreds of thousands.
function requireFewAimedAt(items: readonly unknown[]): void {
  let named = 0;
  for (const item of items) {
    const refs = (item as { readonly webhook_ids?: unknown } | null)?.webhook_ids;
    if (Array.isArray(refs)) named += refs.length;
  }
  if (named <= MAX_AIMED_AT) return;
  const detail = `must name at most ${MAX_AIMED_AT} webhooks in all "webhook_ids" together`;
  throw invalidRequest([{ pointer: '/events', detail }]);
}

const querySchema = pageQuery(eventCursorSchema)
  .extend({
    status: z.literal('scheduled', 'must be scheduled, or left out').optional().meta({
      description:
        '`scheduled`: only events that wait for their time, the next one first. `since` and `until` are about their `deliver_at` then. Default: only events that do not wait for their time.',
    }),
    type: eventTypeNameSchema.optional().describe('Only events of this type. Default: those of all types.'),
    ...dataQuery,
    ...timeRangeQuery('events that were accepted'),
  })
  .refine(...isInOrder)
  .refine(({ status, type, data }) => status === undefined || (type === undefined && data === undefined), {
    path: ['status'],
    message: 'cannot be combined with "type" or "data"',
  });

const eventHeadSchema = z.object({
  id: z.string().describe('The id of the event, which receivers get as `webhook-id`.'),
  type: z.string().meta({ example: 'keyword.quick_win' }).describe('The type of the event.'),
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
});

const listedEventSchema = eventHeadSchema
  .extend({
    delivery_count: z.int().min(0).describe('How many webhooks the event is delivered to.'),
  })
  .meta({ id: 'ListedEvent' });

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
    aborted: z.int().describe('How many of them ended because the receiver answered 410.'),
    cancelled: z.int().describe('How many of them ended because their webhook or the payload was deleted.'),
    superseded: z
      .int()
      .describe('How many of them ended because a newer event of their group replaced them.'),
  } satisfies Record<keyof DeliveryCounts, z.ZodType>)
  .meta({ id: 'DeliveryCounts' });

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
  async handle({ apiKey, query: { status, limit, cursor, ...filter } }, context) {
    if (status === 'scheduled') {
      const { since, until } = filter;
      const after = cursor && { id: cursor.eventId, at: cursor.createdAt };
      const { found, nextCursor } = await scheduling.listScheduled(context, apiKey.accountId, limit, {
        since,
        until,
        after,
      });
      const next = nextCursor && { createdAt: nextCursor.at, eventId: nextCursor.id };
      return { status: 200, body: presentPage(found.map(presentScheduled), next) };
    }
    const page = await context.history.listEvents({ accountId: apiKey.accountId, ...filter }, limit, cursor);
    return { status: 200, body: presentHistoryPage(page.found.map(presentListedEvent), page) };
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
  async handle({ apiKey, params }, context) {
    const event = await history.readEvent(context, apiKey.accountId, params.id);
    return { status: 200, bodyText: presentEvent(event) };
  },
});

function presentScheduled({
  id,
  head,
}: scheduling.ScheduledPage['found'][number]): z.infer<typeof listedEventSchema> {
  return { ...presentHead({ id, createdAt: head.acceptedAt, ...head }), delivery_count: 0 };
}

/** An event in a list: without its data. */
function presentListedEvent(event: ListedEvent): z.infer<typeof listedEventSchema> {
  return { ...presentHead(event), delivery_count: event.deliveryCount };
}

/** A single event as JSON text: its data is the sent text, byte for byte, which parsing would lose. */
function presentEvent({ dataText, deliveries, group, ...event }: history.PublishedEvent): string {
  const shown: Omit<z.infer<typeof eventSchema>, 'data'> = {
    ...presentHead(event),
    group: group ?? null,
    deliveries,
  };
  return `${JSON.stringify(shown).slice(0, -1)},"data":${dataText}}`;
}

type EventHead = Omit<ListedEvent, 'deliveryCount'>;

function presentHead(event: EventHead): z.infer<typeof eventHeadSchema> {
  const { id, type, createdAt, schedule, erasedAt } = event;
  return {
    id,
    type,
    created_at: formatTime(publishedAtOf({ acceptedAt: createdAt, schedule })),
    status: statusOfEvent(event),
    deliver_at: formatTimeOrNull(schedule?.deliverAt),
    payload_erased_at: formatTimeOrNull(erasedAt),
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
  async handle({ apiKey, act, params, body }, context) {
    const { accountId } = apiKey;
    await scheduling
      .rescheduleEvent(context, accountId, params.id, body.deliver_at, act)
      .catch(async (error: unknown) => {
        const status = await statusOfMoved(context, accountId, params.id, error);
        throw status === 'cancelled' ? scheduling.alreadyCancelled() : scheduling.alreadyDue();
      });
    const event = await history.readEvent(context, apiKey.accountId, params.id);
    return { status: 200, bodyText: presentEvent(event) };
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
  async handle({ apiKey, act, params }, context) {
    const { accountId } = apiKey;
    try {
      await scheduling.cancelEvent(context, accountId, params.id, act);
    } catch (error) {
      const status = await statusOfMoved(context, accountId, params.id, error);
      if (status !== 'cancelled') throw scheduling.alreadyDue();
    }
    return { status: 204 };
  },
});

/** Of an event that waits no longer, and that the history has. @throws the error for any other event. */
async function statusOfMoved(
  context: ApiContext,
  accountId: AccountId,
  eventId: EventId,
  error: unknown,
): Promise<EventStatus> {
  if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
  return statusOfEvent(await history.readEvent(context, accountId, eventId));
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
    await core.erasure.payload(apiKey.accountId, params.id, act);
    return { status: 204 };
  },
});
