import { formatDuration } from '@webhooks/core/config/duration';
import type { Endpoint } from '@webhooks/core/endpoints/endpoint';
import { formatTime } from '@webhooks/core/runtime/clock';

/** An endpoint as clients see it. Its secret is not part of it. */
export function presentWebhook(endpoint: Endpoint) {
  const { id, url, events, status, disabledReason, description, ordering, createdAt, updatedAt } = endpoint;
  const { rateLimit, timeoutMs, retrySchedule } = endpoint;
  return {
    id,
    url,
    events,
    status,
    ...(disabledReason === undefined ? {} : { disabled_reason: disabledReason }),
    ...(description === undefined ? {} : { description }),
    ordering,
    ...(rateLimit === undefined ? {} : { rate_limit: rateLimit }),
    ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
    ...(retrySchedule === undefined ? {} : { retry_schedule: retrySchedule.map(formatDuration) }),
    created_at: formatTime(createdAt),
    updated_at: formatTime(updatedAt),
  };
}
