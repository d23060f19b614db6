import type { AccountId } from '../domain/account';
import type { Attempt } from '../domain/attempt';
import { type DeliveryParts, parseDeliveryId } from '../domain/delivery';
import type { EndpointId, EndpointRef } from '../domain/endpoint';
import { type EventHead, type EventId, eventNotFound } from '../domain/event';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { requireEndpoint } from '../endpoints/resolve-endpoints';
import { AppError } from '../platform/app-error';
import type { TimeRange } from '../platform/redis-timeline';
import {
  type CompleteDeliveriesContext,
  completeDeliveries,
  type Delivery,
  type DeliveryFilter,
  type DeliveryWithAttempts,
  type HeldStatus,
  type RecordFilter,
  shownStatusOf,
} from './delivery-standings';
import type { DeliveryQuery, ListMark } from './history-source';
import type { HistoryPage, WholeHistory } from './whole-history';

export interface ListDeliveriesContext extends CompleteDeliveriesContext {
  readonly endpointStore: Pick<EndpointStore, 'find' | 'idOf'>;
  readonly history: Pick<WholeHistory, 'listDeliveries' | 'findHead'>;
}

/** The owner of the listed deliveries; absent: the whole account. */
export interface ListScope {
  readonly endpoint?: EndpointRef | undefined;
  readonly eventId?: EventId | undefined;
}

export interface DeliveriesPage<Cursor> extends Pick<HistoryPage<Delivery>, 'isCutShort'> {
  readonly deliveries: readonly Delivery[];
  readonly nextCursor: Cursor | undefined;
}

/**
 * List deliveries in pages, those of the newest event first. Deliveries to deleted endpoints are included.
 *
 * @throws AppError `not_found` when the account does not own what the scope names.
 */
export async function listDeliveries(
  context: ListDeliveriesContext,
  accountId: AccountId,
  { endpoint, eventId }: ListScope,
  filter: DeliveryFilter,
  limit: number,
  before?: ListMark,
): Promise<DeliveriesPage<ListMark>> {
  const endpointId = endpoint === undefined ? undefined : await requireEndpoint(context, accountId, endpoint);
  const event = eventId === undefined ? undefined : await requireEvent(context, accountId, eventId);
  const query = { accountId, endpointId, eventId, ...filter, ...(event && rangeOf(event, filter)) };
  return await readPage(context, query, limit, before);
}

/**
 * List an event's deliveries, those to the endpoints registered last first. Deliveries to deleted endpoints
 * are included.
 *
 * @throws AppError `not_found` when the account has no such event.
 */
export async function listDeliveriesOfEvent(
  context: ListDeliveriesContext,
  accountId: AccountId,
  eventId: EventId,
  filter: RecordFilter,
  limit: number,
  endpointId?: EndpointId,
): Promise<DeliveriesPage<EndpointId>> {
  const event = await requireEvent(context, accountId, eventId);
  const before = endpointId && { eventId, createdAt: event.acceptedAt, endpointId };
  const query = { accountId, eventId, ...filter, ...rangeOf(event, {}) };
  const page = await readPage(context, query, limit, before);
  return { ...page, nextCursor: page.nextCursor?.endpointId };
}

async function requireEvent(
  { history }: ListDeliveriesContext,
  accountId: AccountId,
  id: EventId,
): Promise<EventHead> {
  const head = await history.findHead(accountId, id);
  if (!head) throw eventNotFound();
  return head;
}

/** All deliveries of an event have its time. */
function rangeOf({ acceptedAt }: EventHead, { since = acceptedAt, until = Infinity }: TimeRange): TimeRange {
  return { since: Math.max(since, acceptedAt), until: Math.min(until, acceptedAt + 1) };
}

async function readPage(
  context: ListDeliveriesContext,
  query: DeliveryQuery,
  limit: number,
  before: ListMark | undefined,
): Promise<DeliveriesPage<ListMark>> {
  const { found, ...page } = await context.history.listDeliveries(query, limit, before);
  return { ...page, deliveries: await completeDeliveries(context, query.accountId, found) };
}

export interface ReadDeliveryContext extends CompleteDeliveriesContext {
  readonly history: Pick<WholeHistory, 'findDelivery' | 'findHead'>;
  readonly heldDeliveries: Pick<HeldStatus, 'isHeld' | 'holdsOf'>;
}

/**
 * Read a delivery with its attempts. An endpoint's deliveries belong to its account, and are removed with it.
 *
 * @throws AppError `not_found`, also for another account's delivery.
 */
export async function readDelivery(
  context: ReadDeliveryContext,
  accountId: AccountId,
  id: string,
): Promise<DeliveryWithAttempts> {
  const { endpointStore, history, heldDeliveries } = context;
  const parts = parseDeliveryId(id);
  const endpoint = parts && (await endpointStore.find(accountId, parts.endpointId));
  const recorded = endpoint && (await history.findDelivery(accountId, parts));
  if (!recorded) throw deliveryNotFound();
  // A delivery that was never tried has no line with its type. If its event is gone too, its type is unknown.
  const type = recorded.eventType ?? (await history.findHead(accountId, parts.eventId))?.type;
  if (type === undefined) throw deliveryNotFound();
  const status = await shownStatusOf(heldDeliveries, parts, recorded.status);
  const nextAttemptAt = status === 'held' ? undefined : recorded.nextAttemptAt;
  const standing = { ...recorded, ...parts, type, status, nextAttemptAt };
  const [[delivery], since] = await Promise.all([
    completeDeliveries(context, accountId, [standing]),
    status === 'held' ? heldSince(context, parts, recorded.attempts.at(-1)) : undefined,
  ]);
  if (!delivery) throw deliveryNotFound();
  const hold = delivery.hold && { ...delivery.hold, since };
  const { supersededBy, cancelReason, attempts } = recorded;
  return { ...delivery, hold, supersededBy, cancelReason, attempts };
}

/** When a held delivery was held first after its last attempt. undefined: its job does not tell. */
async function heldSince(
  { heldDeliveries }: Pick<ReadDeliveryContext, 'heldDeliveries'>,
  { endpointId, eventId }: DeliveryParts,
  last: Pick<Attempt, 'startedAt'> | undefined,
): Promise<number | undefined> {
  const holds = await heldDeliveries.holdsOf(endpointId, eventId);
  return holds.find(({ since }) => last === undefined || since >= last.startedAt)?.since;
}

function deliveryNotFound(): AppError {
  return new AppError('not_found', 'There is no delivery with this id.');
}
