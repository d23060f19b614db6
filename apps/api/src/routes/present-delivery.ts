import { NATIVE_HEADERS } from '@hookferry/core/deliver/cloudevents';
import { type Attempt, attemptOutcomeSchema, type TokenError } from '@hookferry/core/domain/attempt';
import { holdReasons, triggerSchema } from '@hookferry/core/domain/delivery';
import { eventIdSchema } from '@hookferry/core/domain/event';
import { tokenErrorCodes } from '@hookferry/core/domain/receiver-auth';
import { MASKED_VALUE } from '@hookferry/core/endpoints/endpoint-options';
import {
  type Delivery,
  type DeliveryWithAttempts,
  shownStatuses,
} from '@hookferry/core/history/delivery-standings';
import { formatTime, formatTimeOrNull, timeSchema } from '@hookferry/core/platform/clock';
import { z } from 'zod';

const deliveryStatusSchema = z.enum(shownStatuses).meta({ id: 'DeliveryStatus' });

const holdSchema = z
  .object({
    reason: z.enum(holdReasons).describe('What the delivery waits for.'),
    until: timeSchema.nullable().describe('Until when it waits; null: until something else changes.'),
  })
  .meta({ id: 'Hold' });

export const deliverySchema = z
  .object({
    id: z.string().describe("The delivery's id: the event's, a dot, and the webhook's."),
    event_id: z.string(),
    webhook_id: z.string(),
    type: z.string().meta({ example: 'keyword.quick_win' }),
    status: deliveryStatusSchema.describe(
      '`pending` or `held` while attempts are to come; otherwise how the delivery ended.',
    ),
    attempt_count: z.int(),
    last_outcome: attemptOutcomeSchema.nullable(),
    last_response_status: z.int().nullable(),
    next_attempt_at: timeSchema.nullable(),
    hold: holdSchema.nullable(),
    created_at: timeSchema.describe('When the event was accepted.'),
  })
  .meta({ id: 'Delivery' });

const phaseSchema = z.number().nullable();
const timingsSchema = z
  .object({
    dns_ms: phaseSchema,
    connect_ms: phaseSchema,
    tls_ms: phaseSchema,
    first_byte_ms: phaseSchema,
    total_ms: z.number(),
  })
  .meta({ id: 'Timings' });
const headersSchema = z.record(z.string(), z.string());

const tokenErrorSchema = z
  .object({
    status: z.int().nullable().describe('What it answered with; null: nothing came back.'),
    error: z.enum(tokenErrorCodes).nullable().describe('The OAuth error code, if it is a registered one.'),
  })
  .meta({ id: 'TokenError' });

export const attemptSchema = z
  .object({
    number: z.int(),
    trigger: triggerSchema,
    worker: z.string().nullable(),
    started_at: timeSchema,
    duration_ms: z.number(),
    timings: timingsSchema,
    outcome: attemptOutcomeSchema,
    request_headers: headersSchema,
    request_body: z
      .string()
      .nullable()
      .describe("What the webhook's transformation made, where it sent that; null: the event's own body."),
    transformation_version: z.int().nullable().describe('Of the code that made it.'),
    batch_id: z
      .string()
      .optional()
      .describe('The `webhook-id` of the request, where that was for several events; only then present.'),
    response_status: z.int().nullable(),
    response_headers: headersSchema.nullable(),
    response_body: z.string().nullable(),
    error: z
      .string()
      .nullable()
      .describe('What went wrong on the way, for people; null if there was an answer.'),
    token_error: tokenErrorSchema
      .optional()
      .describe('With the outcome `token_error`: what the token URL answered in place of an access token.'),
  })
  .meta({ id: 'Attempt' });

export const deliveryWithAttemptsSchema = deliverySchema
  .extend({
    superseded_by: eventIdSchema
      .optional()
      .describe('The newer event of its group that is sent in place of it, if it has ended so.'),
    attempts: z.array(attemptSchema),
  })
  .meta({ id: 'DeliveryWithAttempts' });

/** A delivery in a list. */
export function presentDelivery(delivery: Delivery): z.infer<typeof deliverySchema> {
  return {
    id: delivery.id,
    event_id: delivery.eventId,
    webhook_id: delivery.endpointId,
    type: delivery.type,
    status: delivery.status,
    attempt_count: delivery.attemptCount,
    last_outcome: delivery.lastOutcome ?? null,
    last_response_status: delivery.lastResponseStatus ?? null,
    next_attempt_at: formatTimeOrNull(delivery.nextAttemptAt),
    hold: delivery.hold
      ? { reason: delivery.hold.reason, until: formatTimeOrNull(delivery.hold.until) }
      : null,
    created_at: formatTime(delivery.createdAt),
  };
}

/** A single delivery, with each of its attempts. */
export function presentDeliveryWithAttempts(
  delivery: DeliveryWithAttempts,
): z.infer<typeof deliveryWithAttemptsSchema> {
  return {
    ...presentDelivery(delivery),
    ...(delivery.supersededBy === undefined ? {} : { superseded_by: delivery.supersededBy }),
    attempts: delivery.attempts.map((attempt) => presentAttempt(delivery, attempt)),
  };
}

export function presentAttempt(
  delivery: Pick<Delivery, 'eventId'>,
  attempt: Attempt,
): z.infer<typeof attemptSchema> {
  return {
    number: attempt.number,
    trigger: attempt.trigger ?? 'schedule',
    worker: attempt.worker ?? null,
    started_at: formatTime(attempt.startedAt),
    duration_ms: attempt.durationMs,
    timings: presentTimings(attempt),
    outcome: attempt.outcome,
    request_headers: presentRequestHeaders(delivery, attempt),
    request_body: attempt.transformed?.body ?? null,
    transformation_version: attempt.transformed?.version ?? null,
    ...(attempt.batchId === undefined ? {} : { batch_id: attempt.batchId }),
    response_status: attempt.responseStatus ?? null,
    response_headers: attempt.responseHeaders ?? null,
    response_body: attempt.responseBody ?? null,
    error: attempt.error ?? null,
    ...(attempt.tokenError === undefined ? {} : { token_error: presentTokenError(attempt.tokenError) }),
  };
}

function presentTokenError({ status, code }: TokenError): z.infer<typeof tokenErrorSchema> {
  return { status: status ?? null, error: code ?? null };
}

// Headers that follow from the rest of the record are not stored beside it; signatures and the endpoint's own
// values must not be readable here.
function presentRequestHeaders(
  { eventId }: Pick<Delivery, 'eventId'>,
  { number, startedAt, addedHeaders = [], contentHeaders = NATIVE_HEADERS, batchId }: Attempt,
) {
  return {
    ...Object.fromEntries(addedHeaders.map((name) => [name, MASKED_VALUE])),
    ...contentHeaders,
    'webhook-id': batchId ?? eventId,
    'webhook-timestamp': String(Math.floor(startedAt / 1_000)),
    'webhook-signature': MASKED_VALUE,
    'x-service-attempt': String(number),
  };
}

/** A phase that did not happen is `null`. */
function presentTimings({ timings = {}, durationMs }: Attempt) {
  return {
    dns_ms: timings.dnsMs ?? null,
    connect_ms: timings.connectMs ?? null,
    tls_ms: timings.tlsMs ?? null,
    first_byte_ms: timings.firstByteMs ?? null,
    total_ms: durationMs,
  };
}
