import { AuditLog } from '@hookferry/core/accounts/audit/redis-audit-log';
import { EventTypeStore } from '@hookferry/core/accounts/event-types/redis-event-type-store';
import { AccountStore } from '@hookferry/core/accounts/redis-account-store';
import { ApiKeyStore } from '@hookferry/core/accounts/redis-api-key-store';
import { PortalSessionStore } from '@hookferry/core/accounts/redis-portal-session-store';
import type { AccountId } from '@hookferry/core/domain/account';
import type { Contact } from '@hookferry/core/domain/contact';
import { type DeadLetterId, deadLetterIdOf } from '@hookferry/core/domain/dead-letter';
import { deliveryIdOf } from '@hookferry/core/domain/delivery';
import type { Endpoint } from '@hookferry/core/domain/endpoint';
import { DEAD_LETTERS_QUEUE, oneShard } from '@hookferry/core/domain/queues';
import { EndpointStore } from '@hookferry/core/endpoints/redis-endpoint-store';
import { TransformationStore } from '@hookferry/core/endpoints/redis-transformation-store';
import { DeliveryStore } from '@hookferry/core/events/redis-delivery-store';
import { EventStore } from '@hookferry/core/events/redis-event-store';
import { ScheduledEventStore } from '@hookferry/core/events/redis-scheduled-event-store';
import { ListenerStore } from '@hookferry/core/listeners/redis-listener-store';
import { ContactStore, confirmationsKeyOf } from '@hookferry/core/notifications/redis-contact-store';
import { NotificationStore } from '@hookferry/core/notifications/redis-notification-store';
import { AppError } from '@hookferry/core/platform/app-error';
import { formatTime } from '@hookferry/core/platform/clock';
import { RejectedEvents, rejectedJobId } from '@hookferry/core/queue/bullmq-rejected-events';
import { ReplayStore } from '@hookferry/core/replays/redis-replay-store';
import { buildAct } from '@hookferry/core/testing/build-act';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { buildContact } from '@hookferry/core/testing/build-contact';
import { buildEndpoint } from '@hookferry/core/testing/build-endpoint';
import { buildEvent, buildScheduledEvent } from '@hookferry/core/testing/build-event';
import { buildNewDeliveries } from '@hookferry/core/testing/build-new-deliveries';
import { buildPortalSession } from '@hookferry/core/testing/build-portal-session';
import { buildReplayOrder } from '@hookferry/core/testing/build-replay';
import type { TestRedis } from '@hookferry/core/testing/test-redis';
import { testRetention } from '@hookferry/core/testing/test-retention';
import { testSealer } from '@hookferry/core/testing/test-sealer';
import {
  uniqueAccountId,
  uniqueContactId,
  uniqueEndpointId,
  uniqueEventId,
  uniqueNotificationId,
} from '@hookferry/core/testing/unique-ids';
import { QUEUE_PREFIX } from '@hookferry/producer/contract';
import type { Route } from '../http/route';
import { respondToListener } from '../routes/listeners';
import { exchangePortalCode } from '../routes/portal-sessions';

/** The kinds of ids in a route's path. */
export type Resource =
  | 'webhook'
  /** A webhook that could not be verified. */
  | 'unverified'
  | 'listener'
  | 'delivery'
  | 'replay'
  | 'event'
  | 'scheduledEvent'
  | 'apiKey'
  | 'portalSession'
  | 'account'
  | 'deadLetter'
  | 'contact'
  /** A contact that has not confirmed. */
  | 'unconfirmed';

/** A route, and the facts that tests of every route need. */
export interface RouteCase {
  readonly method: Route['method'];
  readonly path: string;
  readonly scope: Route['scope'];
  /** The path of an object that belongs to no account. */
  readonly at?: string;
  /** The kind of the id in the path. */
  readonly of?: Resource;
  /** A body that it takes. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** Whether there need be none. */
  readonly mayLackBody?: true;
  /** The response to a valid request. */
  readonly status: number;
  readonly isList?: true;
  /** The query that makes it end. */
  readonly query?: string;
  /** Beside those that are lists: whether it takes query parameters. */
  readonly takesQuery?: true;
  /** Only for keys of the operator's account. */
  readonly operatorOnly?: true;
  /** Whether it takes an Idempotency-Key. */
  readonly creates?: true;
  /** How large a body may be, if not as large as that of one event. */
  readonly maxBodyBytes?: number;
  /** How many values it may hold, where that can be reached below its limit of bytes. */
  readonly maxBodyValues?: number;
}

const CUSTOM_TYPE = {
  name: 'invoice.paid',
  description: 'An invoice was paid.',
  schema: true,
  example: {},
  deprecated: false,
  updatedAt: 0,
};

/** The type of the event that belongs to each account. */
const ORDER_CREATED = {
  ...CUSTOM_TYPE,
  name: 'order.created',
  description: 'An order was placed.',
  example: { id: 'ord_4711', total: 99.5 },
};

/** Of a transformation. */
const SLACK_URL = 'https://hooks.slack.com/services/T000/B000/XXXX';
const CODE = 'export default () => ({ body: 1 });';

/** The stream of each account's connected listener. */
const LISTENER_STREAM = (respondToListener.request.example as { readonly stream: string }).stream;

/** Every route of the API, in the order of `routes/index.ts` and `capabilities.ts`. */
export const routeCases: readonly RouteCase[] = [
  {
    method: 'post',
    path: '/v1/webhooks',
    scope: 'webhooks:write',
    body: { url: 'https://receiver.example.com/hooks', events: ['*'] },
    status: 201,
    creates: true,
  },
  { method: 'get', path: '/v1/webhooks', scope: 'webhooks:read', status: 200, isList: true },
  { method: 'get', path: '/v1/webhooks/:id', scope: 'webhooks:read', of: 'webhook', status: 200 },
  {
    method: 'patch',
    path: '/v1/webhooks/:id',
    scope: 'webhooks:write',
    of: 'webhook',
    body: { description: 'new' },
    status: 200,
  },
  { method: 'delete', path: '/v1/webhooks/:id', scope: 'webhooks:write', of: 'webhook', status: 204 },
  { method: 'post', path: '/v1/webhooks/:id/enable', scope: 'webhooks:write', of: 'webhook', status: 200 },
  { method: 'post', path: '/v1/webhooks/:id/disable', scope: 'webhooks:write', of: 'webhook', status: 200 },
  {
    method: 'post',
    path: '/v1/webhooks/:id/discard-held',
    scope: 'webhooks:write',
    of: 'webhook',
    status: 202,
  },
  { method: 'get', path: '/v1/webhooks/:id/secret', scope: 'webhooks:write', of: 'webhook', status: 200 },
  {
    method: 'post',
    path: '/v1/webhooks/:id/rotate-secret',
    scope: 'webhooks:write',
    of: 'webhook',
    mayLackBody: true,
    body: { overlap_seconds: 60 },
    status: 201,
    creates: true,
  },
  { method: 'post', path: '/v1/webhooks/:id/verify', scope: 'webhooks:write', of: 'unverified', status: 202 },
  {
    method: 'post',
    path: '/v1/webhooks/:id/test',
    scope: 'webhooks:write',
    of: 'webhook',
    mayLackBody: true,
    body: { event_type: ORDER_CREATED.name },
    status: 202,
    creates: true,
  },
  {
    method: 'put',
    path: '/v1/webhooks/:id/transformation',
    scope: 'webhooks:write',
    of: 'webhook',
    body: { code: CODE },
    status: 200,
  },
  {
    method: 'get',
    path: '/v1/webhooks/:id/transformation',
    scope: 'webhooks:read',
    of: 'webhook',
    status: 200,
  },
  {
    method: 'delete',
    path: '/v1/webhooks/:id/transformation',
    scope: 'webhooks:write',
    of: 'webhook',
    status: 204,
  },
  {
    method: 'post',
    path: '/v1/webhooks/:id/transformation/try',
    scope: 'webhooks:read',
    of: 'webhook',
    body: { code: CODE, event_type: ORDER_CREATED.name },
    status: 200,
  },
  {
    method: 'get',
    path: '/v1/webhooks/:id/transformation/versions',
    scope: 'webhooks:read',
    of: 'webhook',
    status: 200,
  },
  {
    method: 'post',
    path: '/v1/webhooks/:id/transformation/versions/:version/restore',
    scope: 'webhooks:write',
    of: 'webhook',
    status: 200,
  },
  {
    method: 'post',
    path: '/v1/transformations/try',
    scope: 'webhooks:read',
    body: { code: CODE, event_type: ORDER_CREATED.name },
    status: 200,
  },
  { method: 'get', path: '/v1/transformations/templates', scope: 'any', status: 200 },
  {
    method: 'get',
    path: '/.well-known/webhooks/:account_id/jwks.json',
    at: '/.well-known/webhooks/default/jwks.json',
    scope: 'none',
    status: 200,
  },
  { method: 'get', path: '/v1/signing-keys', scope: 'webhooks:read', status: 200 },
  {
    method: 'post',
    path: '/v1/signing-keys/rotate',
    scope: 'webhooks:write',
    mayLackBody: true,
    body: { immediate: true },
    status: 201,
    creates: true,
  },
  {
    method: 'post',
    path: '/v1/filters/try',
    scope: 'webhooks:read',
    body: { filter: { total: { gte: 100 } }, data: { total: 250 } },
    status: 200,
  },
  {
    method: 'post',
    path: '/v1/contacts',
    scope: 'webhooks:write',
    body: { type: 'slack', url: SLACK_URL },
    status: 201,
    creates: true,
  },
  { method: 'get', path: '/v1/contacts', scope: 'webhooks:read', status: 200 },
  {
    method: 'patch',
    path: '/v1/contacts/:id',
    scope: 'webhooks:write',
    of: 'contact',
    body: { digest: 'daily' },
    status: 200,
  },
  {
    method: 'post',
    path: '/v1/contacts/:id/ask-again',
    scope: 'webhooks:write',
    of: 'unconfirmed',
    status: 202,
  },
  { method: 'post', path: '/v1/contacts/:id/test', scope: 'webhooks:write', of: 'contact', status: 202 },
  { method: 'delete', path: '/v1/contacts/:id', scope: 'webhooks:write', of: 'contact', status: 204 },
  { method: 'get', path: '/v1/notifications', scope: 'webhooks:read', status: 200, isList: true },
  {
    method: 'post',
    path: '/v1/listeners',
    scope: 'webhooks:write',
    body: { name: 'laptop' },
    status: 201,
  },
  {
    method: 'get',
    path: '/v1/listeners/:id/stream',
    scope: 'webhooks:write',
    of: 'listener',
    status: 200,
    takesQuery: true,
    query: '?max_seconds=1',
  },
  {
    method: 'post',
    path: '/v1/listeners/:id/responses',
    scope: 'webhooks:write',
    of: 'listener',
    body: { stream: LISTENER_STREAM, responses: [{ exchange: '1', status: 204 }] },
    status: 204,
  },
  {
    method: 'get',
    path: '/v1/stream',
    scope: 'deliveries:read',
    status: 200,
    takesQuery: true,
    query: '?max_seconds=1',
  },
  {
    method: 'get',
    path: '/v1/webhooks/:id/deliveries',
    scope: 'deliveries:read',
    of: 'webhook',
    status: 200,
    isList: true,
  },
  { method: 'get', path: '/v1/deliveries', scope: 'deliveries:read', status: 200, isList: true },
  { method: 'get', path: '/v1/deliveries/export', scope: 'deliveries:read', status: 200, takesQuery: true },
  { method: 'get', path: '/v1/deliveries/:id', scope: 'deliveries:read', of: 'delivery', status: 200 },
  {
    method: 'get',
    path: '/v1/deliveries/:id/content',
    scope: 'deliveries:read',
    of: 'delivery',
    status: 200,
  },
  {
    method: 'post',
    path: '/v1/deliveries/:id/redeliver',
    scope: 'deliveries:write',
    of: 'delivery',
    status: 202,
    creates: true,
  },
  { method: 'get', path: '/v1/metrics/deliveries', scope: 'deliveries:read', status: 200, takesQuery: true },
  { method: 'get', path: '/v1/metrics/events', scope: 'deliveries:read', status: 200, takesQuery: true },
  {
    method: 'post',
    path: '/v1/webhooks/:id/replays',
    scope: 'deliveries:write',
    of: 'webhook',
    body: { since: '2026-01-01T00:00:00Z', mode: 'failed' },
    status: 202,
    creates: true,
  },
  {
    method: 'get',
    path: '/v1/webhooks/:id/replays',
    scope: 'deliveries:read',
    of: 'webhook',
    status: 200,
    isList: true,
  },
  {
    method: 'get',
    path: '/v1/replays/:id',
    scope: 'deliveries:read',
    of: 'replay',
    status: 200,
    takesQuery: true,
  },
  {
    method: 'get',
    path: '/v1/replays/:id/deliveries',
    scope: 'deliveries:read',
    of: 'replay',
    status: 200,
    isList: true,
  },
  { method: 'delete', path: '/v1/replays/:id', scope: 'deliveries:write', of: 'replay', status: 204 },
  { method: 'get', path: '/v1/events', scope: 'deliveries:read', status: 200, isList: true },
  {
    method: 'post',
    path: '/v1/events',
    scope: 'events:write',
    body: { type: ORDER_CREATED.name, data: ORDER_CREATED.example },
    status: 202,
    creates: true,
  },
  {
    method: 'post',
    path: '/v1/events/batch',
    scope: 'events:write',
    body: { events: [{ type: ORDER_CREATED.name, data: ORDER_CREATED.example }] },
    status: 207,
    creates: true,
    maxBodyBytes: 5 * 1024 * 1024,
    maxBodyValues: 150_000,
  },
  { method: 'get', path: '/v1/events/:id', scope: 'deliveries:read', of: 'event', status: 200 },
  {
    method: 'patch',
    path: '/v1/events/:id',
    scope: 'events:write',
    of: 'scheduledEvent',
    body: { deliver_at: formatTime(Date.now() + 3_600_000) },
    status: 200,
  },
  { method: 'delete', path: '/v1/events/:id', scope: 'events:write', of: 'scheduledEvent', status: 204 },
  { method: 'delete', path: '/v1/events/:id/payload', scope: 'events:write', of: 'event', status: 204 },
  {
    method: 'get',
    path: '/v1/events/:id/deliveries',
    scope: 'deliveries:read',
    of: 'event',
    status: 200,
    isList: true,
  },
  {
    method: 'get',
    path: '/v1/events/:id/explanations',
    scope: 'deliveries:read',
    of: 'event',
    status: 200,
    isList: true,
  },
  { method: 'get', path: '/v1/event-types', scope: 'any', status: 200 },
  {
    method: 'get',
    path: '/v1/event-types/:name',
    at: `/v1/event-types/${CUSTOM_TYPE.name}`,
    scope: 'any',
    status: 200,
  },
  {
    method: 'get',
    path: '/v1/event-types/:name/schema',
    at: `/v1/event-types/${CUSTOM_TYPE.name}/schema`,
    scope: 'none',
    status: 200,
  },
  {
    method: 'put',
    path: '/v1/event-types/:name',
    at: `/v1/event-types/${CUSTOM_TYPE.name}`,
    scope: 'admin',
    operatorOnly: true,
    body: { description: 'An invoice was paid.', schema: { type: 'object' }, example: {} },
    status: 200,
    maxBodyBytes: 128 * 1024,
    maxBodyValues: 10_000,
  },
  {
    method: 'delete',
    path: '/v1/event-types/:name',
    at: `/v1/event-types/${CUSTOM_TYPE.name}`,
    scope: 'admin',
    operatorOnly: true,
    status: 204,
  },
  {
    method: 'post',
    path: '/v1/api-keys',
    scope: 'admin',
    body: { name: 'ci', scopes: ['events:write'] },
    status: 201,
    creates: true,
  },
  { method: 'get', path: '/v1/api-keys', scope: 'admin', status: 200, isList: true },
  {
    method: 'post',
    path: '/v1/api-keys/:id/rotate',
    scope: 'admin',
    of: 'apiKey',
    mayLackBody: true,
    body: { overlap_seconds: 60 },
    status: 201,
    creates: true,
  },
  { method: 'delete', path: '/v1/api-keys/:id', scope: 'admin', of: 'apiKey', status: 204, takesQuery: true },
  { method: 'get', path: '/v1/me', scope: 'any', status: 200 },
  { method: 'get', path: '/v1/audit-log', scope: 'audit:read', status: 200, isList: true },
  { method: 'get', path: '/v1/audit-log/export', scope: 'audit:read', status: 200, takesQuery: true },
  {
    method: 'post',
    path: '/v1/portal-sessions',
    scope: 'portal:write',
    mayLackBody: true,
    body: { expires_in_seconds: 60 },
    status: 201,
    creates: true,
  },
  { method: 'get', path: '/v1/portal-sessions', scope: 'portal:write', status: 200, isList: true },
  {
    method: 'post',
    path: '/v1/portal-sessions/exchange',
    scope: 'none',
    body: exchangePortalCode.request.example as NonNullable<RouteCase['body']>,
    status: 401,
    maxBodyBytes: 1_024,
  },
  {
    method: 'delete',
    path: '/v1/portal-sessions/:id',
    scope: 'portal:write',
    of: 'portalSession',
    status: 204,
  },
  {
    method: 'post',
    path: '/v1/accounts',
    scope: 'accounts:act',
    operatorOnly: true,
    body: { name: 'Acme' },
    status: 201,
    creates: true,
  },
  {
    method: 'get',
    path: '/v1/accounts',
    scope: 'accounts:act',
    operatorOnly: true,
    status: 200,
    isList: true,
  },
  {
    method: 'get',
    path: '/v1/accounts/:id',
    scope: 'accounts:act',
    operatorOnly: true,
    of: 'account',
    status: 200,
    takesQuery: true,
  },
  {
    method: 'patch',
    path: '/v1/accounts/:id',
    scope: 'admin',
    operatorOnly: true,
    of: 'account',
    body: { weight: 2 },
    status: 200,
  },
  {
    method: 'delete',
    path: '/v1/accounts/:id',
    scope: 'admin',
    operatorOnly: true,
    of: 'account',
    status: 202,
  },
  {
    method: 'post',
    path: '/v1/accounts/:id/pause',
    scope: 'admin',
    operatorOnly: true,
    of: 'account',
    body: { reason: 'Its receivers are down' },
    mayLackBody: true,
    status: 200,
  },
  {
    method: 'post',
    path: '/v1/accounts/:id/resume',
    scope: 'admin',
    operatorOnly: true,
    of: 'account',
    status: 200,
  },
  { method: 'get', path: '/v1/account/usage', scope: 'any', status: 200 },
  { method: 'get', path: '/v1/source-addresses', scope: 'none', status: 200 },
  { method: 'get', path: '/v1/status', scope: 'none', status: 200 },
  { method: 'get', path: '/v1/operations', scope: 'admin', operatorOnly: true, status: 200 },
  {
    method: 'get',
    path: '/v1/operations/webhooks',
    scope: 'admin',
    operatorOnly: true,
    status: 200,
    isList: true,
  },
  { method: 'get', path: '/v1/operations/last-day', scope: 'admin', operatorOnly: true, status: 200 },
  {
    method: 'get',
    path: '/v1/operations/accounts',
    scope: 'admin',
    operatorOnly: true,
    status: 200,
    takesQuery: true,
  },
  { method: 'get', path: '/v1/operations/readiness', scope: 'admin', operatorOnly: true, status: 200 },
  {
    method: 'post',
    path: '/v1/operations/queues/:name/pause',
    scope: 'admin',
    operatorOnly: true,
    at: '/v1/operations/queues/deliveries/pause',
    body: { reason: 'The network is down' },
    mayLackBody: true,
    status: 200,
  },
  {
    method: 'post',
    path: '/v1/operations/queues/:name/resume',
    scope: 'admin',
    operatorOnly: true,
    at: '/v1/operations/queues/deliveries/resume',
    status: 200,
  },
  {
    method: 'get',
    path: '/v1/dead-letters',
    scope: 'admin',
    operatorOnly: true,
    status: 200,
    isList: true,
  },
  {
    method: 'get',
    path: '/v1/dead-letters/:id',
    scope: 'admin',
    operatorOnly: true,
    of: 'deadLetter',
    status: 200,
  },
  {
    method: 'post',
    path: '/v1/dead-letters/:id/retry',
    scope: 'admin',
    operatorOnly: true,
    of: 'deadLetter',
    status: 202,
  },
  {
    method: 'delete',
    path: '/v1/dead-letters/:id',
    scope: 'admin',
    operatorOnly: true,
    of: 'deadLetter',
    status: 204,
  },
];

/** The ids of an account's objects. */
export type Belongings = Readonly<Record<Resource, string>>;

function buildUnverified(accountId: AccountId): Endpoint {
  const id = uniqueEndpointId();
  return buildEndpoint({
    id,
    accountId,
    // How often those at one host may be verified is limited.
    url: `https://${id}.example.com/hooks`,
    verification: { method: 'challenge', status: 'failed', round: 1, tries: 3, error: 'response_timeout' },
  });
}

/** Create an account and give it one of everything; unowned objects exist as well. */
export async function saveBelongings({ client }: TestRedis, accountId: AccountId): Promise<Belongings> {
  // Every test makes a contact of this target, which may be asked for confirmation a few times an hour.
  await client.del(confirmationsKeyOf({ kind: 'slack', target: SLACK_URL }));
  const endpoint = buildEndpoint({ accountId, transformation: { version: 1, isEnabled: false } });
  const unverified = buildUnverified(accountId);
  const listener = buildEndpoint({ accountId, listener: {} });
  const { name: type, example: data } = ORDER_CREATED;
  const order = { accountId, type, body: JSON.stringify({ type, data }) };
  const event = buildEvent(order);
  const scheduled = buildScheduledEvent(order);
  const deliveryStore = new DeliveryStore(client, testRetention);
  const { record: apiKey } = buildApiKey({ accountId });
  const { record: session } = buildPortalSession({ accountId, apiKeyId: apiKey.id });
  const replay = buildReplayOrder({ accountId, endpointId: endpoint.id });
  const contact = buildContact({ accountId });
  const unconfirmed = buildContact({ accountId, status: 'unconfirmed' });
  const eventStore = new EventStore(client, testRetention);
  const [deadLetter] = await Promise.all([
    keepDeadLetter(client, accountId),
    keepNotification(client, contact),
    new ContactStore(client, testSealer).create(unconfirmed),
    new AccountStore(client).create({ id: accountId, createdAt: apiKey.createdAt }),
    new ApiKeyStore(client).save(apiKey),
    new PortalSessionStore(client).save(session, {}, 1, session.createdAt),
    new EndpointStore(client, testSealer).create(endpoint),
    new EndpointStore(client, testSealer).create(listener),
    new TransformationStore(client).save(endpoint.id, { code: CODE, savedAt: 1, savedBy: apiKey.id }),
    new EndpointStore(client, testSealer).create(unverified),
    new ListenerStore(client).hold(listener.id, { process: 'other', stream: LISTENER_STREAM }),
    eventStore.save(event, [endpoint.id])(client),
    eventStore.enlistAll([{ event, deliveries: 0 }])(client),
    new ScheduledEventStore(client, testRetention).save(scheduled)(client),
    new EventTypeStore(client).replace(CUSTOM_TYPE),
    new EventTypeStore(client).replace(ORDER_CREATED),
    // The other type of the examples.
    new EventTypeStore(client).replace({ ...ORDER_CREATED, name: 'order.paid' }),
    deliveryStore.enlistAll(buildNewDeliveries(event.id, [endpoint.id], event.acceptedAt))(client),
    new ReplayStore(client, 60_000).create(replay),
    new ReplayStore(client, 60_000).noteSent(replay, [{ id: event.id, at: event.acceptedAt }]),
    new AuditLog(client).record({
      act: buildAct(),
      accountId,
      targetId: endpoint.id,
      changes: [{ field: 'rate_limit', from: 10, to: 50 }],
    }),
  ]);
  return {
    webhook: endpoint.id,
    unverified: unverified.id,
    listener: listener.id,
    delivery: deliveryIdOf({ eventId: event.id, endpointId: endpoint.id }),
    replay: replay.id,
    event: event.id,
    scheduledEvent: scheduled.id,
    apiKey: apiKey.id,
    portalSession: session.id,
    account: accountId,
    deadLetter,
    contact: contact.id,
    unconfirmed: unconfirmed.id,
  };
}

async function keepNotification(client: TestRedis['client'], contact: Contact): Promise<void> {
  await new ContactStore(client, testSealer).create(contact);
  const notification = {
    id: uniqueNotificationId(),
    contactId: contact.id,
    kind: contact.kind,
    topic: 'failing',
    subjects: [{ endpointId: uniqueEndpointId(), label: 'receiver.example.com', detail: 'at once' }],
    status: 'pending',
    attempts: 1,
    error: 'smtp 451',
    createdAt: contact.createdAt,
  } as const;
  const add = [{ notification, dueAt: contact.createdAt }];
  const store = new NotificationStore(client);
  await store.notify(contact.accountId, { version: '0', fields: {} }, { set: {}, del: [], add });
}

async function keepDeadLetter(redis: TestRedis['client'], accountId: AccountId): Promise<DeadLetterId> {
  const deadLetters = new RejectedEvents(redis, oneShard(QUEUE_PREFIX), Date.now);
  const job = { id: accountId, name: 'no.such', timestamp: 0, data: { account_id: accountId } };
  await deadLetters.keep(job, new AppError('invalid_request', 'The event is not valid.'));
  return deadLetterIdOf(DEAD_LETTERS_QUEUE, rejectedJobId(job));
}

/** Well-formed ids of objects that nobody has. */
export function unknownIds(): Belongings {
  const endpointId = uniqueEndpointId();
  return {
    webhook: endpointId,
    unverified: endpointId,
    listener: endpointId,
    delivery: deliveryIdOf({ eventId: uniqueEventId(), endpointId }),
    replay: buildReplayOrder().id,
    event: uniqueEventId(),
    scheduledEvent: uniqueEventId(),
    apiKey: buildApiKey().record.id,
    portalSession: buildPortalSession().record.id,
    account: uniqueAccountId(),
    deadLetter: deadLetterIdOf(DEAD_LETTERS_QUEUE, uniqueEventId()),
    contact: uniqueContactId(),
    unconfirmed: uniqueContactId(),
  };
}

/** The same text in the place of every id. */
export function sameIds(id: string): Belongings {
  return {
    webhook: id,
    unverified: id,
    listener: id,
    delivery: id,
    replay: id,
    event: id,
    scheduledEvent: id,
    apiKey: id,
    portalSession: id,
    account: id,
    deadLetter: id,
    contact: id,
    unconfirmed: id,
  };
}

export function pathTo({ path, at, of, query = '' }: RouteCase, belongings: Belongings): string {
  if (at !== undefined) return at;
  const withId = of === undefined ? path : path.replace(':id', belongings[of]);
  return withId.replace(':version', '1') + query;
}
