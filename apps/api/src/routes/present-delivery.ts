import type { Attempt } from '@webhooks/core/deliveries/attempt';
import type { Delivery } from '@webhooks/core/deliveries/read-deliveries';
import { MASKED_VALUE } from '@webhooks/core/endpoints/custom-headers';
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
  return {
    ...presentDelivery(delivery),
    attempts: delivery.attempts.map((attempt) => presentAttempt(delivery, attempt)),
  };
}

function presentAttempt(delivery: Delivery, attempt: Attempt) {
  return {
    number: attempt.number,
    trigger: attempt.trigger ?? 'schedule',
    worker: attempt.worker ?? null,
    started_at: formatTime(attempt.startedAt),
    duration_ms: attempt.durationMs,
    timings: presentTimings(attempt),
    outcome: attempt.outcome,
    request_headers: presentRequestHeaders(delivery, attempt),
    response_status: attempt.responseStatus ?? null,
    response_headers: attempt.responseHeaders ?? null,
    response_body: attempt.responseBody ?? null,
    error: attempt.error ?? null,
  };
}

// What can be told from the rest of the record is not kept beside it; signatures and values of the endpoint's own are
// nobody's to read here.
function presentRequestHeaders({ eventId }: Delivery, { number, startedAt, addedHeaders = [] }: Attempt) {
  return {
    ...Object.fromEntries(addedHeaders.map((name) => [name, MASKED_VALUE])),
    'content-type': 'application/json',
    'webhook-id': eventId,
    'webhook-timestamp': String(Math.floor(startedAt / 1_000)),
    'webhook-signature': MASKED_VALUE,
    'x-service-attempt': String(number),
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
