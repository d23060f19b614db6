import { shownStatuses, statusClasses } from '@hookferry/core/history/delivery-filter';
import type { ReadDeliveries } from '@hookferry/core/history/read-deliveries';
import { endpointIdSchema } from '@hookferry/core/model/endpoint';
import { z } from 'zod';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';
import { eventParams } from './params';
import { deliverySchema, presentDelivery } from './present-delivery';

const querySchema = pageQuery(endpointIdSchema).extend({
  status: z.enum(shownStatuses).optional(),
  /** Of the last attempt's answer. */
  status_class: z.enum(statusClasses).optional(),
});

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
      const filter = { status: query.status, statusClass: query.status_class };
      const { limit, cursor } = query;
      const page = await deliveries.listOfEvent(apiKey.accountId, params.id, filter, limit, cursor);
      return { status: 200, body: presentPage(page.deliveries.map(presentDelivery), page.nextCursor) };
    },
  });
}
