import type { EndpointId } from '../endpoints/endpoint';
import type { Subscriptions } from '../endpoints/subscriptions';
import type { AcceptedEvent, AccountId, EventId } from '../events/event';
import type { EventStore } from '../events/redis-event-store';
import type { Clock } from '../runtime/clock';
import type { Emit } from '../signals/signals';
import type { DeliveryStore } from './redis-delivery-store';

/** The queue of deliveries. Adding the same delivery again is harmless. */
export interface DeliveryQueue {
  addAll(accountId: AccountId, eventId: EventId, endpointIds: readonly EndpointId[]): Promise<void>;
}

export interface FanOutEventDeps {
  readonly eventStore: Pick<EventStore, 'save'>;
  readonly subscriptions: Pick<Subscriptions, 'subscribersOf' | 'presentOf'>;
  readonly deliveryStore: Pick<DeliveryStore, 'enlist'>;
  readonly deliveryQueue: DeliveryQueue;
  readonly clock: Clock;
  readonly emit: Emit;
}

// Large enough that Redis is the limit, small enough that one chunk does not hold up the event loop.
const CHUNK = 250;

/**
 * Makes a delivery for each endpoint of the event's account that asked for its type, or that it is aimed at. It may be run again, in
 * whole or after it broke off anywhere: every step is harmless when repeated.
 */
export function createFanOutEvent(deps: FanOutEventDeps) {
  return async function fanOutEvent(event: AcceptedEvent): Promise<void> {
    const startedAt = deps.clock();
    const [endpointIds] = await Promise.all([receiversOf(event), deps.eventStore.save(event)]);
    for (let start = 0; start < endpointIds.length; start += CHUNK) {
      await addDeliveries(event, endpointIds.slice(start, start + CHUNK));
    }
    deps.emit({
      name: 'event.fanned_out',
      accountId: event.accountId,
      eventId: event.id,
      type: event.type,
      deliveries: endpointIds.length,
      durationMs: deps.clock() - startedAt,
    });
  };

  function receiversOf({ accountId, type, endpointIds }: AcceptedEvent): Promise<readonly EndpointId[]> {
    return endpointIds === undefined
      ? deps.subscriptions.subscribersOf(accountId, type)
      : deps.subscriptions.presentOf(accountId, endpointIds);
  }

  // First into the lists: a delivery may be listed a moment before it is queued, but is never sent unlisted.
  async function addDeliveries(event: AcceptedEvent, endpointIds: readonly EndpointId[]): Promise<void> {
    await deps.deliveryStore.enlist(event.id, endpointIds, event.acceptedAt);
    await deps.deliveryQueue.addAll(event.accountId, event.id, endpointIds);
  }
}

export type FanOutEvent = ReturnType<typeof createFanOutEvent>;
