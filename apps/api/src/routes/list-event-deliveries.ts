import type { ReadDeliveries } from '@hookferry/core/history/read-deliveries';
import { endpointIdSchema } from '@hookferry/core/model/endpoint';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';
import { standingFilterOf, standingQuery } from './delivery-query';
import { eventParams } from './params';
import { deliverySchema, presentDelivery } from './present-delivery';

const querySchema = pageQuery(endpointIdSchema).extend(standingQuery);

export function listEventDeliveries(deliveries: ReadDeliveries) {
  return defineRoute({
    operationId: 'listEventDeliveries',
    summary: "List an event's deliveries",
    method: 'get',
    path: '/v1/events/:id/deliveries',
    scope: 'deliveries:read',
    request: { params: eventParams, query: querySchema },
    responses: {
      200: { description: 'A page of deliveries.', schema: pageOf(deliverySchema, 'DeliveryPage') },
    },
    async handle({ apiKey, params, query }) {
      const { limit, cursor } = query;
      const filter = standingFilterOf(query);
      const page = await deliveries.listOfEvent(apiKey.accountId, params.id, filter, limit, cursor);
      return { status: 200, body: presentPage(page.deliveries.map(presentDelivery), page.nextCursor) };
    },
  });
}
