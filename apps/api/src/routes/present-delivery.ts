import type { Attempt } from '@webhooks/core/deliveries/attempt';
import type { Delivery } from '@webhooks/core/deliveries/read-deliveries';
import { formatTime } from '@webhooks/core/runtime/clock';

/** A delivery as it stands in a list. */
export function presentDelivery(delivery: Delivery) {
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
export function presentDeliveryWithAttempts(delivery: Delivery) {
  return { ...presentDelivery(delivery), attempts: delivery.attempts.map(presentAttempt) };
}

function presentAttempt(attempt: Attempt) {
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
