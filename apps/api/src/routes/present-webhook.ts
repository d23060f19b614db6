import type { Endpoint } from '@webhooks/core/endpoints/endpoint';
import { formatTime } from '@webhooks/core/runtime/clock';

/** An endpoint as clients see it. Its secret is not part of it. */
export function presentWebhook(endpoint: Endpoint) {
  const { id, url, events, status, disabledReason, description, createdAt, updatedAt } = endpoint;
  return {
    id,
    url,
    events,
    status,
    ...(disabledReason === undefined ? {} : { disabled_reason: disabledReason }),
    ...(description === undefined ? {} : { description }),
    created_at: formatTime(createdAt),
    updated_at: formatTime(updatedAt),
  };
}
