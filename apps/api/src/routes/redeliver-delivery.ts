import type { Redeliver } from '@hookferry/core/recovery/redeliver';
import { defineRoute } from '../http/route';
import { deliveryParams } from './params';
import { deliveryWithAttemptsSchema, presentDeliveryWithAttempts } from './present-delivery';

const REQUEST_ID_PREFIX = 'rdl';

/** Once more, now, under the same `webhook-id`. */
export function redeliverDelivery(redeliver: Redeliver) {
  return defineRoute({
    operationId: 'redeliverDelivery',
    summary: 'Send a delivery once more, now',
    method: 'post',
    path: '/v1/deliveries/:id/redeliver',
    scope: 'deliveries:write',
    request: { params: deliveryParams },
    creates: true,
    stores: 'other',
    responses: {
      202: { description: 'The delivery as it is now.', schema: deliveryWithAttemptsSchema },
    },
    problems: ['conflict', 'payload_erased', 'limit_reached'],
    async handle({ apiKey, params, newId }) {
      const delivery = await redeliver(apiKey.accountId, params.id, newId(REQUEST_ID_PREFIX));
      return { status: 202, body: presentDeliveryWithAttempts(delivery) };
    },
  });
}
