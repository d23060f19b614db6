import { eventTypeInputSchema, eventTypeNameSchema } from '@webhooks/core/events/custom-event-type';
import type { EventTypes } from '@webhooks/core/events/event-types';
import { z } from 'zod';
import { defineRoute } from '../http/route';

/** For operators: a type that all accounts can publish and ask for, at once and without a restart. */
export function putEventType(eventTypes: EventTypes) {
  return defineRoute({
    method: 'put',
    path: '/v1/event-types/:name',
    scope: 'admin',
    request: { params: z.object({ name: eventTypeNameSchema }), body: eventTypeInputSchema },
    async handle({ params, body }) {
      return { status: 200, body: await eventTypes.put(params.name, body) };
    },
  });
}
