import type { ReadDeliveries } from '@hookferry/core/history/read-deliveries';
import { defineRoute } from '../http/route';
import { deliveryParams } from './params';
import { deliveryWithAttemptsSchema, presentDeliveryWithAttempts } from './present-delivery';

export function readDelivery(deliveries: ReadDeliveries) {
  return defineRoute({
    operationId: 'readDelivery',
    summary: 'Read a delivery with each of its attempts',
    method: 'get',
    path: '/v1/deliveries/:id',
    scope: 'deliveries:read',
    request: { params: deliveryParams },
    responses: {
      200: { description: 'The delivery.', schema: deliveryWithAttemptsSchema },
    },
    async handle({ apiKey, params }) {
      const delivery = await deliveries.read(apiKey.accountId, params.id);
      return { status: 200, body: presentDeliveryWithAttempts(delivery) };
    },
  });
}
