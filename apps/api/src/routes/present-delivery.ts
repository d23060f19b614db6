import { type Attempt, attemptOutcomeSchema } from '@webhooks/core/deliveries/attempt';
import { type Delivery, shownStatuses } from '@webhooks/core/deliveries/read-deliveries';
import { formatTime, timeSchema } from '@webhooks/core/runtime/clock';
import { z } from 'zod';

export const deliverySchema = z
  .object({
    id: z.string(),
    event_id: z.string(),
    webhook_id: z.string(),
    type: z.string().meta({ example: 'keyword.quick_win' }),
    status: z.enum(shownStatuses),
    attempt_count: z.int(),
    next_attempt_at: timeSchema.nullable(),
    created_at: timeSchema,
  })
  .meta({ id: 'Delivery' });

const phaseSchema = z.number().nullable();

const attemptSchema = z
  .object({
    number: z.int(),
    started_at: timeSchema,
    duration_ms: z.number(),
    timings: z.object({
      dns_ms: phaseSchema,
      connect_ms: phaseSchema,
      tls_ms: phaseSchema,
      first_byte_ms: phaseSchema,
      total_ms: z.number(),
    }),
    outcome: attemptOutcomeSchema,
    response_status: z.int().nullable(),
    response_body: z.string().nullable(),
    error: z.string().nullable(),
  })
  .meta({ id: 'Attempt' });

export const deliveryWithAttemptsSchema = deliverySchema
  .extend({ attempts: z.array(attemptSchema) })
  .meta({ id: 'DeliveryWithAttempts' });

/** A delivery as it stands in a list. */
export function presentDelivery(delivery: Delivery): z.infer<typeof deliverySchema> {
  return {
    id: delivery.id,
    event_id: delivery.eventId,
    webhook_id: delivery.endpointId,
    type: delivery.type,
    status: delivery.status,
    attempt_count: delivery.attempts.length,
    next_attempt_at: delivery.nextAttemptAt === undefined ? null : formatTime(delivery.nextAttemptAt),
    created_at: formatTime(delivery.createdAt),
  };
}

/** A delivery read alone: with each of its attempts. */
export function presentDeliveryWithAttempts(delivery: Delivery): z.infer<typeof deliveryWithAttemptsSchema> {
  return { ...presentDelivery(delivery), attempts: delivery.attempts.map(presentAttempt) };
}

function presentAttempt(attempt: Attempt): z.infer<typeof attemptSchema> {
  return {
    number: attempt.number,
    started_at: formatTime(attempt.startedAt),
    duration_ms: attempt.durationMs,
    timings: presentTimings(attempt),
    outcome: attempt.outcome,
    response_status: attempt.responseStatus ?? null,
    response_body: attempt.responseBody ?? null,
    error: attempt.error ?? null,
  };
}

/** A phase that the attempt did not go through is `null`. */
function presentTimings({ timings = {}, durationMs }: Attempt) {
  return {
    dns_ms: timings.dnsMs ?? null,
    connect_ms: timings.connectMs ?? null,
    tls_ms: timings.tlsMs ?? null,
    first_byte_ms: timings.firstByteMs ?? null,
    total_ms: durationMs,
  };
}
