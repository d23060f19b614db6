import type { AccountId } from '../domain/account';
import type { Attempt } from '../domain/attempt';
import { type DeliveryId, type DeliveryParts, deliveryIdOf } from '../domain/delivery';
import type { EndpointId, EndpointRef } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { requireEndpoint } from '../endpoints/resolve-endpoints';
import type { DeliveryStore } from '../events/redis-delivery-store';
import type { EventStore, ReceiverPage } from '../events/redis-event-store';
import { inBatches } from '../platform/batches';
import type { Mark, TimeRange } from '../platform/redis-timeline';
import { type HeldStatus, type ShownStatus, shownStatusOf } from './delivery-standings';

export interface ExportAttemptsDeps extends WalkDeliveriesDeps {
  readonly endpointStore: Pick<EndpointStore, 'find' | 'idOf'>;
  readonly deliveryStore: Pick<DeliveryStore, 'listFrom' | 'readWithLength'>;
  readonly heldDeliveries: HeldStatus;
}

/** What is exported: the attempts of events that were accepted in the range. */
export interface ExportScope {
  readonly range: TimeRange;
  /** Only deliveries to this one. */
  readonly endpoint?: EndpointRef | undefined;
  /** At most so many attempts. */
  readonly limit?: number | undefined;
}

/** Where an export has come to. */
export interface ExportMark extends DeliveryMark {
  /** How many of the delivery's attempts are behind it. */
  readonly attempts: number;
}

/** An attempt, and how its delivery stood when it was read. */
export interface ExportedAttempt extends WalkedDelivery {
  readonly id: DeliveryId;
  readonly status: ShownStatus;
  readonly attempt: Attempt;
  readonly mark: ExportMark;
}

// Logs hold the beginnings of answers: with the default sizes ten failed attempts of each are 400 KB.
const DELIVERIES_AT_ONCE = 10;

/**
 * Goes through an account's attempts, those of the oldest event first, reading on as it is asked and holding no more than
 * a few deliveries. Lines of a log are only ever appended, so that each attempt keeps its place.
 */
export function createExportAttempts({
  endpointStore,
  eventStore,
  deliveryStore,
  heldDeliveries,
}: ExportAttemptsDeps) {
  const walkDeliveries = createWalkDeliveries({ eventStore, deliveryStore });

  /**
   * @param signal ends it, also where it finds nothing.
   * @throws AppError `not_found`, at the first step, when the account has no such endpoint.
   */
  return async function* exportAttempts(
    accountId: AccountId,
    { range, endpoint, limit = Number.POSITIVE_INFINITY }: ExportScope,
    after?: ExportMark,
    signal?: AbortSignal,
  ): AsyncGenerator<readonly ExportedAttempt[], void> {
    const endpointId =
      endpoint === undefined ? undefined : await requireEndpoint({ endpointStore }, accountId, endpoint);
    const deliveries = walkDeliveries({ accountId, endpointId, range }, after, signal);
    let left = limit;
    for await (const batch of inBatches(deliveries, DELIVERIES_AT_ONCE)) {
      const read = await Promise.all(batch.map((delivery) => attemptsOf(delivery, after)));
      const attempts = read.flat().slice(0, left);
      if (attempts.length > 0) yield attempts;
      signal?.throwIfAborted();
      left -= attempts.length;
      if (left === 0) return;
    }
  };

  async function attemptsOf(
    delivery: WalkedDelivery,
    after: ExportMark | undefined,
  ): Promise<readonly ExportedAttempt[]> {
    const { endpointId, eventId, createdAt } = delivery;
    const { state } = await deliveryStore.readWithLength(endpointId, eventId);
    const done = after?.eventId === eventId && after.endpointId === endpointId ? after.attempts : 0;
    if (state.attempts.length <= done) return [];
    const status = await shownStatusOf(heldDeliveries, delivery, state.status);
    const exported = state.attempts.map((attempt, index) => ({
      ...delivery,
      id: deliveryIdOf(delivery),
      status,
      attempt,
      mark: { createdAt, eventId, endpointId, attempts: index + 1 },
    }));
    return exported.slice(done);
  }
}

export type ExportAttempts = ReturnType<typeof createExportAttempts>;

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
function createWalkDeliveries({ eventStore, deliveryStore }: WalkDeliveriesDeps) {
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
