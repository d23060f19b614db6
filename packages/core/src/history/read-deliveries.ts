import { type AccountId } from '../domain/account';
import { parseDeliveryId } from '../domain/delivery';
import type { EndpointId, EndpointRef } from '../domain/endpoint';
import { type EventHead, type EventId, eventNotFound } from '../domain/event';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { requireEndpoint } from '../endpoints/resolve-endpoints';
import type { DeliveryCursor, DeliveryStore } from '../events/redis-delivery-store';
import type { EventStore } from '../events/redis-event-store';
import { AppError } from '../platform/app-error';
import { SCANNED_ONE_BY_ONE, SCANNED_TOGETHER, scanPage } from '../platform/batches';
import {
  type CompleteDeliveriesContext,
  completeDeliveries,
  type Delivery,
  type DeliveryFilter,
  type DeliveryWithAttempts,
  type HeldStatus,
  matchesFilter,
  readStandings,
  type Standing,
  shownStatusOf,
  standingsOf,
  type TypedStanding,
} from './delivery-standings';
import {
  type AccountCursor,
  cursorOf,
  type DeliveryEntry,
  type EmptyEntry,
  findHolding,
  type HeldIndexes,
  readEntries,
  readHeldEntries,
} from './list-entries';

export interface ListDeliveriesContext extends CompleteDeliveriesContext {
  readonly endpointStore: Pick<EndpointStore, 'find' | 'idOf' | 'listIds'>;
  readonly eventStore: Pick<EventStore, 'findHead' | 'list' | 'listReceivers' | 'open'>;
  readonly deliveryStore: Pick<DeliveryStore, 'list' | 'readListed'>;
  readonly heldDeliveries: HeldStatus & HeldIndexes;
}

/** The owner of the listed deliveries; absent: the whole account. */
export interface ListScope {
  readonly endpoint?: EndpointRef | undefined;
  readonly eventId?: EventId | undefined;
}

export interface DeliveriesPage<Cursor> {
  readonly deliveries: readonly Delivery[];
  readonly nextCursor: Cursor | undefined;
}

/**
 * List deliveries in pages. A page costs about the same, however few deliveries match.
 *
 * @throws AppError `not_found` when the account does not own what the scope names.
 */
export async function listDeliveries(
  context: ListDeliveriesContext,
  accountId: AccountId,
  { endpoint, eventId }: ListScope,
  filter: DeliveryFilter,
  limit: number,
  before?: AccountCursor,
): Promise<DeliveriesPage<AccountCursor>> {
  if (endpoint !== undefined && eventId !== undefined) {
    const found = await findOne(context, accountId, endpoint, eventId, filter);
    return { deliveries: found, nextCursor: undefined };
  }
  if (endpoint !== undefined)
    return await listDeliveriesOfEndpoint(context, accountId, endpoint, filter, limit, before);
  if (eventId === undefined) return await listOfAccount(context, accountId, filter, limit, before);
  const event = await requireEvent(context, accountId, eventId);
  const page = await listOfEvent(context, accountId, event, filter, limit, before?.endpointId);
  const { nextCursor: endpointId } = page;
  return { ...page, nextCursor: endpointId && { eventId, createdAt: event.acceptedAt, endpointId } };
}

/**
 * List an endpoint's deliveries, newest first. @throws AppError `not_found` when the account has no such
 * endpoint.
 */
export async function listDeliveriesOfEndpoint(
  context: ListDeliveriesContext,
  accountId: AccountId,
  ref: EndpointRef,
  filter: DeliveryFilter,
  limit: number,
  before?: DeliveryCursor,
): Promise<DeliveriesPage<DeliveryCursor>> {
  const endpointId = await requireEndpoint(context, accountId, ref);
  const { found, nextCursor } = await scanPage({
    limit,
    before,
    mostScanned: SCANNED_TOGETHER,
    readBatch: async (size, from: DeliveryCursor | undefined) => {
      const page = await context.deliveryStore.list(endpointId, size, from, filter);
      return {
        entries: await standingsOf(context, endpointId, page.deliveries),
        nextCursor: page.nextCursor,
      };
    },
    cursorOf: ({ eventId, createdAt }) => ({ eventId, createdAt }),
    show: (standing) => show(context, accountId, standing, filter),
  });
  return { deliveries: await completeDeliveries(context, accountId, found), nextCursor };
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
  filter: DeliveryFilter,
  limit: number,
  before?: EndpointId,
): Promise<DeliveriesPage<EndpointId>> {
  const event = await requireEvent(context, accountId, eventId);
  return await listOfEvent(context, accountId, event, filter, limit, before);
}

async function listOfEvent(
  context: ListDeliveriesContext,
  accountId: AccountId,
  event: Event,
  filter: DeliveryFilter,
  limit: number,
  before: EndpointId | undefined,
): Promise<DeliveriesPage<EndpointId>> {
  if (!matchesEvent(event, filter)) return { deliveries: [], nextCursor: undefined };
  const { found, nextCursor } = await scanPage({
    limit,
    before,
    mostScanned: SCANNED_ONE_BY_ONE,
    readBatch: async (size, from: EndpointId | undefined) => {
      const page = await context.eventStore.listReceivers(accountId, event.id, size, from);
      const entries = page.members.map((endpointId) => entryOf(event, endpointId));
      return { entries: await readStandings<never>(context, entries), nextCursor: page.nextCursor };
    },
    cursorOf: ({ endpointId }) => endpointId,
    show: (standing) => show(context, accountId, standing, filter),
  });
  return { deliveries: await completeDeliveries(context, accountId, found), nextCursor };
}

/** Newest first. Deliveries to deleted endpoints are included. */
async function listOfAccount(
  context: ListDeliveriesContext,
  accountId: AccountId,
  filter: DeliveryFilter,
  limit: number,
  before?: AccountCursor,
): Promise<DeliveriesPage<AccountCursor>> {
  const holding = filter.status === 'held' ? await findHolding(context, accountId) : undefined;
  const { found, nextCursor } = await scanPage({
    limit,
    before,
    mostScanned: SCANNED_TOGETHER,
    readBatch: async (size, from: AccountCursor | undefined) => {
      const batch = holding
        ? await readHeldEntries(context, holding, filter, size, from)
        : await readEntries(context, accountId, filter, size, from);
      return { ...batch, entries: await readStandings(context, batch.entries) };
    },
    cursorOf,
    show: (standing) => show(context, accountId, standing, filter),
  });
  return { deliveries: await completeDeliveries(context, accountId, found), nextCursor };
}

// All ids have the same length, so only the endpoint itself comes in front.
const BEHIND = '~';

async function findOne(
  context: ListDeliveriesContext,
  accountId: AccountId,
  ref: EndpointRef,
  eventId: EventId,
  filter: DeliveryFilter,
): Promise<readonly Delivery[]> {
  const endpointId = await requireEndpoint(context, accountId, ref);
  const event = await requireEvent(context, accountId, eventId);
  const { members } = await context.eventStore.listReceivers(accountId, eventId, 1, endpointId + BEHIND);
  if (members[0] !== endpointId || !matchesEvent(event, filter)) return [];
  const [standing] = await readStandings(context, [entryOf(event, endpointId)]);
  const shown = standing && (await show(context, accountId, standing, filter));
  return await completeDeliveries(context, accountId, shown ? [shown] : []);
}

interface Event extends EventHead {
  readonly id: EventId;
}

async function requireEvent(
  { eventStore }: ListDeliveriesContext,
  accountId: AccountId,
  id: EventId,
): Promise<Event> {
  const head = await eventStore.findHead(accountId, id);
  if (!head) throw eventNotFound();
  return { ...head, id };
}

/** Whether an event's deliveries may match a filter. */
function matchesEvent(
  { type, acceptedAt }: Event,
  { eventType, since = -Infinity, until = Infinity }: DeliveryFilter,
): boolean {
  if (eventType !== undefined && eventType !== type) return false;
  return since <= acceptedAt && acceptedAt < until;
}

function entryOf({ id: eventId, acceptedAt, type }: Event, endpointId: EndpointId): DeliveryEntry {
  return { eventId, endpointId, createdAt: acceptedAt, type };
}

// A delivery that was never tried has no line with its type. If its event is gone too, its type is unknown.
async function show(
  { eventStore }: ListDeliveriesContext,
  accountId: AccountId,
  standing: Standing | EmptyEntry,
  filter: DeliveryFilter,
): Promise<TypedStanding | undefined> {
  if (standing.endpointId === undefined || !matchesFilter(standing, filter)) return undefined;
  const type = standing.type ?? (await eventStore.findHead(accountId, standing.eventId))?.type;
  if (type === undefined || (filter.eventType !== undefined && filter.eventType !== type)) return undefined;
  return { ...standing, type };
}

export interface ReadDeliveryContext extends CompleteDeliveriesContext {
  readonly eventStore: Pick<EventStore, 'findHead'>;
  readonly deliveryStore: Pick<DeliveryStore, 'find'>;
  readonly heldDeliveries: Pick<HeldStatus, 'isHeld'>;
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
  const { endpointStore, eventStore, deliveryStore, heldDeliveries } = context;
  const parts = parseDeliveryId(id);
  const endpoint = parts && (await endpointStore.find(accountId, parts.endpointId));
  const recorded = endpoint && (await deliveryStore.find(parts));
  if (!recorded) throw deliveryNotFound();
  // A delivery that was never tried has no line with its type. If its event is gone too, its type is unknown.
  const type = recorded.eventType ?? (await eventStore.findHead(accountId, parts.eventId))?.type;
  if (type === undefined) throw deliveryNotFound();
  const status = await shownStatusOf(heldDeliveries, parts, recorded.status);
  const nextAttemptAt = status === 'held' ? undefined : recorded.nextAttemptAt;
  const standing = { ...recorded, ...parts, type, status, nextAttemptAt };
  const [delivery] = await completeDeliveries(context, accountId, [standing]);
  if (!delivery) throw deliveryNotFound();
  return { ...delivery, attempts: recorded.attempts };
}

function deliveryNotFound(): AppError {
  return new AppError('not_found', 'There is no delivery with this id.');
}
