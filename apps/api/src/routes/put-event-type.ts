import { EVENT_TYPE_NAME_FORM, eventTypeInputSchema } from '@hookferry/core/catalogue/custom-event-type';
import { type EventTypes, eventTypeViewSchema } from '@hookferry/core/catalogue/event-types';
import { z } from 'zod';
import { defineRoute } from '../http/route';

/** A schema, an example and what is around them. */
const MAX_BODY_BYTES = 128 * 1024;

/** A type that all accounts can publish and ask for, at once and without a restart. */
export function putEventType(eventTypes: EventTypes) {
  return defineRoute({
    operationId: 'putEventType',
    summary: 'Add or replace an event type',
    method: 'put',
    path: '/v1/event-types/:name',
    scope: 'admin',
    operatorOnly: true,
    request: {
      params: z.object({ name: z.string().meta(EVENT_TYPE_NAME_FORM) }),
      body: eventTypeInputSchema,
    },
    maxBodyBytes: MAX_BODY_BYTES,
    responses: {
      200: { description: 'The event type as it is now.', schema: eventTypeViewSchema },
    },
    problems: ['conflict', 'limit_reached'],
    async handle({ params, body }) {
      return { status: 200, body: await eventTypes.put(params.name, body) };
    },
  });
}
