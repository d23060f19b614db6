import type { EndpointId } from '../endpoints/endpoint';
import type { Subscriber } from '../endpoints/stored-endpoint';
import type { Subscriptions } from '../endpoints/subscriptions';
import type { AcceptedEvent, AccountId, EventId } from '../events/event';
import type { EventStore } from '../events/redis-event-store';
import type { Wait } from '../gates/admit';
import { type Hold, SAFETY_WAKE_MS } from '../gates/hold';
import type { IsStuck } from '../gates/is-stuck';
import type { Clock } from '../runtime/clock';
import type { Emit } from '../signals/signals';
import type { DeliveryStore } from './redis-delivery-store';

/** The queue of deliveries. Adding the same delivery again is harmless. */
export interface DeliveryQueue {
  addAll(accountId: AccountId, eventId: EventId, endpointIds: readonly EndpointId[]): Promise<void>;
}

export interface FanOutEventDeps {
  readonly eventStore: Pick<EventStore, 'save' | 'addReceivers'>;
  readonly subscriptions: Pick<Subscriptions, 'subscribersOf' | 'presentOf'>;
  readonly deliveryStore: Pick<DeliveryStore, 'enlist'>;
  readonly deliveryQueue: DeliveryQueue;
  readonly hold: Hold;
  readonly isStuck: IsStuck;
  readonly clock: Clock;
  readonly emit: Emit;
}

// Large enough that Redis is the limit, small enough that one chunk does not hold up the event loop.
const CHUNK = 250;

/**
 * Makes a delivery for each endpoint of the event's account that asked for its type, or that it is aimed at. It may be
 * run again, in whole or after it broke off anywhere: every step is harmless when repeated.
 */
export function createFanOutEvent(deps: FanOutEventDeps) {
  return async function fanOutEvent(event: AcceptedEvent): Promise<void> {
    const startedAt = deps.clock();
    const [subscribers] = await Promise.all([receiversOf(event), deps.eventStore.save(event)]);
    for (let start = 0; start < subscribers.length; start += CHUNK) {
      await addDeliveries(event, subscribers.slice(start, start + CHUNK));
    }
    deps.emit({
      name: 'event.fanned_out',
      accountId: event.accountId,
      eventId: event.id,
      type: event.type,
      deliveries: subscribers.length,
      durationMs: deps.clock() - startedAt,
    });
  };

  function receiversOf({ accountId, type, endpointIds }: AcceptedEvent): Promise<readonly Subscriber[]> {
    return endpointIds === undefined
      ? deps.subscriptions.subscribersOf(accountId, type)
      : deps.subscriptions.presentOf(accountId, endpointIds);
  }

  // First into the lists: a delivery may be listed a moment before it is queued, but is never sent unlisted.
  async function addDeliveries(event: AcceptedEvent, subscribers: readonly Subscriber[]): Promise<void> {
    const endpointIds = idsOf(subscribers);
    await Promise.all([
      deps.eventStore.addReceivers(event.accountId, event.id, endpointIds),
      deps.deliveryStore.enlist(event.id, endpointIds, event.acceptedAt),
    ]);
    const inOrder = subscribers.filter(({ ordering }) => ordering === 'strict');
    const inAnyOrder = subscribers.filter(({ ordering }) => ordering === 'none');
    const stuck = inAnyOrder.filter(({ id }) => deps.isStuck(id));
    const flowing = inAnyOrder.filter((subscriber) => !stuck.includes(subscriber));
    await deps.deliveryQueue.addAll(event.accountId, event.id, idsOf(flowing));
    await Promise.all([
      ...inOrder.map(({ id }) => lineUp(event, id)),
      ...stuck.map(({ id }) => waitInLine(event, id)),
    ]);
  }

  // Straight to the gate, so that an event whose fan-out is complete is in its line: on the queue it could be overtaken
  // on its way there.
  function lineUp(event: AcceptedEvent, endpointId: EndpointId): Promise<void> {
    return park(event, endpointId, { reason: 'out_of_turn', wakeAt: undefined });
  }

  // It would come there anyway, after a way over the queue that costs as much as a delivery.
  function waitInLine(event: AcceptedEvent, endpointId: EndpointId): Promise<void> {
    return park(event, endpointId, { reason: 'busy', wakeAt: deps.clock() + SAFETY_WAKE_MS });
  }

  function park(
    { accountId, id: eventId, acceptedAt }: AcceptedEvent,
    endpointId: EndpointId,
    why: Omit<Wait, 'kind'>,
  ): Promise<void> {
    return deps.hold({ accountId, endpointId, eventId, acceptedAt, side: 'first' }, why);
  }
}

export type FanOutEvent = ReturnType<typeof createFanOutEvent>;

function idsOf(subscribers: readonly Subscriber[]): EndpointId[] {
  return subscribers.map(({ id }) => id);
}
