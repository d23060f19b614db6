import { EVENT_TYPE_NAME_FORM } from '@hookferry/core/catalogue/custom-event-type';
import type { TestEndpoint } from '@hookferry/core/manage/test-endpoint';
import { deliveryIdOf } from '@hookferry/core/model/delivery';
import { z } from 'zod';
import { defineRoute } from '../http/route';
import { webhookParams } from './params';

const bodySchema = z
  .strictObject({ type: z.string().meta(EVENT_TYPE_NAME_FORM).optional() })
  .meta({ id: 'NewTest' });

const testSentSchema = z.object({ event_id: z.string(), delivery_id: z.string() }).meta({ id: 'TestSent' });

/** The catalogue's example of a type, to this webhook alone. */
export function testWebhook(testEndpoint: TestEndpoint) {
  return defineRoute({
    operationId: 'testWebhook',
    summary: 'Send a test event to a webhook',
    method: 'post',
    path: '/v1/webhooks/:id/test',
    scope: 'webhooks:write',
    request: {
      params: webhookParams,
      body: bodySchema,
      mayLackBody: true,
    },
    creates: true,
    stores: 'event',
    responses: {
      202: { description: 'Accepted: the event and its delivery.', schema: testSentSchema },
    },
    async handle({ apiKey, params, body, requestId, trace, receivedAt, newId }) {
      const { accountId } = apiKey;
      const delivery = await testEndpoint({
        accountId,
        ref: params.id,
        type: body.type,
        requestId,
        trace,
        receivedAt,
        newId,
      });
      return { status: 202, body: { event_id: delivery.eventId, delivery_id: deliveryIdOf(delivery) } };
    },
  });
}
