import type { EndpointId, EndpointRef } from '../endpoints/endpoint';
import { endpointNotFound } from '../endpoints/manage-endpoints';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { AppError } from '../errors/app-error';
import type { AccountId } from '../events/event';
import type { EventStore } from '../events/redis-event-store';
import type { ParkedStore } from '../gates/redis-parked-store';
import { type DeliveryId, deliveryIdOf, parseDeliveryId } from './delivery-id';
import type { DeliveryStatus } from './delivery-log';
import type { DeliveryCursor, DeliveryStore, ListedDelivery } from './redis-delivery-store';

/** A delivery as clients see it. */
export interface Delivery extends Omit<ListedDelivery, 'status'> {
  /** `held`: pending, and waiting at its endpoint's gate. */
  readonly status: DeliveryStatus | 'held';
  readonly id: DeliveryId;
  readonly endpointId: EndpointId;
  readonly type: string;
}

export interface ReadDeliveriesDeps {
  readonly endpointStore: Pick<EndpointStore, 'find' | 'idOf'>;
  readonly eventStore: Pick<EventStore, 'findHead'>;
  readonly deliveryStore: Pick<DeliveryStore, 'find' | 'list'>;
  readonly parkedStore: Pick<ParkedStore, 'isParked'>;
}

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
    limit: number,
    before?: DeliveryCursor,
  ): Promise<{ readonly deliveries: readonly Delivery[]; readonly nextCursor: DeliveryCursor | undefined }> {
    const endpointId = await endpointStore.idOf(accountId, ref);
    if (!endpointId || !(await endpointStore.find(accountId, endpointId))) throw endpointNotFound();
    const page = await deliveryStore.list(endpointId, limit, before);
    const deliveries = await Promise.all(
      page.deliveries.map((listed) => withType(accountId, endpointId, listed)),
    );
    return {
      deliveries: deliveries.filter((delivery) => delivery !== undefined),
      nextCursor: page.nextCursor,
    };
  }

  /** @throws AppError `not_found`, also for another account's delivery. */
  async function read(accountId: AccountId, id: string): Promise<Delivery> {
    const parts = parseDeliveryId(id);
    const endpoint = parts && (await endpointStore.find(accountId, parts.endpointId));
    const listed = endpoint && (await deliveryStore.find(parts));
    const delivery = listed && (await withType(accountId, parts.endpointId, listed));
    if (!delivery) throw new AppError('not_found', 'There is no delivery with this id.');
    return delivery;
  }

  // An event outlives its place in the lists by no more than a moment; one that is gone takes its deliveries along.
  async function withType(
    accountId: AccountId,
    endpointId: EndpointId,
    listed: ListedDelivery,
  ): Promise<Delivery | undefined> {
    const { eventId } = listed;
    const [head, isHeld] = await Promise.all([
      eventStore.findHead(accountId, eventId),
      listed.status === 'pending' && parkedStore.isParked(endpointId, eventId),
    ]);
    if (!head) return undefined;
    const id = deliveryIdOf({ eventId, endpointId });
    return { ...listed, ...(isHeld ? { status: 'held' } : {}), id, endpointId, type: head.type };
  }

  return { listOfEndpoint, read };
}

export type ReadDeliveries = ReturnType<typeof createReadDeliveries>;
