import { contentOf, findAccountSource } from '@hookferry/core/deliver/cloudevents';
import { DELIVERY_ID_FORM } from '@hookferry/core/domain/delivery';
import { endpointIdSchema, endpointRefSchema } from '@hookferry/core/domain/endpoint';
import { eventIdSchema, eventTypeNameSchema } from '@hookferry/core/domain/event';
import type { DeliveriesPage } from '@hookferry/core/history/deliveries';
import type { ListMark } from '@hookferry/core/history/history-source';
import { z } from 'zod';
import {
  dataQuery,
  eventCursorSchema,
  historyPageOf,
  isInOrder,
  pageQuery,
  presentHistoryPage,
  timeRangeQuery,
} from '../http/page';
import { defineRoute } from '../http/route';
import { isAttemptedInOrder, standingFilterOf, standingQuery } from './delivery-query';
import {
  deliverySchema,
  deliveryWithAttemptsSchema,
  presentDelivery,
  presentDeliveryWithAttempts,
} from './present-delivery';

const deliveryParams = z.object({ id: z.string().meta(DELIVERY_ID_FORM) });

/** The query parameters that filter lists in the order of events. */
const filterQuery = {
  event_type: eventTypeNameSchema
    .optional()
    .describe('Only deliveries of events of this type. Default: those of all types.'),
  ...standingQuery,
  ...dataQuery,
  ...timeRangeQuery('deliveries of events that were accepted'),
};

function filterOf(query: z.infer<z.ZodObject<typeof filterQuery>>) {
  const { event_type: eventType, data, since, until } = query;
  return { ...standingFilterOf(query), eventType, data, since, until };
}

const querySchema = pageQuery(eventCursorSchema.extend({ endpointId: endpointIdSchema.optional() }))
  .extend({
    webhook_id: endpointRefSchema
      .optional()
      .describe('Only deliveries of this webhook: its id or its `uid`. Default: those of all webhooks.'),
    event_id: eventIdSchema
      .optional()
      .describe('Only deliveries of this event. Default: those of all events.'),
    ...filterQuery,
  })
  .refine(...isInOrder)
  .refine(...isAttemptedInOrder);

export const listDeliveries = defineRoute({
  operationId: 'listDeliveries',
  summary: 'List deliveries, newest event first',
  method: 'get',
  path: '/v1/deliveries',
  scope: 'deliveries:read',
  request: { query: querySchema },
  responses: {
    200: {
      description: 'A page of deliveries.',
      schema: historyPageOf(deliverySchema, 'DeliveryPage'),
    },
  },
  problems: ['history_unavailable'],
  async handle({ apiKey, query }, core) {
    const { limit, cursor, webhook_id: endpoint, event_id: eventId } = query;
    const scope = { endpoint, eventId };
    const page = await core.deliveries.list(apiKey.accountId, scope, filterOf(query), limit, cursor);
    return { status: 200, body: presentList(page) };
  },
});

function presentList(page: DeliveriesPage<ListMark>) {
  const part = { ...page, searchedBackTo: page.nextCursor?.createdAt };
  return presentHistoryPage(page.deliveries.map(presentDelivery), part);
}

const ofEventQuerySchema = pageQuery(endpointIdSchema)
  .extend(standingQuery)
  .refine(...isAttemptedInOrder);

export const listEventDeliveries = defineRoute({
  operationId: 'listEventDeliveries',
  summary: "List an event's deliveries",
  method: 'get',
  path: '/v1/events/:id/deliveries',
  scope: 'deliveries:read',
  request: { params: z.object({ id: eventIdSchema }), query: ofEventQuerySchema },
  responses: {
    200: {
      description: 'A page of deliveries.',
      schema: historyPageOf(deliverySchema, 'DeliveryPage'),
    },
  },
  problems: ['history_unavailable'],
  async handle({ apiKey, params, query }, core) {
    const { limit, cursor } = query;
    const filter = standingFilterOf(query);
    const page = await core.deliveries.listOfEvent(apiKey.accountId, params.id, filter, limit, cursor);
    return { status: 200, body: presentHistoryPage(page.deliveries.map(presentDelivery), page) };
  },
});

const ofWebhookQuerySchema = pageQuery(eventCursorSchema)
  .extend(filterQuery)
  .refine(...isInOrder)
  .refine(...isAttemptedInOrder);

export const listWebhookDeliveries = defineRoute({
  operationId: 'listWebhookDeliveries',
  summary: "List a webhook's deliveries",
  method: 'get',
  path: '/v1/webhooks/:id/deliveries',
  scope: 'deliveries:read',
  request: { params: z.object({ id: endpointRefSchema }), query: ofWebhookQuerySchema },
  responses: {
    200: {
      description: 'A page of deliveries.',
      schema: historyPageOf(deliverySchema, 'DeliveryPage'),
    },
  },
  problems: ['history_unavailable'],
  async handle({ apiKey, params, query }, core) {
    const { limit, cursor } = query;
    const scope = { endpoint: params.id };
    const page = await core.deliveries.list(apiKey.accountId, scope, filterOf(query), limit, cursor);
    return { status: 200, body: presentList(page) };
  },
});

export const readDelivery = defineRoute({
  operationId: 'readDelivery',
  summary: 'Read a delivery with its attempts',
  method: 'get',
  path: '/v1/deliveries/:id',
  scope: 'deliveries:read',
  request: { params: deliveryParams },
  responses: {
    200: { description: 'The delivery.', schema: deliveryWithAttemptsSchema },
  },
  problems: ['history_unavailable'],
  async handle({ apiKey, params }, core) {
    const delivery = await core.deliveries.read(apiKey.accountId, params.id);
    return { status: 200, body: presentDeliveryWithAttempts(delivery) };
  },
});

const contentSchema = z
  .object({
    headers: z
      .record(z.string(), z.string())
      .describe('The headers that describe the body, such as `content-type`.'),
    body: z.string().nullable().describe('The body, byte for byte. Null: the payload was erased.'),
  })
  .meta({ id: 'DeliveryContent' });

/** In the format that its webhook has now: tools that send it themselves, such as the portal, need no other. */
export const readDeliveryContent = defineRoute({
  operationId: 'readDeliveryContent',
  summary: 'Read the body that a delivery sends, and the headers that describe it',
  method: 'get',
  path: '/v1/deliveries/:id/content',
  scope: 'deliveries:read',
  request: { params: deliveryParams },
  responses: {
    200: {
      description:
        'The body that its last attempt sent. Before the first attempt: the body that it would send.',
      schema: contentSchema,
    },
  },
  problems: ['history_unavailable'],
  async handle({ apiKey: { accountId }, params }, core) {
    const { eventId, endpointId, attempts } = await core.deliveries.read(accountId, params.id);
    const endpoint = await core.endpoints.read(accountId, endpointId);
    const { event } = await core.history.readEvent(accountId, eventId);
    if (event.body === undefined) return { status: 200, body: { headers: {}, body: null } };
    const { SOURCE: source, PUBLIC_URL: publicUrl } = core.config;
    const accountSource = await findAccountSource(core.accountStore, endpoint);
    const transformed = attempts.at(-1)?.transformed;
    const content = contentOf({ event, endpoint, transformed, accountSource }, { source, publicUrl });
    return { status: 200, body: content };
  },
});

const REQUEST_ID_PREFIX = 'rdl';

/** Once more, now, under the same `webhook-id`. */
export const redeliverDelivery = defineRoute({
  operationId: 'redeliverDelivery',
  summary: 'Redeliver: send a delivery once more, now',
  method: 'post',
  path: '/v1/deliveries/:id/redeliver',
  scope: 'deliveries:write',
  audit: 'delivery.redeliver',
  request: { params: deliveryParams },
  creates: true,
  stores: 'other',
  responses: {
    202: { description: 'The delivery as it is now.', schema: deliveryWithAttemptsSchema },
  },
  problems: ['conflict', 'payload_erased', 'limit_reached', 'history_unavailable'],
  async handle({ apiKey, params, newId, act }, core) {
    const request = newId(REQUEST_ID_PREFIX);
    const delivery = await core.redelivery.redeliver(apiKey.accountId, params.id, request, act);
    return { status: 202, body: presentDeliveryWithAttempts(delivery) };
  },
});
