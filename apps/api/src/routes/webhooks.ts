import { maySeeSecrets } from '@hookferry/core/domain/account';
import { deliveryIdOf } from '@hookferry/core/domain/delivery';
import {
  ENDPOINT_ID_PREFIX,
  type Endpoint,
  type EndpointId,
  endpointIdSchema,
  endpointRefSchema,
  endpointStatusSchema,
} from '@hookferry/core/domain/endpoint';
import { EVENT_TYPE_NAME_FORM } from '@hookferry/core/domain/event';
import { formatPublicKey } from '@hookferry/core/domain/signing-key';
import { endpointPatchSchema, newEndpointSchema } from '@hookferry/core/endpoints/endpoint-input';
import { filterWarningCodes, findFilterWarnings } from '@hookferry/core/endpoints/filters/filter-warnings';
import type { SigningKeys } from '@hookferry/core/endpoints/signing-keys/signing-keys';
import { z } from 'zod';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';
import { versionsOf } from '../http/send-reply';
import { healthSchema, presentHealth, presentWebhook, tagOf, webhookSchema } from './present-webhook';
import { secretOf, secretViewSchema } from './webhook-secrets';

const webhookParams = z.object({ id: endpointRefSchema });

/** Not in the webhook itself, whose ETag does not change with the keys of its account. */
const publicKeyShape = {
  public_key: z
    .string()
    .meta({ example: 'whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=' })
    .nullable()
    .describe('The public key that verifies its `v1a` signatures at present. Null if `signing` is `hmac`.'),
};

async function readPublicKey(signingKeys: SigningKeys, { accountId, signing }: Endpoint) {
  const key = signing === 'hmac' ? undefined : await signingKeys.readCurrent(accountId);
  return { public_key: key === undefined ? null : formatPublicKey(key) };
}

const warningsShape = {
  warnings: z
    .array(
      z
        .object({
          code: z
            .enum(filterWarningCodes)
            .describe(
              '`never_matches`: by the present schemas of its types, no event can pass the filter. `unlikely_to_match`: an event can pass only by members that these schemas do not describe.',
            ),
          pointer: z.string().describe('The member of the webhook: a JSON Pointer, such as `/filter/total`.'),
          detail: z.string().describe('What is wrong with it, and what may be meant.'),
        })
        .meta({ id: 'WebhookWarning' }),
    )
    .readonly()
    .describe('Why the webhook will hardly do what was meant. It is in force all the same. Mostly empty.'),
};

const createdWebhookSchema = webhookSchema
  .extend({ ...publicKeyShape, ...secretViewSchema.shape, ...warningsShape })
  .meta({ id: 'CreatedWebhook' });

export const createWebhook = defineRoute({
  operationId: 'createWebhook',
  summary: 'Register a webhook',
  method: 'post',
  path: '/v1/webhooks',
  scope: 'webhooks:write',
  audit: 'webhook.create',
  request: {
    body: ({ urlRules }) => newEndpointSchema(urlRules),
    example: {
      url: 'https://example.com/webhooks',
      events: ['order.created', 'order.paid'],
      description: 'Orders for the warehouse',
    },
  },
  creates: true,
  stores: 'other',
  responses: {
    201: {
      description: 'The webhook, with its secret.',
      schema: createdWebhookSchema,
    },
  },
  problems: ['conflict', 'limit_reached'],
  async handle({ apiKey, body, newId, act }, core) {
    const id = newId(ENDPOINT_ID_PREFIX) as EndpointId;
    const endpoint = await core.endpoints.create(apiKey.accountId, body, id, act);
    return {
      status: 201,
      headers: { location: `/v1/webhooks/${endpoint.id}`, ...tagOf(endpoint) },
      body: {
        ...presentWebhook(endpoint),
        ...(await readPublicKey(core.signingKeys, endpoint)),
        secret: secretOf(endpoint),
        warnings: await findFilterWarnings(core.eventTypes, endpoint),
      },
    };
  },
});

const querySchema = pageQuery(endpointIdSchema).extend({
  status: endpointStatusSchema.optional().describe('Only webhooks with this status. Default: all.'),
  event_type: z
    .string()
    .min(1)
    .optional()
    .describe('Only webhooks that get events of this type. Default: all.'),
  search: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe(
      'Only webhooks whose id, `uid`, URL or description contains this text, in upper or lower case. Default: all.',
    ),
  failing: z
    .enum(['true', 'false'])
    .optional()
    .describe(
      '`true`: only webhooks whose latest attempt failed, or that were disabled for failures. `false`: only the others. Default: all.',
    ),
  include: z
    .enum(['health'])
    .optional()
    .describe('`health`: each webhook of the list has its health. Default: none has.'),
});

const listedWebhookSchema = webhookSchema
  .extend({ health: healthSchema.optional().describe('How its attempts go. Present with `include=health`.') })
  .meta({ id: 'ListedWebhook' });

export const listWebhooks = defineRoute({
  operationId: 'listWebhooks',
  summary: 'List webhooks',
  method: 'get',
  path: '/v1/webhooks',
  scope: 'webhooks:read',
  // Up to 200 webhooks of 64 KiB each.
  isHeavy: true,
  request: { query: querySchema },
  responses: {
    200: { description: 'A page of webhooks.', schema: pageOf(listedWebhookSchema, 'WebhookPage') },
  },
  async handle({ apiKey, query }, core) {
    const { status, event_type: eventType, search, failing } = query;
    const isFailing = failing === undefined ? undefined : failing === 'true';
    const filter = { status, eventType, search, isFailing };
    const page = await core.endpoints.list(apiKey.accountId, filter, query.limit, query.cursor);
    const webhooks = await Promise.all(
      page.endpoints.map(async (endpoint) => {
        const webhook = presentWebhook(endpoint);
        if (query.include !== 'health') return webhook;
        return { ...webhook, health: presentHealth(await core.endpointHealth.read(endpoint), endpoint.id) };
      }),
    );
    return { status: 200, body: presentPage(webhooks, page.nextCursor) };
  },
});

const webhookWithHealthSchema = webhookSchema
  .extend({ ...publicKeyShape, health: healthSchema.describe('How its attempts go.') })
  .meta({ id: 'WebhookWithHealth' });

/** A single one, with its health. */
export const readWebhook = defineRoute({
  operationId: 'readWebhook',
  summary: 'Read a webhook and its health',
  method: 'get',
  path: '/v1/webhooks/:id',
  scope: 'webhooks:read',
  request: { params: webhookParams },
  responses: {
    200: { description: 'The webhook.', schema: webhookWithHealthSchema },
  },
  async handle({ apiKey, params }, core) {
    const endpoint = await core.endpoints.read(apiKey.accountId, params.id);
    const health = presentHealth(await core.endpointHealth.read(endpoint), endpoint.id);
    const publicKey = await readPublicKey(core.signingKeys, endpoint);
    const body = { ...presentWebhook(endpoint), ...publicKey, health };
    return { status: 200, headers: tagOf(endpoint), body };
  },
});

const changedWebhookSchema = webhookSchema.extend(warningsShape).meta({ id: 'ChangedWebhook' });

/**
 * A merge patch (RFC 7396): an absent member stays, `null` removes. With `If-Match`, only if nobody else
 * changed it.
 */
export const updateWebhook = defineRoute({
  operationId: 'updateWebhook',
  summary: 'Change a webhook (a merge patch)',
  method: 'patch',
  path: '/v1/webhooks/:id',
  scope: 'webhooks:write',
  audit: 'webhook.update',
  request: {
    params: webhookParams,
    body: ({ urlRules }) => endpointPatchSchema(urlRules),
    example: { events: ['*'], rate_limit: 50, description: null },
  },
  responses: {
    200: { description: 'The webhook as it is now.', schema: changedWebhookSchema },
  },
  problems: ['conflict', 'precondition_failed'],
  async handle({ apiKey, params, body, header, act }, core) {
    const endpoint = await core.endpoints.update(apiKey.accountId, params.id, body, {
      versions: versionsOf(header('if-match')),
      mayMoveSecrets: maySeeSecrets(apiKey),
      act,
    });
    const warnings = await findFilterWarnings(core.eventTypes, endpoint);
    return { status: 200, headers: tagOf(endpoint), body: { ...presentWebhook(endpoint), warnings } };
  },
});

export const deleteWebhook = defineRoute({
  operationId: 'deleteWebhook',
  summary: 'Delete a webhook',
  method: 'delete',
  path: '/v1/webhooks/:id',
  scope: 'webhooks:write',
  audit: 'webhook.delete',
  request: { params: webhookParams },
  responses: {
    204: { description: 'The webhook is deleted, and its pending deliveries are cancelled.' },
  },
  async handle({ apiKey, params, act }, core) {
    await core.endpoints.remove(apiKey.accountId, params.id, act);
    return { status: 204 };
  },
});

/** Held deliveries are sent at once. */
export const enableWebhook = defineRoute({
  operationId: 'enableWebhook',
  summary: 'Enable a webhook: its held deliveries are sent',
  method: 'post',
  path: '/v1/webhooks/:id/enable',
  scope: 'webhooks:write',
  audit: 'webhook.enable',
  request: { params: webhookParams },
  responses: {
    200: { description: 'The webhook as it is now.', schema: webhookSchema },
  },
  async handle({ apiKey, params, act }, core) {
    const endpoint = await core.endpoints.enable(apiKey.accountId, params.id, act);
    return { status: 200, headers: tagOf(endpoint), body: presentWebhook(endpoint) };
  },
});

/** Deliveries are held from now on, until it is enabled, or discarded. */
export const disableWebhook = defineRoute({
  operationId: 'disableWebhook',
  summary: 'Disable a webhook: its deliveries are held, or discarded',
  method: 'post',
  path: '/v1/webhooks/:id/disable',
  scope: 'webhooks:write',
  audit: 'webhook.disable',
  request: { params: webhookParams },
  responses: {
    200: { description: 'The webhook as it is now.', schema: webhookSchema },
  },
  async handle({ apiKey, params, act }, core) {
    const endpoint = await core.endpoints.disable(apiKey.accountId, params.id, act);
    return { status: 200, headers: tagOf(endpoint), body: presentWebhook(endpoint) };
  },
});

const heldDiscardedSchema = z
  .object({
    discarded: z
      .int()
      .meta({ example: 1_200 })
      .describe(
        'How many deliveries were held. Each of them ends as `cancelled`, with the reason `discarded`.',
      ),
  })
  .meta({ id: 'HeldDiscarded' });

/** Workers end them one after the other: `held` in the health of the webhook says how many are left. */
export const discardHeldDeliveries = defineRoute({
  operationId: 'discardHeldDeliveries',
  summary: 'Discard what a webhook holds now',
  method: 'post',
  path: '/v1/webhooks/:id/discard-held',
  scope: 'webhooks:write',
  audit: 'webhook.discard_held',
  request: { params: webhookParams },
  responses: {
    202: {
      description: 'Accepted: the held deliveries end shortly. A replay can send them later.',
      schema: heldDiscardedSchema,
    },
  },
  async handle({ apiKey, params, act }, core) {
    const discarded = await core.endpoints.discardHeld(apiKey.accountId, params.id, act);
    return { status: 202, body: { discarded } };
  },
});

/** The proof comes later: read the webhook again, or follow the stream. */
export const verifyWebhook = defineRoute({
  operationId: 'verifyWebhook',
  summary: 'Verify a webhook again',
  method: 'post',
  path: '/v1/webhooks/:id/verify',
  scope: 'webhooks:write',
  audit: 'webhook.verify',
  request: { params: webhookParams },
  responses: {
    202: {
      description: 'The webhook as it is now. The service tries to verify it shortly.',
      schema: webhookSchema,
    },
  },
  problems: ['conflict'],
  async handle({ apiKey, params, act }, core) {
    const endpoint = await core.endpoints.verify(apiKey.accountId, params.id, act);
    return { status: 202, headers: tagOf(endpoint), body: presentWebhook(endpoint) };
  },
});

const bodySchema = z
  .strictObject({
    event_type: z
      .string()
      .meta(EVENT_TYPE_NAME_FORM)
      .optional()
      .describe('The event type whose example is sent. Default: the first one that the webhook gets.'),
  })
  .meta({ id: 'NewTest' });

const testSentSchema = z
  .object({
    event_id: z.string().describe('The id of the test event, which the receiver gets as `webhook-id`.'),
    delivery_id: z.string().describe('The delivery of the test event: see `GET /v1/deliveries/{id}`.'),
  })
  .meta({ id: 'TestSent' });

/** The catalogue's example of a type, to this webhook alone. */
export const testWebhook = defineRoute({
  operationId: 'testWebhook',
  summary: 'Send a test event to a webhook',
  method: 'post',
  path: '/v1/webhooks/:id/test',
  scope: 'webhooks:write',
  audit: 'webhook.test',
  request: {
    params: webhookParams,
    body: bodySchema,
    mayLackBody: true,
    example: { event_type: 'order.created' },
  },
  creates: true,
  stores: 'event',
  responses: {
    202: { description: 'Accepted: the event and its delivery.', schema: testSentSchema },
  },
  problems: ['clock_skewed'],
  async handle(request, core) {
    const { params, body } = request;
    if (!core.redisClock.isTrusted) await core.redisClock.requireTrusted();
    const delivery = await core.publishing.test(request, params.id, body.event_type);
    return { status: 202, body: { event_id: delivery.eventId, delivery_id: deliveryIdOf(delivery) } };
  },
});
