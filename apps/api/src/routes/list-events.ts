import type { ReadEvents } from '@webhooks/core/events/read-events';
import { z } from 'zod';
import { pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';
import { timeRangeQuery } from '../http/time-range';
import { eventCursorSchema } from './event-cursor';
import { presentListedEvent } from './present-event';

const querySchema = pageQuery(eventCursorSchema).extend({
  type: z.string().min(1).optional(),
  ...timeRangeQuery,
});

export function listEvents(events: ReadEvents) {
  return defineRoute({
    method: 'get',
    path: '/v1/events',
    scope: 'deliveries:read',
    request: { query: querySchema },
    async handle({ apiKey, query: { limit, cursor, ...filter } }) {
      const page = await events.list(apiKey.accountId, filter, limit, cursor);
      return { status: 200, body: presentPage(page.found.map(presentListedEvent), page.nextCursor) };
    },
  });
}
