import type { AccountId } from '@hookferry/core/domain/account';
import { endpointRefsSchema } from '@hookferry/core/domain/endpoint';
import {
  EVENT_TYPE_NAME_FORM,
  type EventId,
  type EventStatus,
  eventGroupSchema,
  eventIdSchema,
  eventStatuses,
  statusOfEvent,
} from '@hookferry/core/domain/event';
import { catalogue } from '@hookferry/core/event-types/built-in';
import type { DeliveryCounts, ListedEvent } from '@hookferry/core/history/history-source';
import * as history from '@hookferry/core/history/read-events';
import * as erasure from '@hookferry/core/operations/erase-payload';
import { AppError, invalidRequest, validationErrorsOf } from '@hookferry/core/platform/app-error';
import { formatTime, formatTimeOrNull, sentTimeSchema, timeSchema } from '@hookferry/core/platform/clock';
import { inWords } from '@hookferry/core/platform/zod-words';
import { invalidEvent, type PublishedEvent } from '@hookferry/core/publish/accept-events';
import * as scheduling from '@hookferry/core/publish/schedule-events';
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
    type: z.string().meta(EVENT_TYPE_NAME_FORM),
    data: z.unknown(),
    id: eventIdSchema.optional(),
    webhook_ids: endpointRefsSchema.optional(),
    deliver_at: sentTimeSchema
      .optional()
      .describe('When to send it; up to a minute ago is now. Absent: at once.'),
    group: eventGroupSchema
      .optional()
      .describe(
        'What it belongs to, such as an order. Webhooks may ask for the events of a group in their order.',
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
  audit: { notAudited: 'An event is a record of its own.' },
  request: { body: publishedEventSchema, hasEventData: true, dataAt: ['data'], example: firstExample },
  creates: true,
  stores: 'event',
  mayAssume: true,
  responses: {
    202: { description: 'Accepted: it is stored and will be delivered.', schema: acceptedSchema },
    200: { description: 'It had been accepted before, under the same id.', schema: acceptedSchema },
    207: cloudEventsOutcome,
  },
  problems: ['event_id_conflict', 'deliver_at_in_past', 'deliver_at_too_far'],
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
    200: { description: 'An outcome for each event, in their order.', schema: outcomesSchema },
  },
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
  return z.strictObject({ events: z.array(item).min(1).max(MAX_EVENTS) });
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
        '`scheduled`: the events that wait for their time, those that are due next first, and from `since` to `until` by when they are due. They are in no other list.',
    }),
    type: z.string().min(1).optional(),
    ...dataQuery,
    ...timeRangeQuery,
  })
  .refine(...isInOrder)
  .refine(({ status, type, data }) => status === undefined || (type === undefined && data === undefined), {
    path: ['status'],
    message: 'can not be asked for together with "type" or "data"',
  });

const eventHeadSchema = z.object({
  id: z.string().describe("The event's id, which receivers get as `webhook-id`."),
  type: z.string().meta({ example: 'keyword.quick_win' }),
  created_at: timeSchema.meta({ description: 'When it was published.' }),
  status: z.enum(eventStatuses).meta({
    description:
      '`scheduled`: it waits for its time. `cancelled`: it was cancelled before that, and is sent to nobody.',
  }),
  deliver_at: timeSchema
    .nullable()
    .meta({ description: 'When it is due, was, or would have been; null: it was sent at once.' }),
  payload_erased_at: timeSchema
    .nullable()
    .meta({ description: 'When its data was erased, for good; null: it was not.' }),
});

const listedEventSchema = eventHeadSchema
  .extend({ delivery_count: z.int().min(0) })
  .meta({ id: 'ListedEvent' });

/** The number of its deliveries, in total and by status. */
const deliveryCountsSchema = z
  .object({
    total: z.int().describe('All deliveries of the event.'),
    pending: z.int().describe('On their way, or waiting for their next attempt.'),
    held: z.int().describe('Held back without using attempts, until their webhook can take them.'),
    delivered: z.int().describe('Accepted by the receiver.'),
    exhausted: z.int().describe('Ended because every attempt failed.'),
    aborted: z.int().describe('Ended because the receiver answered 410.'),
    cancelled: z.int().describe('Ended because their webhook or the data was deleted.'),
    superseded: z.int().describe('Ended for a newer event of their group.'),
  } satisfies Record<keyof DeliveryCounts, z.ZodType>)
  .meta({ id: 'DeliveryCounts' });

const eventSchema = eventHeadSchema
  .extend({
    group: z.string().nullable().describe('What it belongs to, if it was published with that.'),
    deliveries: deliveryCountsSchema,
    data: z.unknown().meta({ description: 'As it was published; null once `payload_erased_at` is not.' }),
  })
  .meta({ id: 'Event' });

export const listEvents = defineRoute({
  operationId: 'listEvents',
  summary: 'List what was published',
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
    created_at: formatTime(schedule?.publishedAt ?? createdAt),
    status: statusOfEvent(event),
    deliver_at: formatTimeOrNull(schedule?.deliverAt),
    payload_erased_at: formatTimeOrNull(erasedAt),
  };
}

export const rescheduleEvent = defineRoute({
  operationId: 'rescheduleEvent',
  summary: 'Move a scheduled event to another time',
  method: 'patch',
  audit: 'event.reschedule',
  path: '/v1/events/:id',
  scope: 'events:write',
  capability: 'schedule',
  request: {
    params: eventParams,
    body: z
      .strictObject({ deliver_at: sentTimeSchema.describe('When to send it; up to a minute ago is now.') })
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

/** It stays on record. Repeating it changes nothing. */
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
    204: { description: 'It is cancelled: it is sent to nobody, and stays in the list of events.' },
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
    204: { description: 'It is erased for good, and what was pending of it is not sent any more.' },
  },
  problems: ['history_unavailable'],
  async handle({ apiKey, params, act }, context) {
    await erasure.erasePayload(context, apiKey.accountId, params.id, act);
    return { status: 204 };
  },
});
