import type { EndpointId, EndpointRef } from '../endpoints/endpoint';
import { endpointNotFound } from '../endpoints/manage-endpoints';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { AppError } from '../errors/app-error';
import type { AccountId, EventId } from '../events/event';
import { eventNotFound } from '../events/event-not-found';
import type { EventStore } from '../events/redis-event-store';
import type { ParkedStore } from '../gates/redis-parked-store';
import { scanPage } from '../runtime/scan-page';
import { type DeliveryFilter, isOfClass, type ShownStatus } from './delivery-filter';
import { type DeliveryId, deliveryIdOf, parseDeliveryId } from './delivery-id';
import type { DeliveryCursor, DeliveryStore, ListedDelivery } from './redis-delivery-store';
import { shownStatusOf } from './shown-status';

/** A delivery as clients see it. */
export interface Delivery extends Omit<ListedDelivery, 'status'> {
  readonly status: ShownStatus;
  readonly id: DeliveryId;
  readonly endpointId: EndpointId;
  readonly type: string;
}

export interface DeliveriesPage<Cursor> {
  readonly deliveries: readonly Delivery[];
  readonly nextCursor: Cursor | undefined;
}

/** How many of an event's deliveries there are, and of each status. */
export type DeliveryCounts = Readonly<Record<ShownStatus | 'total', number>>;

export interface ReadDeliveriesDeps {
  readonly endpointStore: Pick<EndpointStore, 'find' | 'idOf'>;
  readonly eventStore: Pick<EventStore, 'findHead' | 'listReceivers'>;
  readonly deliveryStore: Pick<DeliveryStore, 'find' | 'list' | 'readState'>;
  readonly parkedStore: Pick<ParkedStore, 'isParked'>;
}

// So many at a time, so that an event that went to thousands of endpoints does not fill the memory.
const COUNTED_AT_ONCE = 250;

/** What happened to deliveries. An endpoint's are its account's only, and go with it. */
export function createReadDeliveries({
  endpointStore,
  eventStore,
  deliveryStore,
  parkedStore,
}: ReadDeliveriesDeps) {
  /** Newest first. @throws AppError `not_found` when the account has no such endpoint. */
  async function listOfEndpoint(
    accountId: AccountId,
    ref: EndpointRef,
    filter: DeliveryFilter,
    limit: number,
    before?: DeliveryCursor,
  ): Promise<DeliveriesPage<DeliveryCursor>> {
    const endpointId = await endpointStore.idOf(accountId, ref);
    if (!endpointId || !(await endpointStore.find(accountId, endpointId))) throw endpointNotFound();
    const { found, nextCursor } = await scanPage({
      limit,
      before,
      readBatch: async (size, from: DeliveryCursor | undefined) => {
        const page = await deliveryStore.list(endpointId, size, from, filter);
        return { entries: page.deliveries, nextCursor: page.nextCursor };
      },
      cursorOf: ({ eventId, createdAt }) => ({ eventId, createdAt }),
      show: (listed) => showIfMatching(accountId, endpointId, listed, filter),
    });
    return { deliveries: found, nextCursor };
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
    const head = await eventStore.findHead(accountId, eventId);
    if (!head) throw eventNotFound();
    const { found, nextCursor } = await scanPage({
      limit,
      before,
      readBatch: async (size, from: EndpointId | undefined) => {
        const page = await eventStore.listReceivers(accountId, eventId, size, from);
        return { entries: page.members, nextCursor: page.nextCursor };
      },
      cursorOf: (endpointId) => endpointId,
      show: async (endpointId) => {
        const state = await deliveryStore.readState(endpointId, eventId);
        const delivery = await withStatus(endpointId, { ...state, eventId, createdAt: head.acceptedAt });
        return matches(delivery, filter) ? { ...delivery, type: head.type } : undefined;
      },
    });
    return { deliveries: found, nextCursor };
  }

  /** Of an event's deliveries. */
  async function countOfEvent(accountId: AccountId, eventId: EventId): Promise<DeliveryCounts> {
    const counts = { total: 0, pending: 0, held: 0, delivered: 0, exhausted: 0, aborted: 0, cancelled: 0 };
    let before: EndpointId | undefined;
    do {
      const page = await eventStore.listReceivers(accountId, eventId, COUNTED_AT_ONCE, before);
      const statuses = await Promise.all(page.members.map((endpointId) => statusOf(endpointId, eventId)));
      for (const status of statuses) counts[status] += 1;
      counts.total += statuses.length;
      before = page.nextCursor;
    } while (before !== undefined);
    return counts;
  }

  /** @throws AppError `not_found`, also for another account's delivery. */
  async function read(accountId: AccountId, id: string): Promise<Delivery> {
    const parts = parseDeliveryId(id);
    const endpoint = parts && (await endpointStore.find(accountId, parts.endpointId));
    const listed = endpoint && (await deliveryStore.find(parts));
    const delivery = listed && (await showIfMatching(accountId, parts.endpointId, listed, {}));
    if (!delivery) throw new AppError('not_found', 'There is no delivery with this id.');
    return delivery;
  }

  // An event outlives its place in the lists by no more than a moment; one that is gone takes its deliveries along.
  async function showIfMatching(
    accountId: AccountId,
    endpointId: EndpointId,
    listed: ListedDelivery,
    filter: DeliveryFilter,
  ): Promise<Delivery | undefined> {
    const delivery = await withStatus(endpointId, listed);
    if (!matches(delivery, filter)) return undefined;
    const head = await eventStore.findHead(accountId, listed.eventId);
    if (!head || (filter.eventType !== undefined && filter.eventType !== head.type)) return undefined;
    return { ...delivery, type: head.type };
  }

  async function withStatus(endpointId: EndpointId, listed: ListedDelivery) {
    const parts = { eventId: listed.eventId, endpointId };
    const status = await shownStatusOf(parkedStore, parts, listed.status);
    return { ...listed, id: deliveryIdOf(parts), endpointId, status };
  }

  async function statusOf(endpointId: EndpointId, eventId: EventId): Promise<ShownStatus> {
    const { status } = await deliveryStore.readState(endpointId, eventId);
    return await shownStatusOf(parkedStore, { endpointId, eventId }, status);
  }

  return { listOfEndpoint, listOfEvent, countOfEvent, read };
}

export type ReadDeliveries = ReturnType<typeof createReadDeliveries>;

function matches({ status, attempts }: Pick<Delivery, 'status' | 'attempts'>, filter: DeliveryFilter) {
  if (filter.status !== undefined && filter.status !== status) return false;
  return filter.statusClass === undefined || isOfClass(attempts, filter.statusClass);
}
