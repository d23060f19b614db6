import type { Mark, TimeRange } from '../kernel/redis-timeline';
import type { DeliveryParts } from '../model/delivery';
import type { EndpointId } from '../model/endpoint';
import type { AccountId, EventId } from '../model/event';
import type { DeliveryStore } from '../record/redis-delivery-store';
import type { EventStore, ReceiverPage } from '../record/redis-event-store';

export interface WalkDeliveriesDeps {
  readonly eventStore: Pick<EventStore, 'findHead' | 'listFrom' | 'listReceivers'>;
  readonly deliveryStore: Pick<DeliveryStore, 'listFrom'>;
}

export interface WalkScope {
  readonly accountId: AccountId;
  /** One of the account's own, whose deliveries alone are wanted. */
  readonly endpointId: EndpointId | undefined;
  /** When their events were accepted. */
  readonly range: TimeRange;
}

/** A delivery's place: by the acceptance of its event, and of one event those to the endpoints registered last first. */
export interface DeliveryMark extends DeliveryParts {
  /** When its event was accepted. Milliseconds since the Unix epoch. */
  readonly createdAt: number;
}

export interface WalkedDelivery extends DeliveryMark {
  readonly type: string;
}

interface OpenedEvent extends Pick<WalkedDelivery, 'eventId' | 'type' | 'createdAt'> {
  /** The first of those that it went to. */
  readonly receivers: ReceiverPage;
}

// Ids only: a page of events, with the first page of each one's receivers, is a megabyte at most.
const EVENTS_AT_ONCE = 100;
const RECEIVERS_AT_ONCE = 100;

/**
 * Goes through deliveries in the order of their marks, reading on as it is asked. What comes or goes meanwhile moves
 * nothing else. Events that are gone are left out.
 */
export function createWalkDeliveries({ eventStore, deliveryStore }: WalkDeliveriesDeps) {
  /**
   * @param from the delivery to begin with, if it is one of the scope, or else the next one.
   * @param signal ends it, also where it finds nothing.
   */
  return async function* walkDeliveries(
    scope: WalkScope,
    from?: DeliveryMark,
    signal?: AbortSignal,
  ): AsyncGenerator<WalkedDelivery, void> {
    if (from) yield* walkOn(scope, from);
    let after: Mark | undefined = from && { id: from.eventId, at: from.createdAt };
    for (;;) {
      signal?.throwIfAborted();
      const members = await listEvents(scope, after);
      const events = await Promise.all(members.map((member) => open(scope, member)));
      for (const event of events) if (event) yield* deliveriesOf(scope, event);
      if (members.length < EVENTS_AT_ONCE) return;
      after = members.at(-1);
    }
  };

  // Only what is among the event's receivers is shown: a client's word is not taken for the endpoint.
  async function* walkOn(scope: WalkScope, { endpointId, ...event }: DeliveryMark) {
    const member = { id: event.eventId, at: event.createdAt };
    // All ids have the same length, so that nothing but the endpoint itself comes between the two.
    const opened = await open(scope, member, `${endpointId}~`);
    if (opened) yield* deliveriesOf(scope, opened);
  }

  async function* deliveriesOf(scope: WalkScope, { receivers, ...event }: OpenedEvent) {
    for (let page = receivers; ; ) {
      for (const endpointId of page.members) yield { ...event, endpointId };
      if (page.nextCursor === undefined) return;
      page = await listReceivers(scope, event.eventId, page.nextCursor);
    }
  }

  async function open(scope: WalkScope, { id, at }: Mark, before?: string): Promise<OpenedEvent | undefined> {
    const eventId = id as EventId;
    const [head, receivers] = await Promise.all([
      eventStore.findHead(scope.accountId, eventId),
      listReceivers(scope, eventId, before),
    ]);
    return head && { eventId, createdAt: at, type: head.type, receivers };
  }

  async function listEvents({ accountId, endpointId, range }: WalkScope, after: Mark | undefined) {
    return endpointId === undefined
      ? await eventStore.listFrom(accountId, range, EVENTS_AT_ONCE, after)
      : await deliveryStore.listFrom(endpointId, range, EVENTS_AT_ONCE, after);
  }

  async function listReceivers(
    { accountId, endpointId }: WalkScope,
    eventId: EventId,
    before: string | undefined,
  ): Promise<ReceiverPage> {
    if (endpointId === undefined)
      return await eventStore.listReceivers(accountId, eventId, RECEIVERS_AT_ONCE, before);
    const isBefore = before === undefined || endpointId < before;
    return { members: isBefore ? [endpointId] : [], nextCursor: undefined };
  }
}
