import type { EventTypes } from '@webhooks/core/events/event-types';
import { defineRoute } from '../http/route';

/** All of them at once: there are dozens, not thousands. */
export function listEventTypes(eventTypes: EventTypes) {
  return defineRoute({
    method: 'get',
    path: '/v1/event-types',
    scope: 'any',
    request: {},
    async handle() {
      return { status: 200, body: { data: await eventTypes.list() } };
    },
  });
}
