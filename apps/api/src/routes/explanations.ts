import { hasScope } from '@hookferry/core/domain/account';
import { holdReasons } from '@hookferry/core/domain/delivery';
import { endpointIdSchema, endpointRefSchema } from '@hookferry/core/domain/endpoint';
import { eventIdSchema } from '@hookferry/core/domain/event';
import type { Explained } from '@hookferry/core/endpoints/filters/payload-filter';
import { type Explanation, unsentReasons } from '@hookferry/core/history/explanations';
import { z } from 'zod';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';
import { explainedSchema } from './filters';
import { deliveryStatusSchema } from './present-delivery';

const yesOrNoSchema = z
  .enum(['true', 'false'], 'must be true or false')
  .transform((text) => text === 'true')
  .optional();

const querySchema = pageQuery(endpointIdSchema).extend({
  webhook_id: endpointRefSchema
    .optional()
    .describe('Only this webhook: its id or its `uid`. Default: all webhooks of the account.'),
  has_delivery: yesOrNoSchema.describe(
    '`false`: only webhooks that the event has no delivery for. `true`: only the others. Default: all.',
  ),
  subscribed: yesOrNoSchema.describe(
    "`true`: only webhooks whose `events` include the event's type at present. `false`: only the others. Default: all.",
  ),
});

const explanationSchema = z
  .object({
    webhook_id: z.string().describe('The id of the webhook.'),
    webhook_uid: z
      .string()
      .nullable()
      .describe('Its `uid`. Null: it has none, or the key lacks the scope `webhooks:read`.'),
    webhook_url: z
      .string()
      .nullable()
      .describe('Its URL. Null: its record cannot be read, or the key lacks the scope `webhooks:read`.'),
    delivery_id: z
      .string()
      .nullable()
      .describe('The delivery of the event to the webhook. Null: there is none.'),
    status: deliveryStatusSchema.nullable().describe('The status of the delivery. Null: there is none.'),
    reason: z
      .enum([...unsentReasons, ...holdReasons])
      .nullable()
      .describe(
        [
          'Why there is no delivery, or why it is held. `not_due`: the event is scheduled. `event_cancelled`: it was cancelled before it was due.',
          '`not_addressed`: it names other webhooks (`webhook_ids`). `registered_later`: the webhook was registered after the event was accepted.',
          '`disconnected`: nobody was connected to the listener. `not_subscribed`: `events` does not include the type.',
          "`filtered`: the webhook's filter does not let it pass. `payload_erased`: the filter cannot be asked any more.",
          '`changed`: by its settings of now it would get the event, by its former ones it did not. `unknown`: none of these; the event may be on its way.',
          'All others are the reasons of held deliveries. Null: it has a delivery that is not held.',
        ].join(' '),
      ),
    detail: z.string().describe('The same in words, with what was found.'),
    conditions: z
      .array(explainedSchema)
      .readonly()
      .describe(
        'The conditions of the filter that left the event out. One that holds stands within `$not`. Empty unless the reason is `filtered`, and the key has the scope `webhooks:read`.',
      ),
    changed_since: z
      .boolean()
      .describe(
        'Whether the webhook was changed after the event was accepted. The reason is by its settings of now, and may have been a different one then.',
      ),
  })
  .meta({ id: 'Explanation' });

/** What the webhooks are now is asked, since nothing is recorded of those that an event was not for. */
export const explainEvent = defineRoute({
  operationId: 'explainEvent',
  summary: 'Explain which webhooks get an event, and why others do not',
  method: 'get',
  path: '/v1/events/:id/explanations',
  scope: 'deliveries:read',
  // It evaluates up to 200 filters.
  isHeavy: true,
  request: { params: z.object({ id: eventIdSchema }), query: querySchema },
  responses: {
    200: {
      description: 'A page of explanations, one for each webhook, those registered last first.',
      schema: pageOf(explanationSchema, 'ExplanationPage'),
    },
  },
  problems: ['history_unavailable'],
  async handle({ apiKey, params, query }, core) {
    const { limit, cursor, webhook_id: endpoint, has_delivery: hasDelivery, subscribed } = query;
    const showsSettings = hasScope(apiKey, 'webhooks:read');
    const wanted = { endpoint, hasDelivery, isSubscribed: subscribed, showsSettings };
    const page = await core.explanations.list(apiKey.accountId, params.id, wanted, limit, cursor);
    return { status: 200, body: presentPage(page.explanations.map(present), page.nextCursor) };
  },
});

function present(explanation: Explanation): z.infer<typeof explanationSchema> {
  const { endpointId, endpoint, delivery, reason, detail, conditions, hasChanged } = explanation;
  return {
    webhook_id: endpointId,
    webhook_uid: endpoint?.uid ?? null,
    webhook_url: endpoint?.url ?? null,
    delivery_id: delivery?.id ?? null,
    status: delivery?.status ?? null,
    reason: reason ?? null,
    detail,
    conditions: conditions satisfies readonly Explained[],
    changed_since: hasChanged,
  };
}
