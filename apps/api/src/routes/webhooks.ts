import { maySeeSecrets } from '@hookferry/core/domain/account';
import { deliveryIdOf } from '@hookferry/core/domain/delivery';
import {
  ENDPOINT_ID_PREFIX,
  type EndpointId,
  endpointIdSchema,
  endpointStatusSchema,
  newestSecret,
} from '@hookferry/core/domain/endpoint';
import type { TargetUrlRules } from '@hookferry/core/egress/target-url';
import { endpointPatchSchema, newEndpointSchema } from '@hookferry/core/endpoints/endpoint-input';
import type { ReadHealth } from '@hookferry/core/endpoints/health/read-health';
import type { ManageEndpoints } from '@hookferry/core/endpoints/manage-endpoints';
import { ROTATION_ID_PREFIX, secretRotationSchema } from '@hookferry/core/endpoints/rotate-secret';
import { EVENT_TYPE_NAME_FORM } from '@hookferry/core/event-types/custom-event-type';
import { formatTime, timeSchema } from '@hookferry/core/platform/clock';
import type { TestEndpoint } from '@hookferry/core/publish/test-endpoint';
import { z } from 'zod';
import { versionsOf } from '../http/etag';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';
import { webhookParams } from './params';
import { healthSchema, presentHealth, presentWebhook, tagOf, webhookSchema } from './present-webhook';

/** The few answers that show a webhook's secret have it so. */
export const secretViewSchema = z
  .object({ secret: z.string().meta({ example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }) })
  .meta({ id: 'Secret' });

const createdWebhookSchema = webhookSchema.extend(secretViewSchema.shape).meta({ id: 'CreatedWebhook' });

export function createWebhook(endpoints: ManageEndpoints, rules: TargetUrlRules) {
  return defineRoute({
    operationId: 'createWebhook',
    summary: 'Register a webhook',
    method: 'post',
    path: '/v1/webhooks',
    scope: 'webhooks:write',
    request: { body: newEndpointSchema(rules) },
    creates: true,
    stores: 'other',
    responses: {
      201: {
        description: 'The webhook, and for the only time beside it its secret.',
        schema: createdWebhookSchema,
      },
    },
    problems: ['conflict', 'limit_reached'],
    async handle({ apiKey, body, newId }) {
      const id = newId(ENDPOINT_ID_PREFIX) as EndpointId;
      const endpoint = await endpoints.create(apiKey.accountId, body, id);
      return {
        status: 201,
        headers: { location: `/v1/webhooks/${endpoint.id}`, ...tagOf(endpoint) },
        body: { ...presentWebhook(endpoint), secret: newestSecret(endpoint).secret },
      };
    },
  });
}

const querySchema = pageQuery(endpointIdSchema).extend({
  status: endpointStatusSchema.optional(),
  /** Those that asked for events of this type. */
  event_type: z.string().min(1).optional(),
  include: z.enum(['health']).optional(),
});

const listedWebhookSchema = webhookSchema
  .extend({ health: healthSchema.optional().describe('How it is doing, with `include=health`.') })
  .meta({ id: 'ListedWebhook' });

export function listWebhooks(endpoints: ManageEndpoints, readHealth: ReadHealth) {
  return defineRoute({
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
    async handle({ apiKey, query }) {
      const filter = { status: query.status, eventType: query.event_type };
      const page = await endpoints.list(apiKey.accountId, filter, query.limit, query.cursor);
      const webhooks = await Promise.all(
        page.endpoints.map(async (endpoint) => {
          const webhook = presentWebhook(endpoint);
          if (query.include !== 'health') return webhook;
          return { ...webhook, health: presentHealth(await readHealth(endpoint)) };
        }),
      );
      return { status: 200, body: presentPage(webhooks, page.nextCursor) };
    },
  });
}

const webhookWithHealthSchema = webhookSchema
  .extend({ health: healthSchema })
  .meta({ id: 'WebhookWithHealth' });

/** Read alone, it also says how it is doing. */
export function readWebhook(endpoints: ManageEndpoints, readHealth: ReadHealth) {
  return defineRoute({
    operationId: 'readWebhook',
    summary: 'Read a webhook, and how it is doing',
    method: 'get',
    path: '/v1/webhooks/:id',
    scope: 'webhooks:read',
    request: { params: webhookParams },
    responses: {
      200: { description: 'The webhook.', schema: webhookWithHealthSchema },
    },
    async handle({ apiKey, params }) {
      const endpoint = await endpoints.read(apiKey.accountId, params.id);
      const health = presentHealth(await readHealth(endpoint));
      return { status: 200, headers: tagOf(endpoint), body: { ...presentWebhook(endpoint), health } };
    },
  });
}

/** A merge patch (RFC 7396): what is left out stays, `null` removes. With `If-Match`, only if nobody else changed it. */
export function updateWebhook(endpoints: ManageEndpoints, rules: TargetUrlRules) {
  return defineRoute({
    operationId: 'updateWebhook',
    summary: 'Change a webhook (a merge patch)',
    method: 'patch',
    path: '/v1/webhooks/:id',
    scope: 'webhooks:write',
    request: { params: webhookParams, body: endpointPatchSchema(rules) },
    responses: {
      200: { description: 'The webhook as it is now.', schema: webhookSchema },
    },
    problems: ['conflict', 'precondition_failed'],
    async handle({ apiKey, params, body, header }) {
      const endpoint = await endpoints.update(apiKey.accountId, params.id, body, {
        versions: versionsOf(header('if-match')),
        mayMoveSecrets: maySeeSecrets(apiKey),
      });
      return { status: 200, headers: tagOf(endpoint), body: presentWebhook(endpoint) };
    },
  });
}

export function deleteWebhook(endpoints: ManageEndpoints) {
  return defineRoute({
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook',
    method: 'delete',
    path: '/v1/webhooks/:id',
    scope: 'webhooks:write',
    request: { params: webhookParams },
    responses: {
      204: { description: 'It is gone, and what was pending for it is cancelled.' },
    },
    async handle({ apiKey, params }) {
      await endpoints.remove(apiKey.accountId, params.id);
      return { status: 204 };
    },
  });
}

/** What was held flows at once. */
export function enableWebhook(endpoints: ManageEndpoints) {
  return defineRoute({
    operationId: 'enableWebhook',
    summary: 'Enable a webhook: what was held flows',
    method: 'post',
    path: '/v1/webhooks/:id/enable',
    scope: 'webhooks:write',
    request: { params: webhookParams },
    responses: {
      200: { description: 'The webhook as it is now.', schema: webhookSchema },
    },
    async handle({ apiKey, params }) {
      const endpoint = await endpoints.enable(apiKey.accountId, params.id);
      return { status: 200, headers: tagOf(endpoint), body: presentWebhook(endpoint) };
    },
  });
}

/** Deliveries are held from now on, until it is enabled. */
export function disableWebhook(endpoints: ManageEndpoints) {
  return defineRoute({
    operationId: 'disableWebhook',
    summary: 'Disable a webhook: its deliveries are held',
    method: 'post',
    path: '/v1/webhooks/:id/disable',
    scope: 'webhooks:write',
    request: { params: webhookParams },
    responses: {
      200: { description: 'The webhook as it is now.', schema: webhookSchema },
    },
    async handle({ apiKey, params }) {
      const endpoint = await endpoints.disable(apiKey.accountId, params.id);
      return { status: 200, headers: tagOf(endpoint), body: presentWebhook(endpoint) };
    },
  });
}

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

/** Whoever may give a webhook a secret may see it: hence the scope, and not that of reading. */
export function readWebhookSecret(endpoints: ManageEndpoints) {
  return defineRoute({
    operationId: 'readWebhookSecret',
    summary: "Read a webhook's secret",
    method: 'get',
    path: '/v1/webhooks/:id/secret',
    scope: 'webhooks:write',
    handlesSecret: true,
    request: { params: webhookParams },
    responses: {
      200: { description: 'The newest secret that signs.', schema: secretViewSchema },
    },
    async handle({ apiKey, params }) {
      const endpoint = await endpoints.read(apiKey.accountId, params.id);
      return {
        status: 200,
        headers: { 'cache-control': 'no-store' },
        body: { secret: newestSecret(endpoint).secret },
      };
    },
  });
}

const rotatedSecretSchema = secretViewSchema
  .extend({ previous_secret_expires_at: timeSchema })
  .meta({ id: 'RotatedSecret' });

/** The secrets so far go on to sign for a while, so that receivers can change over. */
export function rotateWebhookSecret(endpoints: ManageEndpoints) {
  return defineRoute({
    operationId: 'rotateWebhookSecret',
    summary: 'Give a webhook a new secret',
    method: 'post',
    path: '/v1/webhooks/:id/rotate-secret',
    scope: 'webhooks:write',
    handlesSecret: true,
    request: { params: webhookParams, body: secretRotationSchema, mayLackBody: true },
    creates: true,
    responses: {
      200: {
        description: 'The new secret, and how long those before it go on to sign.',
        schema: rotatedSecretSchema,
      },
    },
    problems: ['conflict'],
    async handle({ apiKey, params, body, newId }) {
      const { secret, previousExpiresAt } = await endpoints.rotateSecret(
        apiKey.accountId,
        params.id,
        body,
        newId(ROTATION_ID_PREFIX),
      );
      return {
        status: 200,
        headers: { 'cache-control': 'no-store' },
        body: { secret, previous_secret_expires_at: formatTime(previousExpiresAt) },
      };
    },
  });
}
