import { eventTypeNameSchema } from '@hookferry/core/catalogue/custom-event-type';
import { type EventTypes, eventTypeViewSchema } from '@hookferry/core/catalogue/event-types';
import { z } from 'zod';
import { defineRoute } from '../http/route';

export function readEventType(eventTypes: EventTypes) {
  return defineRoute({
    operationId: 'readEventType',
    summary: 'Read an event type',
    method: 'get',
    path: '/v1/event-types/:name',
    scope: 'any',
    request: { params: z.object({ name: eventTypeNameSchema }) },
    responses: {
      200: { description: 'The event type.', schema: eventTypeViewSchema },
    },
    async handle({ params }) {
      return { status: 200, body: await eventTypes.read(params.name) };
    },
  });
}
