import type { AccountId } from '../domain/account';
import type { EndpointId, EndpointRef } from '../domain/endpoint';
import { type EventId, eventNotFound } from '../domain/event';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { requireEndpoint } from '../endpoints/resolve-endpoints';
import type { DeliveryCursor, DeliveryStore } from '../events/redis-delivery-store';
import type { EventHead, EventStore } from '../events/redis-event-store';
import { SCANNED_ONE_BY_ONE, SCANNED_TOGETHER, scanPage } from '../platform/batches';
import { createCompleteDeliveries, type ExplainHold, type TypedStanding } from './complete-deliveries';
import {
  createOpenHeldPlaces,
  createReadAccountPlaces,
  type DeliveryPlace,
  type HeldIndexes,
  markOf,
  type NothingThere,
  type PlaceMark,
} from './delivery-places';
import {
  createReadStandings,
  type Delivery,
  type DeliveryFilter,
  type HeldStatus,
  matchesEvent,
  matchesFilter,
  type Standing,
} from './delivery-standings';

export interface DeliveriesPage<Cursor> {
  readonly deliveries: readonly Delivery[];
  readonly nextCursor: Cursor | undefined;
}

/** Whose deliveries of an account are listed; all of them unless it says. */
export interface ListScope {
  readonly endpoint?: EndpointRef | undefined;
  readonly eventId?: EventId | undefined;
}

export interface ListDeliveriesDeps {
  readonly endpointStore: Pick<EndpointStore, 'find' | 'idOf' | 'listIds'>;
  readonly eventStore: Pick<EventStore, 'findHead' | 'list' | 'listReceivers' | 'open'>;
  readonly deliveryStore: Pick<DeliveryStore, 'list' | 'readListed'>;
  readonly heldDeliveries: HeldStatus & HeldIndexes;
  readonly explainHold: ExplainHold;
}

// All ids have the same length, so that nothing but the endpoint itself comes before what is behind it.
const BEHIND = '~';

/** Lists of deliveries, in pages. Each costs about the same, however few of what it has looked at are what was asked for. */
export function createListDeliveries(deps: ListDeliveriesDeps) {
  const { eventStore, deliveryStore } = deps;
  const { standingsAt, standingsAmong, standingsOf } = createReadStandings(deps);
  const completeDeliveries = createCompleteDeliveries(deps);
  const readAccountPlaces = createReadAccountPlaces(deps);
  const openHeldPlaces = createOpenHeldPlaces(deps);

  /** Newest first. @throws AppError `not_found` when the account has no such endpoint. */
  async function listOfEndpoint(
    accountId: AccountId,
    ref: EndpointRef,
    filter: DeliveryFilter,
    limit: number,
    before?: DeliveryCursor,
  ): Promise<DeliveriesPage<DeliveryCursor>> {
    const endpointId = await requireEndpoint(deps, accountId, ref);
    const { found, nextCursor } = await scanPage({
      limit,
      before,
      mostScanned: SCANNED_TOGETHER,
      readBatch: async (size, from: DeliveryCursor | undefined) => {
        const page = await deliveryStore.list(endpointId, size, from, filter);
        return { entries: await standingsOf(endpointId, page.deliveries), nextCursor: page.nextCursor };
      },
      cursorOf: ({ eventId, createdAt }) => ({ eventId, createdAt }),
      show: (standing) => show(accountId, standing, filter),
    });
    return { deliveries: await completeDeliveries(accountId, found), nextCursor };
  }

  /**
   * To the endpoints registered last first, also to those that were deleted since.
   *
   * @throws AppError `not_found` when the account has no such event.
   */
  async function listOfEvent(
    accountId: AccountId,
    eventId: EventId,
    filter: DeliveryFilter,
    limit: number,
    before?: EndpointId,
  ): Promise<DeliveriesPage<EndpointId>> {
    return await pageOfEvent(accountId, await requireEvent(accountId, eventId), filter, limit, before);
  }

  async function pageOfEvent(
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
        const page = await eventStore.listReceivers(accountId, event.id, size, from);
        const places = page.members.map((endpointId) => placeOf(event, endpointId));
        return { entries: await standingsAt(places), nextCursor: page.nextCursor };
      },
      cursorOf: ({ endpointId }) => endpointId,
      show: (standing) => show(accountId, standing, filter),
    });
    return { deliveries: await completeDeliveries(accountId, found), nextCursor };
  }

  /** Newest first, also to endpoints that were deleted since. */
  async function listOfAccount(
    accountId: AccountId,
    filter: DeliveryFilter,
    limit: number,
    before?: PlaceMark,
  ): Promise<DeliveriesPage<PlaceMark>> {
    const readHeld = filter.status === 'held' ? await openHeldPlaces(accountId, filter) : undefined;
    const { found, nextCursor } = await scanPage({
      limit,
      before,
      mostScanned: SCANNED_TOGETHER,
      readBatch: async (size, from: PlaceMark | undefined) => {
        const batch = readHeld
          ? await readHeld(size, from)
          : await readAccountPlaces(accountId, filter, size, from);
        return { ...batch, entries: await standingsAmong(batch.entries) };
      },
      cursorOf: markOf,
      show: (standing) => show(accountId, standing, filter),
    });
    return { deliveries: await completeDeliveries(accountId, found), nextCursor };
  }

  /** All three, with one kind of cursor. @throws AppError `not_found` when the account has not what the scope names. */
  async function list(
    accountId: AccountId,
    { endpoint, eventId }: ListScope,
    filter: DeliveryFilter,
    limit: number,
    before?: PlaceMark,
  ): Promise<DeliveriesPage<PlaceMark>> {
    if (endpoint !== undefined && eventId !== undefined) {
      const found = await findOne(accountId, endpoint, eventId, filter);
      return { deliveries: found, nextCursor: undefined };
    }
    if (endpoint !== undefined) return await listOfEndpoint(accountId, endpoint, filter, limit, before);
    if (eventId === undefined) return await listOfAccount(accountId, filter, limit, before);
    const event = await requireEvent(accountId, eventId);
    const page = await pageOfEvent(accountId, event, filter, limit, before?.endpointId);
    const { nextCursor: endpointId } = page;
    return { ...page, nextCursor: endpointId && { eventId, createdAt: event.acceptedAt, endpointId } };
  }

  async function findOne(accountId: AccountId, ref: EndpointRef, eventId: EventId, filter: DeliveryFilter) {
    const endpointId = await requireEndpoint(deps, accountId, ref);
    const event = await requireEvent(accountId, eventId);
    const { members } = await eventStore.listReceivers(accountId, eventId, 1, endpointId + BEHIND);
    if (members[0] !== endpointId || !matchesEvent(event, filter)) return [];
    const standings = await standingsAt([placeOf(event, endpointId)]);
    const shown = await Promise.all(standings.map((standing) => show(accountId, standing, filter)));
    return await completeDeliveries(
      accountId,
      shown.filter((one) => one !== undefined),
    );
  }

  async function requireEvent(accountId: AccountId, id: EventId): Promise<Event> {
    const head = await eventStore.findHead(accountId, id);
    if (!head) throw eventNotFound();
    return { ...head, id };
  }

  // One that was never tried has no line that tells the type. If its event is gone, there is nothing to say of it.
  async function show(
    accountId: AccountId,
    standing: Standing | NothingThere,
    filter: DeliveryFilter,
  ): Promise<TypedStanding | undefined> {
    if (standing.endpointId === undefined || !matchesFilter(standing, filter)) return undefined;
    const type = standing.type ?? (await eventStore.findHead(accountId, standing.eventId))?.type;
    if (type === undefined || (filter.eventType !== undefined && filter.eventType !== type)) return undefined;
    return { ...standing, type };
  }

  return { listOfEndpoint, listOfEvent, listOfAccount, list };
}

interface Event extends EventHead {
  readonly id: EventId;
}

function placeOf({ id: eventId, acceptedAt, type }: Event, endpointId: EndpointId): DeliveryPlace {
  return { eventId, endpointId, createdAt: acceptedAt, type };
}
