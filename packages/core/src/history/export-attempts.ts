import type { AccountId } from '../domain/account';
import type { Attempt } from '../domain/attempt';
import { type DeliveryId, type DeliveryParts, deliveryIdOf } from '../domain/delivery';
import type { EndpointId, EndpointRef } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { requireEndpoint } from '../endpoints/resolve-endpoints';
import type { DeliveryStore } from '../events/redis-delivery-store';
import type { EventStore, ReceiverPage } from '../events/redis-event-store';
import { inBatches } from '../platform/batches';
import type { Mark, TimeRange } from '../platform/redis-timeline';
import { type HeldStatus, type ShownStatus, shownStatusOf } from './delivery-standings';

/** The scope of an export: the attempts of events that were accepted in the range. */
export interface ExportScope {
  readonly range: TimeRange;
  /** Only deliveries to this endpoint. */
  readonly endpoint?: EndpointRef | undefined;
  /** The largest number of attempts. */
  readonly limit?: number | undefined;
}

/** The position of an export. */
export interface ExportCursor extends DeliveryCursor {
  /** How many of the delivery's attempts are exported. */
  readonly attempts: number;
}

/** An attempt, and the state of its delivery when it was read. */
export interface ExportedAttempt extends WalkedDelivery {
  readonly id: DeliveryId;
  readonly status: ShownStatus;
  readonly attempt: Attempt;
  readonly cursor: ExportCursor;
}

// Logs hold the beginnings of responses: with the default sizes ten failed attempts of each are 400 KB.
const DELIVERIES_AT_ONCE = 10;

export interface ExportAttemptsContext extends WalkDeliveriesContext {
  readonly endpointStore: Pick<EndpointStore, 'find' | 'idOf'>;
  readonly deliveryStore: Pick<DeliveryStore, 'listFrom' | 'readWithLength'>;
  readonly heldDeliveries: Pick<HeldStatus, 'isHeld'>;
}

/**
 * Go through an account's attempts, those of the oldest event first. It reads ahead only on demand and holds
 * few deliveries. Lines of a log are only ever appended, so each attempt keeps its position.
 *
 * @param abortSignal ends it, also while nothing is found.
 * @throws AppError `not_found`, at the first step, when the account has no such endpoint.
 */
export async function* exportAttempts(
  context: ExportAttemptsContext,
  accountId: AccountId,
  { range, endpoint, limit = Number.POSITIVE_INFINITY }: ExportScope,
  after?: ExportCursor,
  abortSignal?: AbortSignal,
): AsyncGenerator<readonly ExportedAttempt[], void> {
  const endpointId = endpoint === undefined ? undefined : await requireEndpoint(context, accountId, endpoint);
  const deliveries = walkDeliveries(context, { accountId, endpointId, range }, after, abortSignal);
  let left = limit;
  for await (const batch of inBatches(deliveries, DELIVERIES_AT_ONCE)) {
    const read = await Promise.all(batch.map((delivery) => attemptsOf(context, delivery, after)));
    const attempts = read.flat().slice(0, left);
    if (attempts.length > 0) yield attempts;
    abortSignal?.throwIfAborted();
    left -= attempts.length;
    if (left === 0) return;
  }
}

async function attemptsOf(
  { deliveryStore, heldDeliveries }: ExportAttemptsContext,
  delivery: WalkedDelivery,
  after: ExportCursor | undefined,
): Promise<readonly ExportedAttempt[]> {
  const { endpointId, eventId, createdAt } = delivery;
  const { state } = await deliveryStore.readWithLength(endpointId, eventId);
  const done = after?.eventId === eventId && after.endpointId === endpointId ? after.attempts : 0;
  if (state.attempts.length <= done) return [];
  const status = await shownStatusOf(heldDeliveries, delivery, state.status);
  const exported = state.attempts.map((attempt, index) => ({
    ...delivery,
    id: deliveryIdOf(delivery),
    status,
    attempt,
    cursor: { createdAt, eventId, endpointId, attempts: index + 1 },
  }));
  return exported.slice(done);
}

interface WalkDeliveriesContext {
  readonly eventStore: Pick<EventStore, 'findHead' | 'listFrom' | 'listReceivers'>;
  readonly deliveryStore: Pick<DeliveryStore, 'listFrom'>;
}

interface WalkScope {
  readonly accountId: AccountId;
  /** An endpoint of the account, to read only its deliveries. */
  readonly endpointId: EndpointId | undefined;
  /** When their events were accepted. */
  readonly range: TimeRange;
}

/**
 * Ordered by the acceptance of the event; of one event, deliveries to the endpoints registered last come
 * first.
 */
interface DeliveryCursor extends DeliveryParts {
  /** When its event was accepted. Milliseconds since the Unix epoch. */
  readonly createdAt: number;
}

interface WalkedDelivery extends DeliveryCursor {
  readonly type: string;
}

interface OpenedEvent extends Pick<WalkedDelivery, 'eventId' | 'type' | 'createdAt'> {
  /** The first page of its receivers. */
  readonly receivers: ReceiverPage;
}

// Ids only: a page of events, with the first page of each one's receivers, is a megabyte at most.
const EVENTS_AT_ONCE = 100;
const RECEIVERS_AT_ONCE = 100;

/**
 * Go through deliveries in the order of their cursors, and read on demand. Deliveries that come or go
 * meanwhile move no others. Events that are gone are left out.
 *
 * @param from the delivery to begin with, if it is in the scope, or else the next one.
 */
async function* walkDeliveries(
  context: WalkDeliveriesContext,
  scope: WalkScope,
  from?: DeliveryCursor,
  abortSignal?: AbortSignal,
): AsyncGenerator<WalkedDelivery, void> {
  if (from) yield* walkOn(context, scope, from);
  let after: Mark | undefined = from && { id: from.eventId, at: from.createdAt };
  for (;;) {
    abortSignal?.throwIfAborted();
    const members = await listEvents(context, scope, after);
    const events = await Promise.all(members.map((member) => openEvent(context, scope, member)));
    for (const event of events) if (event) yield* deliveriesOf(context, scope, event);
    if (members.length < EVENTS_AT_ONCE) return;
    after = members.at(-1);
  }
}

// Show only deliveries to the event's recorded receivers: the endpoint in a client's cursor is not trusted.
async function* walkOn(
  context: WalkDeliveriesContext,
  scope: WalkScope,
  { endpointId, ...event }: DeliveryCursor,
) {
  const member = { id: event.eventId, at: event.createdAt };
  // All ids have the same length, so only the endpoint itself comes between the two.
  const opened = await openEvent(context, scope, member, `${endpointId}~`);
  if (opened) yield* deliveriesOf(context, scope, opened);
}

async function* deliveriesOf(
  context: WalkDeliveriesContext,
  scope: WalkScope,
  { receivers, ...event }: OpenedEvent,
) {
  for (let page = receivers; ; ) {
    for (const endpointId of page.members) yield { ...event, endpointId };
    if (page.nextCursor === undefined) return;
    page = await listReceivers(context, scope, event.eventId, page.nextCursor);
  }
}

async function openEvent(
  context: WalkDeliveriesContext,
  scope: WalkScope,
  { id, at }: Mark,
  before?: string,
): Promise<OpenedEvent | undefined> {
  const eventId = id as EventId;
  const [head, receivers] = await Promise.all([
    context.eventStore.findHead(scope.accountId, eventId),
    listReceivers(context, scope, eventId, before),
  ]);
  return head && { eventId, createdAt: at, type: head.type, receivers };
}

async function listEvents(
  { eventStore, deliveryStore }: WalkDeliveriesContext,
  { accountId, endpointId, range }: WalkScope,
  after: Mark | undefined,
) {
  return endpointId === undefined
    ? await eventStore.listFrom(accountId, range, EVENTS_AT_ONCE, after)
    : await deliveryStore.listFrom(endpointId, range, EVENTS_AT_ONCE, after);
}

async function listReceivers(
  { eventStore }: WalkDeliveriesContext,
  { accountId, endpointId }: WalkScope,
  eventId: EventId,
  before: string | undefined,
): Promise<ReceiverPage> {
  if (endpointId === undefined)
    return await eventStore.listReceivers(accountId, eventId, RECEIVERS_AT_ONCE, before);
  const isBefore = before === undefined || endpointId < before;
  return { members: isBefore ? [endpointId] : [], nextCursor: undefined };
}
