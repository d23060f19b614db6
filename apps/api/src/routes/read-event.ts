import type { ReadEvents } from '@hookferry/core/history/read-events';
import { defineRoute } from '../http/route';
import { eventParams } from './params';
import { eventSchema, presentEvent } from './present-event';

export function readEvent(events: ReadEvents) {
  return defineRoute({
    operationId: 'readEvent',
    summary: 'Read an event with its data',
    method: 'get',
    path: '/v1/events/:id',
    scope: 'deliveries:read',
    request: { params: eventParams },
    responses: {
      200: { description: 'The event.', schema: eventSchema },
    },
    async handle({ apiKey, params }) {
      const event = await events.read(apiKey.accountId, params.id);
      return { status: 200, bodyText: presentEvent(event) };
    },
  });
}
