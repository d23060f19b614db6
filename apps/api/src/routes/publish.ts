import { CLOUDEVENTS_TYPE } from '@hookferry/core/deliver/cloudevents';
import { endpointRefsSchema } from '@hookferry/core/domain/endpoint';
import {
  type AcceptedEvent,
  EVENT_TYPE_NAME_FORM,
  eventGroupSchema,
  eventIdSchema,
  eventStatuses,
  statusOfEvent,
} from '@hookferry/core/domain/event';
import {
  AppError,
  invalidRequest,
  validationErrorSchema,
  validationErrorsOf,
} from '@hookferry/core/platform/app-error';
import { formatTime, formatTimeOrNull, sentTimeSchema, timeSchema } from '@hookferry/core/platform/clock';
import { inWords } from '@hookferry/core/platform/zod-words';
import type { Acceptance, PublishedEvent } from '@hookferry/core/publish/publishing';
import { invalidEvent } from '@hookferry/core/publish/validate-event';
import { z } from 'zod';
import type { ApiContext } from '../context';
import { EACH } from '../http/json-walk';
import { codeSchema, statusOf } from '../http/problem';
import { type BodyForm, defineRoute, type RouteReply, type RouteRequest } from '../http/route';
import {
  CLOUDEVENT_PREFIX,
  cloudEventExample,
  newCloudEventSchema,
  pointingIntoHeaders,
  readCloudEvent,
  readCloudEventInHeaders,
} from './publish-cloudevents';

/** Of one request. */
const MAX_EVENTS = 500;

const MAX_BATCH_BYTES = 5 * 1024 * 1024;

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

const acceptedSchema = z
  .object({
    id: z.string().describe('The id of the event: yours, or a generated one.'),
    type: z.string().describe('The type of the event.'),
    created_at: timeSchema.describe('When the event was accepted.'),
    status: z.enum(eventStatuses).meta({
      description:
        'The status of the event: `scheduled` until it is due, `accepted` from then on, or `cancelled`.',
    }),
    deliver_at: timeSchema.nullable().meta({ description: 'When the event is sent. Null: at once.' }),
  })
  .meta({ id: 'AcceptedEvent' });

const acceptedOfBatchSchema = acceptedSchema
  .extend({
    status_code: z
      .literal([200, 202])
      .describe('202: the event is accepted. 200: an event with this id was accepted before.'),
  })
  .meta({ id: 'AcceptedOfBatch' });

const refusedOfBatchSchema = z
  .object({
    status_code: z.int().describe('The HTTP status of the error, as if the event had been published alone.'),
    error: z
      .object({
        code: codeSchema.describe('The kind of error, for programs.'),
        detail: z.string().describe('What is wrong with the event, in a sentence for people.'),
        errors: z
          .array(validationErrorSchema)
          .optional()
          .describe('Each fault of the event. Absent for errors that are about no member.'),
      })
      .meta({ id: 'BatchError' })
      .describe('Why the event was refused, as if it had been published alone.'),
  })
  .meta({ id: 'RefusedOfBatch' });

const outcomesSchema = z
  .object({
    data: z
      .array(z.union([acceptedOfBatchSchema, refusedOfBatchSchema]))
      .describe('The outcome of each event, in the order of the request.'),
  })
  .meta({ id: 'BatchOutcome' });

const cloudEvent: BodyForm = {
  mediaType: CLOUDEVENTS_TYPE,
  request: {
    body: z.unknown(),
    describedBody: newCloudEventSchema,
    hasEventData: true,
    dataAt: ['data'],
    example: cloudEventExample,
  },
  async handle(request, core) {
    const event = readCloudEvent(request.body, request.dataTexts[0] ?? '');
    const [outcome] = await publish(request, core, [event]);
    return presentSingle(outcome);
  },
};

const CLOUDEVENTS_BATCH_TYPE = 'application/cloudevents-batch+json';

const cloudEventBatch: BodyForm = {
  mediaType: CLOUDEVENTS_BATCH_TYPE,
  request: {
    body: z.array(z.unknown()).min(1).max(MAX_EVENTS),
    describedBody: z.array(newCloudEventSchema).min(1).max(MAX_EVENTS).meta({ id: 'NewCloudEventBatch' }),
    hasEventData: true,
    dataAt: [EACH, 'data'],
    example: [cloudEventExample, { ...cloudEventExample, id: '4712' }],
  },
  maxBodyBytes: MAX_BATCH_BYTES,
  async handle(request, core) {
    const items = request.body as readonly unknown[];
    await spendOnOthers(request, items.length);
    const events = items.map((item, index) => readCloudEvent(item, request.dataTexts[index] ?? ''));
    return { status: 207, body: presentOutcomes(await publish(request, core, events), '') };
  },
};

const cloudEventInHeaders: BodyForm = {
  mediaType: 'application/json',
  header: { name: 'ce-specversion', prefix: CLOUDEVENT_PREFIX },
  description:
    'With the header `ce-specversion: 1.0`, a body of `application/json` is the data alone, and the attributes of the CloudEvent are headers: `ce-id`, `ce-source`, `ce-type`, `ce-time`, `ce-partitionkey`, percent-encoded where they are not ASCII.',
  // The body is the data.
  request: { body: z.unknown(), hasEventData: true, dataAt: [] },
  async handle(request, core) {
    try {
      const [outcome] = await publish(request, core, [readCloudEventInHeaders(request)]);
      return presentSingle(outcome);
    } catch (error) {
      throw error instanceof AppError ? pointingIntoHeaders(error) : error;
    }
  },
};

const example = { type: 'order.created', data: { id: 'ord_4711', total: 99.5 } };

/** 202 is sent only after Redis has the event; 200 when it had it before, under the client's id. */
export const publishEvent = defineRoute({
  operationId: 'publishEvent',
  summary: 'Publish an event',
  method: 'post',
  path: '/v1/events',
  scope: 'events:write',
  capability: 'publish',
  audit: { notAudited: 'An event is a record of its own.' },
  request: { body: publishedEventSchema, hasEventData: true, dataAt: ['data'], example },
  creates: true,
  stores: 'event',
  mayAssume: true,
  responses: {
    202: { description: 'Accepted: the event is stored and will be delivered.', schema: acceptedSchema },
    200: {
      description: 'An event with this id was accepted before. It is not delivered again.',
      schema: acceptedSchema,
    },
    207: {
      description: `The outcome of each event of a batch (\`${CLOUDEVENTS_BATCH_TYPE}\`), in their order.`,
      schema: outcomesSchema,
    },
  },
  problems: [
    'event_id_conflict',
    'deliver_at_in_past',
    'deliver_at_too_far',
    'clock_skewed',
    'history_unavailable',
  ],
  otherForms: [cloudEvent, cloudEventBatch, cloudEventInHeaders],
  async handle(request, core) {
    const { body, dataTexts } = request;
    const [outcome] = await publish(request, core, [toPublishedEvent(body, dataTexts[0] ?? '')]);
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
    example: {
      events: [
        { ...example, id: 'order-4711' },
        { ...example, type: 'order.paid' },
      ],
    },
  },
  maxBodyBytes: MAX_BATCH_BYTES,
  creates: true,
  stores: 'event',
  mayAssume: true,
  responses: {
    207: { description: 'The outcome of each event, in the order of the request.', schema: outcomesSchema },
  },
  problems: ['clock_skewed', 'history_unavailable'],
  async handle(request, core) {
    const { body, dataTexts } = request;
    await spendOnOthers(request, body.events.length);
    requireFewAimedAt(body.events);
    const events = body.events.map((item, index) => readItem(item, dataTexts[index] ?? ''));
    const outcomes = await publish(request, core, events);
    return { status: 207, body: presentOutcomes(outcomes, '/events') };
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

type Outcome = Acceptance | AppError;

/** @throws AppError `clock_skewed`. */
async function publish(
  request: RouteRequest,
  { redisClock, publishing }: ApiContext,
  events: readonly (PublishedEvent | AppError)[],
): Promise<Outcome[]> {
  if (!redisClock.isTrusted) await redisClock.requireTrusted();
  return await publishing.accept(request, events);
}

/** Count the events of a batch by the rate limit: the request itself is counted already. */
async function spendOnOthers({ spend }: RouteRequest, count: number): Promise<void> {
  if (count > 1) await spend(count - 1);
}

/** The reply to a request with one event. @throws AppError its own. */
function presentSingle(outcome: Outcome | undefined): RouteReply {
  if (outcome === undefined || outcome instanceof AppError) throw outcome;
  return { status: outcome.isNew ? 202 : 200, body: presentAccepted(outcome.event) };
}

function presentAccepted(event: AcceptedEvent): z.infer<typeof acceptedSchema> {
  const { id, type, acceptedAt, schedule } = event;
  return {
    id,
    type,
    created_at: formatTime(schedule?.publishedAt ?? acceptedAt),
    status: statusOfEvent(event),
    deliver_at: formatTimeOrNull(schedule?.deliverAt),
  };
}

/**
 * The outcome of each event of a batch.
 *
 * @param at where the list of events is in the body: pointers lead into the whole body, as everywhere.
 */
function presentOutcomes(outcomes: readonly Outcome[], at: string): z.infer<typeof outcomesSchema> {
  return { data: outcomes.map((outcome, index) => presentOutcome(outcome, `${at}/${index}`)) };
}

function presentOutcome(outcome: Outcome, at: string): z.infer<typeof outcomesSchema>['data'][number] {
  if (!(outcome instanceof AppError)) {
    return { ...presentAccepted(outcome.event), status_code: outcome.isNew ? 202 : 200 };
  }
  const { code, message, validationErrors } = outcome;
  const errors = validationErrors.map((fault) => ({ ...fault, pointer: at + fault.pointer }));
  return {
    status_code: statusOf(code),
    error: { code, detail: message, ...(errors.length === 0 ? {} : { errors }) },
  };
}
