import { setImmediate } from 'node:timers/promises';
import { matchesType } from '../endpoints/event-filter';
import { type PayloadFilter, readStoredFilter } from '../endpoints/payload-filter';
import type { Mark } from '../kernel/redis-timeline';
import type { DeliveryState } from '../model/delivery-log';
import type { Endpoint } from '../model/endpoint';
import { type AccountId, dataOf, type EventId } from '../model/event';
import type { Replay } from '../model/replay';
import type { DeliveryStore } from '../record/redis-delivery-store';
import type { EventHead, EventStore } from '../record/redis-event-store';

export interface ChooseEventsDeps {
  readonly eventStore: Pick<EventStore, 'find' | 'findHead' | 'listFrom'>;
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

interface Considered extends Judged {
  /** Whether this replay has requested it already. */
  readonly isRequested: boolean;
}

/** Goes through the events of a replay's range, oldest first, and judges each. */
export function createChooseEvents({ eventStore, deliveryStore }: ChooseEventsDeps) {
  /** @param enough of those beyond so many chosen ones the filter may not have been asked yet: they stand as chosen. */
  return async function chooseEvents(
    replay: Replay,
    endpoint: Endpoint,
    limit: number,
    enough = limit,
  ): Promise<readonly Judged[]> {
    const members = await readMembers(replay, limit);
    const judged = await Promise.all(
      members.map(async (member) => ({ member, ...(await judge(replay, endpoint, member)) })),
    );
    // What has failed passed when it was published, and is not asked for its type again either.
    if (endpoint.filter === undefined || replay.mode === 'failed') return judged;
    return await filtered(readStoredFilter(endpoint.filter), endpoint, judged, enough);
  };

  // One after the other, so that no more than one payload is in memory, and others have their turn in between.
  async function filtered(
    filter: PayloadFilter,
    { accountId }: Endpoint,
    judged: readonly Considered[],
    enough: number,
  ): Promise<readonly Judged[]> {
    const left: Judged[] = [];
    let chosen = 0;
    for (const one of judged) {
      const isSure = !one.isChosen || one.isRequested || chosen >= enough;
      const isRefused = !isSure && !(await passes(filter, accountId, one.member));
      left.push(isRefused ? { ...one, isChosen: false } : one);
      chosen += Number(left.at(-1)?.isChosen);
    }
    return left;
  }

  async function passes(filter: PayloadFilter, accountId: AccountId, { id }: Mark): Promise<boolean> {
    const event = await eventStore.find(accountId, id as EventId);
    await setImmediate();
    // Gone meanwhile: whoever is to send it finds that out.
    return event?.body === undefined || filter.matches(dataOf(event.body));
  }

  // What has failed is among the endpoint's own deliveries: far fewer than all of the account's events.
  async function readMembers({ accountId, endpointId, mode, since, until, cursor }: Replay, limit: number) {
    // Both ends belong to it.
    const range = { since, until: until + 1 };
    return mode === 'failed'
      ? await deliveryStore.listFrom(endpointId, range, limit, cursor)
      : await eventStore.listFrom(accountId, range, limit, cursor);
  }

  async function judge(
    replay: Replay,
    endpoint: Endpoint,
    { id }: Mark,
  ): Promise<Omit<Considered, 'member'>> {
    const delivery = { eventId: id as EventId, endpointId: endpoint.id };
    const [head, { state, length }, isListed] = await Promise.all([
      eventStore.findHead(endpoint.accountId, delivery.eventId),
      deliveryStore.readWithLength(delivery.endpointId, delivery.eventId),
      deliveryStore.isListed(delivery),
    ]);
    // Its retention is over.
    if (!head) return { isChosen: false, isErased: false, isRequested: false };
    const isWanted = isToBeSent(replay, endpoint, { head, state, hasDelivery: isListed || length > 0 });
    const isErased = isWanted && head.erasedAt !== undefined;
    return { isChosen: isWanted && !isErased, isErased, isRequested: state.requestIds.includes(replay.id) };
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
