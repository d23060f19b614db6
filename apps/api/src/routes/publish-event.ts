import type { AcceptEvent } from '@webhooks/core/events/accept-event';
import { formatTime } from '@webhooks/core/runtime/clock';
import { z } from 'zod';
import { defineRoute } from '../http/route';

/** 202 is sent only after Redis has the event. */
export function publishEvent(acceptEvent: AcceptEvent) {
  return defineRoute({
    method: 'post',
    path: '/v1/events',
    scope: 'events:write',
    // What `data` must be is the catalogue's to say.
    request: { body: z.strictObject({ type: z.string(), data: z.unknown() }) },
    async handle({ apiKey, body, requestId }) {
      const event = await acceptEvent({
        accountId: apiKey.accountId,
        requestId,
        type: body.type,
        data: body.data,
      });
      return {
        status: 202,
        body: { id: event.id, type: event.type, created_at: formatTime(event.acceptedAt) },
      };
    },
  });
}
