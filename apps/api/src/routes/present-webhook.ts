import type { Endpoint } from '@webhooks/core/endpoints/endpoint';
import { formatTime } from '@webhooks/core/runtime/clock';

/** An endpoint as clients see it. Its secret is not part of it. */
export function presentWebhook({ id, url, events, description, createdAt, updatedAt }: Endpoint) {
  return {
    id,
    url,
    events,
    status: 'enabled',
    ...(description === undefined ? {} : { description }),
    created_at: formatTime(createdAt),
    updated_at: formatTime(updatedAt),
  };
}
