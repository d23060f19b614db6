import type { ReadDeliveries } from '@hookferry/core/history/read-deliveries';
import { z } from 'zod';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';
import { isInOrder, timeRangeQuery } from '../http/time-range';
import { standingFilterOf, standingQuery } from './delivery-query';
import { eventCursorSchema, webhookParams } from './params';
import { deliverySchema, presentDelivery } from './present-delivery';

const querySchema = pageQuery(eventCursorSchema)
  .extend({
    event_type: z.string().min(1).optional(),
    ...standingQuery,
    ...timeRangeQuery,
  })
  .refine(...isInOrder);

export function listWebhookDeliveries(deliveries: ReadDeliveries) {
  return defineRoute({
    operationId: 'listWebhookDeliveries',
    summary: "List a webhook's deliveries",
    method: 'get',
    path: '/v1/webhooks/:id/deliveries',
    scope: 'deliveries:read',
    request: { params: webhookParams, query: querySchema },
    responses: {
      200: { description: 'A page of deliveries.', schema: pageOf(deliverySchema, 'DeliveryPage') },
    },
    async handle({ apiKey, params, query }) {
      const { limit, cursor, event_type: eventType, since, until } = query;
      const filter = { ...standingFilterOf(query), eventType, since, until };
      const page = await deliveries.listOfEndpoint(apiKey.accountId, params.id, filter, limit, cursor);
      return { status: 200, body: presentPage(page.deliveries.map(presentDelivery), page.nextCursor) };
    },
  });
}
