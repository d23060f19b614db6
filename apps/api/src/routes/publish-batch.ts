import type { Acceptance, AcceptEvents, PublishedEvent } from '@hookferry/core/intake/accept-events';
import { invalidEvent } from '@hookferry/core/intake/validate-event';
import { AppError, type Fault, faultSchema } from '@hookferry/core/kernel/app-error';
import { faultsOf, invalidRequest } from '@hookferry/core/kernel/faults';
import { inWords } from '@hookferry/core/kernel/zod-words';
import { z } from 'zod';
import { EACH } from '../http/json-walk';
import { codeSchema, statusOf } from '../http/problem';
import { defineRoute } from '../http/route';
import { acceptedSchema, presentAccepted, publishedEventSchema, toPublishedEvent } from './published-event';

const acceptedOfBatchSchema = acceptedSchema
  .extend({ status: z.literal([200, 202]) })
  .meta({ id: 'AcceptedOfBatch' });

const refusedOfBatchSchema = z
  .object({
    status: z.int(),
    error: z
      .object({ code: codeSchema, detail: z.string(), errors: z.array(faultSchema).optional() })
      .meta({ id: 'BatchError' }),
  })
  .meta({ id: 'RefusedOfBatch' });

const outcomeSchema = z
  .object({ data: z.array(z.union([acceptedOfBatchSchema, refusedOfBatchSchema])) })
  .meta({ id: 'BatchOutcome' });

const MAX_EVENTS = 500;

const bodySchema = batchOf(z.unknown());
// As many as the deliveries of a request that the API makes itself.
const MAX_AIMED_AT = 1_000;
const MAX_BODY_BYTES = 5 * 1024 * 1024;

/** Each event has an answer of its own, as if it had been published alone; one that is refused sinks no other. */
export function publishBatch(acceptEvents: AcceptEvents) {
  return defineRoute({
    operationId: 'publishBatch',
    summary: 'Publish up to 500 events',
    method: 'post',
    path: '/v1/events/batch',
    scope: 'events:write',
    request: {
      body: bodySchema,
      // What each event must be is said in its own outcome, if it is not.
      describedBody: batchOf(publishedEventSchema).meta({ id: 'EventBatch' }),
      hasEventData: true,
      dataAt: ['events', EACH, 'data'],
    },
    maxBodyBytes: MAX_BODY_BYTES,
    creates: true,
    stores: 'event',
    responses: {
      200: { description: 'An outcome for each event, in their order.', schema: outcomeSchema },
    },
    async handle({ apiKey, endpointsVersion, body, dataTexts, requestId, trace, spend, newId, receivedAt }) {
      // The request itself is counted already.
      if (body.events.length > 1) await spend(body.events.length - 1);
      requireFewAimedAt(body.events);
      const events = body.events.map((item, index) => readItem(item, dataTexts[index] ?? ''));
      const { accountId } = apiKey;
      const outcomes = await acceptEvents({
        accountId,
        endpointsVersion,
        requestId,
        trace,
        newId,
        receivedAt,
        events,
      });
      return { status: 200, body: { data: outcomes.map(presentOutcome) } };
    },
  });
}

function batchOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({ events: z.array(item).min(1).max(MAX_EVENTS) });
}

function readItem(item: unknown, dataText: string): PublishedEvent | AppError {
  const parsed = publishedEventSchema.safeParse(item, inWords);
  return parsed.success ? toPublishedEvent(parsed.data, dataText) : invalidEvent(faultsOf(parsed.error));
}

// Before each is looked at: a body has room for hundreds of thousands.
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

function presentOutcome(outcome: Acceptance | AppError, index: number) {
  if (!(outcome instanceof AppError)) {
    return { status: outcome.isNew ? 202 : 200, ...presentAccepted(outcome.event) };
  }
  const { code, message, faults } = outcome;
  const errors = faults.map((fault) => withinBatch(fault, index));
  return {
    status: statusOf(code),
    error: { code, detail: message, ...(errors.length === 0 ? {} : { errors }) },
  };
}

// Pointers lead into the whole body, as everywhere.
function withinBatch({ pointer, detail }: Fault, index: number): Fault {
  return { pointer: `/events/${index}${pointer}`, detail };
}
