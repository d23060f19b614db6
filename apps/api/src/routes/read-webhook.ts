import type { ManageEndpoints } from '@webhooks/core/endpoints/manage-endpoints';
import type { ReadHealth } from '@webhooks/core/endpoints/read-health';
import { defineRoute } from '../http/route';
import { presentHealth } from './present-health';
import { presentWebhook, tagOf } from './present-webhook';
import { webhookParams } from './webhook-params';

/** Read alone, it also says how it is doing. */
export function readWebhook(endpoints: ManageEndpoints, readHealth: ReadHealth) {
  return defineRoute({
    method: 'get',
    path: '/v1/webhooks/:id',
    scope: 'webhooks:read',
    request: { params: webhookParams },
    async handle({ apiKey, params }) {
      const endpoint = await endpoints.read(apiKey.accountId, params.id);
      const health = presentHealth(await readHealth(endpoint.id));
      return { status: 200, headers: tagOf(endpoint), body: { ...presentWebhook(endpoint), health } };
    },
  });
}
