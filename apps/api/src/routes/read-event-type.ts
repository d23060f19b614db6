import { eventTypeNameSchema } from '@webhooks/core/events/custom-event-type';
import type { EventTypes } from '@webhooks/core/events/event-types';
import { z } from 'zod';
import { defineRoute } from '../http/route';

export function readEventType(eventTypes: EventTypes) {
  return defineRoute({
    method: 'get',
    path: '/v1/event-types/:name',
    scope: 'any',
    request: { params: z.object({ name: eventTypeNameSchema }) },
    async handle({ params }) {
      return { status: 200, body: await eventTypes.read(params.name) };
    },
  });
}
