import type { ReadEvents } from '@hookferry/core/history/read-events';
import { z } from 'zod';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';
import { isInOrder, timeRangeQuery } from '../http/time-range';
import { eventCursorSchema } from './params';
import { listedEventSchema, presentListedEvent } from './present-event';

const querySchema = pageQuery(eventCursorSchema)
  .extend({
    type: z.string().min(1).optional(),
    ...timeRangeQuery,
  })
  .refine(...isInOrder);

export function listEvents(events: ReadEvents) {
  return defineRoute({
    operationId: 'listEvents',
    summary: 'List what was published',
    method: 'get',
    path: '/v1/events',
    scope: 'deliveries:read',
    request: { query: querySchema },
    responses: {
      200: { description: 'A page of events.', schema: pageOf(listedEventSchema, 'EventPage') },
    },
    async handle({ apiKey, query: { limit, cursor, ...filter } }) {
      const page = await events.list(apiKey.accountId, filter, limit, cursor);
      return { status: 200, body: presentPage(page.found.map(presentListedEvent), page.nextCursor) };
    },
  });
}
