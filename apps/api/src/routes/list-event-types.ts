import { type EventTypes, eventTypeViewSchema } from '@hookferry/core/catalogue/event-types';
import { z } from 'zod';
import { defineRoute } from '../http/route';

const eventTypesSchema = z.object({ data: z.array(eventTypeViewSchema) }).meta({ id: 'EventTypeList' });

/** All of them at once: there are dozens, not thousands. */
export function listEventTypes(eventTypes: EventTypes) {
  return defineRoute({
    operationId: 'listEventTypes',
    summary: 'List the catalogue of event types',
    method: 'get',
    path: '/v1/event-types',
    scope: 'any',
    request: {},
    responses: {
      200: { description: 'Every event type.', schema: eventTypesSchema },
    },
    async handle() {
      return { status: 200, body: { data: await eventTypes.list() } };
    },
  });
}
