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
import { respondToListener } from '../routes/listeners';

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

export const CUSTOM_TYPE = {
  name: 'invoice.paid',
  description: 'An invoice was paid.',
  schema: true,
  example: {},
  deprecated: false,
  updatedAt: 0,
};

/** The type of the event that belongs to each account. */
export const ORDER_CREATED = {
  ...CUSTOM_TYPE,
  name: 'order.created',
  description: 'An order was placed.',
  example: { id: 'ord_4711', total: 99.5 },
};

/** Of a transformation. */
export const SLACK_URL = 'https://hooks.slack.com/services/T000/B000/XXXX';
export const CODE = 'export default () => ({ body: 1 });';

/** The stream of each account's connected listener. */
export const LISTENER_STREAM = (respondToListener.request.example as { readonly stream: string }).stream;

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
  // An old one counts as forgotten.
  const event = buildEvent({ ...order, acceptedAt: Date.now() });
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
