import type { AcceptEvents } from '@hookferry/core/intake/accept-events';
import { AppError } from '@hookferry/core/kernel/app-error';
import { defineRoute } from '../http/route';
import { acceptedSchema, presentAccepted, publishedEventSchema, toPublishedEvent } from './published-event';

/** 202 is sent only after Redis has the event; 200 when it has had it before, under the id that the client gave. */
export function publishEvent(acceptEvents: AcceptEvents) {
  return defineRoute({
    operationId: 'publishEvent',
    summary: 'Publish an event',
    method: 'post',
    path: '/v1/events',
    scope: 'events:write',
    request: { body: publishedEventSchema, hasEventData: true, dataAt: ['data'] },
    creates: true,
    stores: 'event',
    responses: {
      202: { description: 'Accepted: it is stored and will be delivered.', schema: acceptedSchema },
      200: { description: 'It had been accepted before, under the same id.', schema: acceptedSchema },
    },
    problems: ['event_id_conflict'],
    async handle({ apiKey, endpointsVersion, body, dataTexts, requestId, trace, newId, receivedAt }) {
      const [outcome] = await acceptEvents({
        accountId: apiKey.accountId,
        endpointsVersion,
        requestId,
        trace,
        newId,
        receivedAt,
        events: [toPublishedEvent(body, dataTexts[0] ?? '')],
      });
      if (outcome === undefined || outcome instanceof AppError) throw outcome;
      return { status: outcome.isNew ? 202 : 200, body: presentAccepted(outcome.event) };
    },
  });
}
