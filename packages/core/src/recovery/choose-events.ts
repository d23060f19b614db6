import { matchesType } from '../endpoints/event-filter';
import type { Mark } from '../kernel/redis-timeline';
import type { DeliveryState } from '../model/delivery-log';
import type { Endpoint } from '../model/endpoint';
import type { EventId } from '../model/event';
import type { Replay } from '../model/replay';
import type { DeliveryStore } from '../record/redis-delivery-store';
import type { EventHead, EventStore } from '../record/redis-event-store';

export interface ChooseEventsDeps {
  readonly eventStore: Pick<EventStore, 'findHead' | 'listFrom'>;
  readonly deliveryStore: Pick<DeliveryStore, 'readWithLength' | 'isListed' | 'listFrom'>;
}

/** What is known of an event that may be replayed. */
export interface Candidate {
  readonly head: EventHead;
  readonly state: DeliveryState;
  /** Whether there is, or was, a delivery of it to the endpoint. */
  readonly hasDelivery: boolean;
}

/** An event of the range, and whether it is to be sent. */
export interface Judged {
  readonly member: Mark;
  readonly isChosen: boolean;
  /** Whether it would be chosen, but there is no payload to send any more. */
  readonly isErased: boolean;
}

/** Goes through the events of a replay's range, oldest first, and judges each. */
export function createChooseEvents({ eventStore, deliveryStore }: ChooseEventsDeps) {
  return async function chooseEvents(
    replay: Replay,
    endpoint: Endpoint,
    limit: number,
  ): Promise<readonly Judged[]> {
    const members = await readMembers(replay, limit);
    return await Promise.all(
      members.map(async (member) => ({ member, ...(await judge(replay, endpoint, member)) })),
    );
  };

  // What has failed is among the endpoint's own deliveries: far fewer than all of the account's events.
  async function readMembers({ accountId, endpointId, mode, since, until, cursor }: Replay, limit: number) {
    // Both ends belong to it.
    const range = { since, until: until + 1 };
    return mode === 'failed'
      ? await deliveryStore.listFrom(endpointId, range, limit, cursor)
      : await eventStore.listFrom(accountId, range, limit, cursor);
  }

  async function judge(replay: Replay, endpoint: Endpoint, { id }: Mark): Promise<Omit<Judged, 'member'>> {
    const delivery = { eventId: id as EventId, endpointId: endpoint.id };
    const [head, { state, length }, isListed] = await Promise.all([
      eventStore.findHead(endpoint.accountId, delivery.eventId),
      deliveryStore.readWithLength(delivery.endpointId, delivery.eventId),
      deliveryStore.isListed(delivery),
    ]);
    // Its retention is over.
    if (!head) return { isChosen: false, isErased: false };
    const isWanted = isToBeSent(replay, endpoint, { head, state, hasDelivery: isListed || length > 0 });
    const isErased = isWanted && head.erasedAt !== undefined;
    return { isChosen: isWanted && !isErased, isErased };
  }
}

export type ChooseEvents = ReturnType<typeof createChooseEvents>;

/** Whether a replay sends an event. One that it has requested already, in a step that broke off, it still does. */
export function isToBeSent(
  { id, mode }: Pick<Replay, 'id' | 'mode'>,
  { events }: Pick<Endpoint, 'events'>,
  { head, state, hasDelivery }: Candidate,
): boolean {
  if (state.requestIds.includes(id)) return true;
  const isAskedFor = events.some((filter) => matchesType(filter, head.type));
  switch (mode) {
    case 'failed':
      return !state.isOpen && state.status !== 'delivered';
    case 'missing':
      return !hasDelivery && isAskedFor && !head.isAimed;
    case 'all':
      return isAskedFor && (hasDelivery ? !state.isOpen : !head.isAimed);
  }
}
