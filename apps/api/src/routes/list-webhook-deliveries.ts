import type { ReadDeliveries } from '@webhooks/core/deliveries/read-deliveries';
import { eventIdSchema } from '@webhooks/core/events/event';
import { z } from 'zod';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';
import { deliverySchema, presentDelivery } from './present-delivery';
import { webhookParams } from './webhook-params';

const cursorSchema = z.object({ createdAt: z.number(), eventId: eventIdSchema });

export function listWebhookDeliveries(deliveries: ReadDeliveries) {
  return defineRoute({
    operationId: 'listWebhookDeliveries',
    summary: "List a webhook's deliveries",
    method: 'get',
    path: '/v1/webhooks/:id/deliveries',
    scope: 'deliveries:read',
    request: { params: webhookParams, query: pageQuery(cursorSchema) },
    responses: {
      200: { description: 'A page of deliveries.', schema: pageOf(deliverySchema) },
    },
    async handle({ apiKey, params, query }) {
      const page = await deliveries.listOfEndpoint(apiKey.accountId, params.id, query.limit, query.cursor);
      return { status: 200, body: presentPage(page.deliveries.map(presentDelivery), page.nextCursor) };
    },
  });
}
