import { NATIVE_HEADERS } from '@hookferry/core/deliver/cloudevents';
import { type Attempt, attemptOutcomeSchema, type TokenError } from '@hookferry/core/domain/attempt';
import { holdReasons, type PastHold, triggerSchema } from '@hookferry/core/domain/delivery';
import { type CancelReason, cancelReasons } from '@hookferry/core/domain/delivery-log';
import { eventIdSchema } from '@hookferry/core/domain/event';
import { tokenErrorCodes } from '@hookferry/core/domain/receiver-auth';
import { MASKED_VALUE } from '@hookferry/core/endpoints/endpoint-options';
import type { Delivery, DeliveryWithAttempts } from '@hookferry/core/history/deliveries';
import { shownStatuses } from '@hookferry/core/history/delivery-standings';
import { formatTime, formatTimeOrNull, timeSchema } from '@hookferry/core/platform/clock';
import { z } from 'zod';

export const deliveryStatusSchema = z.enum(shownStatuses).meta({ id: 'DeliveryStatus' });

const holdSchema = z
  .object({
    reason: z.enum(holdReasons).describe('The reason why the delivery is held.'),
    until: timeSchema
      .nullable()
      .describe('When the hold ends. Null: it ends when something else changes, not at a known time.'),
    since: timeSchema
      .nullable()
      .describe(
        'When the delivery was held. Its reason may have been another one then. Null: in a list, or it is not known.',
      ),
    waits_for: z
      .string()
      .nullable()
      .describe(
        'The id of the event whose delivery to the webhook goes first. Null: the reason is not `ordering`, or that event is still on the queue.',
      ),
  })
  .meta({ id: 'Hold' });

const deliveryMembers = z.object({
  id: z.string().describe("The delivery's id: the event's, a dot, and the webhook's."),
  event_id: z.string().describe('The id of the event, which receivers get as `webhook-id`.'),
  webhook_id: z.string().describe('The id of the webhook that the delivery is for.'),
  event_type: z.string().meta({ example: 'order.created' }).describe('The type of its event.'),
  status: deliveryStatusSchema.describe(
    '`pending`: an attempt runs or is due. `held`: it waits without using attempts. All others are final: they say how the delivery ended.',
  ),
  attempt_count: z.int().describe('How many attempts were made so far.'),
  last_outcome: attemptOutcomeSchema
    .nullable()
    .describe('How the last attempt ended. Null: there was none yet.'),
  last_response_status: z
    .int()
    .nullable()
    .describe('The HTTP status of the last response. Null: the last attempt got none, or there was none.'),
  next_attempt_at: timeSchema
    .nullable()
    .describe('When the next attempt is due. Null: there is none, or its time is not known yet.'),
  hold: holdSchema
    .nullable()
    .describe('Why and until when the delivery is held. Null: it is not held, or its webhook is deleted.'),
  created_at: timeSchema.describe('When the event was accepted.'),
});

export const deliverySchema = deliveryMembers
  .extend({
    matching_attempts: z
      .int()
      .nullable()
      .describe(
        'How many of its attempts match `attempted_since`, `attempted_until` and `attempt_outcome`. Null: the request has none of these.',
      ),
  })
  .meta({ id: 'Delivery' });

const phaseSchema = z.number().nullable();
const timingsSchema = z
  .object({
    dns_ms: phaseSchema.describe(
      'Milliseconds that looking up the name took. Null: a connection was reused, or no name was looked up.',
    ),
    connect_ms: phaseSchema.describe(
      'Milliseconds that the TCP handshake took. Null: a connection was reused.',
    ),
    tls_ms: phaseSchema.describe(
      'Milliseconds that the TLS handshake took. Null: a connection was reused, or it is without TLS.',
    ),
    first_byte_ms: phaseSchema.describe(
      'Milliseconds from the end of the request to the first byte of the response. Null: none came.',
    ),
    total_ms: z.number().describe('Milliseconds that the request took in all.'),
  })
  .meta({ id: 'Timings' });
const headersSchema = z.record(z.string(), z.string());

const tokenErrorSchema = z
  .object({
    status: z.int().nullable().describe('The HTTP status of its response. Null: there was no response.'),
    error: z
      .enum(tokenErrorCodes)
      .nullable()
      .describe('The OAuth error code of its response. Null: it has none, or one that is not registered.'),
  })
  .meta({ id: 'TokenError' });

const pastHoldSchema = z
  .object({
    reason: z.enum(holdReasons).describe('The reason why the delivery was held.'),
    since: timeSchema.describe('When it was held.'),
    until: timeSchema.describe('When another reason took its place, or the attempt began.'),
  })
  .meta({ id: 'PastHold' });

export const attemptSchema = z
  .object({
    number: z.int().describe('The number of the attempt within its delivery, from 1.'),
    trigger: triggerSchema.describe(
      'Why it was made. `schedule`: the retry schedule. `manual`: a redelivery. `replay`: a replay. `test`: a test event.',
    ),
    worker: z.string().nullable().describe('The id of the worker that made it. Null: it is no longer known.'),
    remote_address: z
      .string()
      .nullable()
      .describe(
        'The IP address that it was sent to; the last one that was tried, if no connection came about. Null: none was tried, a proxy or a listener knows it, or it is no longer known. The port is that of the URL.',
      ),
    holds: z
      .array(pastHoldSchema)
      .describe(
        'Why the delivery was held between the former attempt and this one, in the order of time. Empty: it was not, or for less than a second.',
      ),
    started_at: timeSchema.describe('When the attempt began.'),
    duration_ms: z.number().describe('How many milliseconds the attempt took.'),
    timings: timingsSchema.describe('How long each phase of the request took.'),
    outcome: attemptOutcomeSchema.describe(
      'How the attempt ended: `delivered`, or the way in which it failed.',
    ),
    request_headers: headersSchema.describe(
      'Headers of the request. Signatures and the headers of the webhook itself are masked.',
    ),
    request_body: z
      .string()
      .nullable()
      .describe("The body that the webhook's transformation made. Null: the body of the event was sent."),
    transformation_version: z
      .int()
      .nullable()
      .describe('The version of the transformation that made the body. Null: none did.'),
    batch_id: z
      .string()
      .nullable()
      .describe(
        'The `webhook-id` of a request with several events. Null: the request was for this event alone.',
      ),
    response_status: z.int().nullable().describe('The HTTP status of the response. Null: there was none.'),
    response_headers: headersSchema
      .nullable()
      .describe('Headers of the response. Null: the attempt was accepted, or there was no response.'),
    response_body: z
      .string()
      .nullable()
      .describe('The beginning of the body of the response. Null: the attempt was accepted, or it had none.'),
    error: z
      .string()
      .nullable()
      .describe('The reason why there was no response, in words. Null: there was one.'),
    token_error: tokenErrorSchema
      .nullable()
      .describe(
        'The response of the token URL when it gave no access token. Null: the outcome is not `token_error`.',
      ),
  })
  .meta({ id: 'Attempt' });

export const deliveryWithAttemptsSchema = deliveryMembers
  .extend({
    superseded_by: eventIdSchema
      .nullable()
      .describe(
        'The newer event of its group that was sent in its place. Null: it did not end as `superseded`.',
      ),
    cancel_reason: z
      .enum(cancelReasons.map(presentCancelReason))
      .nullable()
      .describe(
        "Why it ended as `cancelled`. `event_expired`: it was open for the retention of the service. `transformation`: the webhook's code returned `cancel: true`. `dropped`: an operator dropped its dead letter. `discarded`: its webhook was disabled and discards what is due then (`while_disabled`), or what it held was discarded. Null: it did not end so.",
      ),
    attempts: z.array(attemptSchema).describe('Its attempts, in the order in which they were made.'),
  })
  .meta({ id: 'DeliveryWithAttempts' });

/** A delivery in a list. */
export function presentDelivery(delivery: Delivery): z.infer<typeof deliverySchema> {
  return { ...presentMembers(delivery), matching_attempts: delivery.matchingAttempts ?? null };
}

function presentMembers(delivery: Delivery): z.infer<typeof deliveryMembers> {
  return {
    id: delivery.id,
    event_id: delivery.eventId,
    webhook_id: delivery.endpointId,
    event_type: delivery.type,
    status: delivery.status,
    attempt_count: delivery.attemptCount,
    last_outcome: delivery.lastOutcome ?? null,
    last_response_status: delivery.lastResponseStatus ?? null,
    next_attempt_at: formatTimeOrNull(delivery.nextAttemptAt),
    hold: delivery.hold ? presentHold(delivery.hold) : null,
    created_at: formatTime(delivery.createdAt),
  };
}

function presentHold(hold: NonNullable<Delivery['hold']>): z.infer<typeof holdSchema> {
  const { reason, until, since, waitsFor = null } = hold;
  return { reason, until: formatTimeOrNull(until), since: formatTimeOrNull(since), waits_for: waitsFor };
}

/** A single delivery, with each of its attempts. */
export function presentDeliveryWithAttempts(
  delivery: DeliveryWithAttempts,
): z.infer<typeof deliveryWithAttemptsSchema> {
  return {
    ...presentMembers(delivery),
    superseded_by: delivery.supersededBy ?? null,
    cancel_reason: delivery.cancelReason === undefined ? null : presentCancelReason(delivery.cancelReason),
    attempts: delivery.attempts.map((attempt) => presentAttempt(delivery, attempt)),
  };
}

function presentCancelReason(reason: CancelReason) {
  return reason === 'endpoint_deleted' ? 'webhook_deleted' : reason;
}

export function presentAttempt(
  delivery: Pick<Delivery, 'eventId'>,
  attempt: Attempt,
): z.infer<typeof attemptSchema> {
  return {
    number: attempt.number,
    trigger: attempt.trigger ?? 'schedule',
    worker: attempt.worker ?? null,
    remote_address: attempt.remoteAddress ?? null,
    holds: presentHolds(attempt.holds ?? [], attempt.startedAt),
    started_at: formatTime(attempt.startedAt),
    duration_ms: attempt.durationMs,
    timings: presentTimings(attempt),
    outcome: attempt.outcome,
    request_headers: presentRequestHeaders(delivery, attempt),
    request_body: attempt.transformed?.body ?? null,
    transformation_version: attempt.transformed?.version ?? null,
    batch_id: attempt.batchId ?? null,
    response_status: attempt.responseStatus ?? null,
    response_headers: attempt.responseHeaders ?? null,
    response_body: attempt.responseBody ?? null,
    error: attempt.error ?? null,
    token_error: attempt.tokenError === undefined ? null : presentTokenError(attempt.tokenError),
  };
}

function presentHolds(holds: readonly PastHold[], endsAt: number): z.infer<typeof pastHoldSchema>[] {
  return holds.map(({ reason, since }, i) => ({
    reason,
    since: formatTime(since),
    until: formatTime(holds[i + 1]?.since ?? endsAt),
  }));
}

function presentTokenError({ status, code }: TokenError): z.infer<typeof tokenErrorSchema> {
  return { status: status ?? null, error: code ?? null };
}

// Headers that follow from the rest of the record are not stored beside it; signatures and the endpoint's own
// values must not be readable here.
function presentRequestHeaders(
  { eventId }: Pick<Delivery, 'eventId'>,
  { number, startedAt, addedHeaders = [], contentHeaders = NATIVE_HEADERS, transformed, batchId }: Attempt,
) {
  const { 'content-type': madeType, ...made } = transformed?.headers ?? {};
  const isMadeType = madeType !== undefined && contentHeaders['content-type'] === MASKED_VALUE;
  return {
    ...Object.fromEntries([...addedHeaders, ...Object.keys(made)].map((name) => [name, MASKED_VALUE])),
    ...contentHeaders,
    ...(isMadeType && { 'content-type': madeType }),
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
