import type { ReadDeliveries } from '@hookferry/core/history/read-deliveries';
import { endpointIdSchema, endpointRefSchema } from '@hookferry/core/model/endpoint';
import { eventIdSchema } from '@hookferry/core/model/event';
import { z } from 'zod';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';
import { isInOrder, timeRangeQuery } from '../http/time-range';
import { standingFilterOf, standingQuery } from './delivery-query';
import { eventCursorSchema } from './params';
import { deliverySchema, presentDelivery } from './present-delivery';

const querySchema = pageQuery(eventCursorSchema.extend({ endpointId: endpointIdSchema.optional() }))
  .extend({
    webhook_id: endpointRefSchema.optional(),
    event_id: eventIdSchema.optional(),
    event_type: z.string().min(1).optional(),
    ...standingQuery,
    ...timeRangeQuery,
  })
  .refine(...isInOrder);

export function listDeliveries(deliveries: ReadDeliveries) {
  return defineRoute({
    operationId: 'listDeliveries',
    summary: 'List deliveries, those of the newest event first',
    method: 'get',
    path: '/v1/deliveries',
    scope: 'deliveries:read',
    request: { query: querySchema },
    responses: {
      200: { description: 'A page of deliveries.', schema: pageOf(deliverySchema, 'DeliveryPage') },
    },
    async handle({ apiKey, query }) {
      const { limit, cursor, webhook_id: endpoint, event_id: eventId, event_type: eventType } = query;
      const { since, until } = query;
      const filter = { ...standingFilterOf(query), eventType, since, until };
      const page = await deliveries.list(apiKey.accountId, { endpoint, eventId }, filter, limit, cursor);
      return { status: 200, body: presentPage(page.deliveries.map(presentDelivery), page.nextCursor) };
    },
  });
}
