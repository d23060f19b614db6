import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { createRequireEndpoint } from '../endpoints/require-endpoint';
import { AppError } from '../kernel/app-error';
import { steadyClock } from '../kernel/clock';
import { createLru } from '../kernel/lru';
import { SCANNED_ONE_BY_ONE, SCANNED_TOGETHER, scanPage } from '../kernel/scan-page';
import type { Attempt, AttemptOutcome } from '../model/attempt';
import { type DeliveryId, deliveryIdOf, parseDeliveryId } from '../model/delivery';
import type { EndpointId, EndpointRef } from '../model/endpoint';
import { type AccountId, type EventId, eventNotFound } from '../model/event';
import type { DeliveryCursor, DeliveryStore, ListedDelivery } from '../record/redis-delivery-store';
import type { EventStore } from '../record/redis-event-store';
import { type DeliveryFilter, matchesFilter, type ShownStatus } from './delivery-filter';
import type { ExplainHold, HoldExplanation } from './explain-hold';
import { type HeldStatus, shownStatusOf } from './shown-status';

/** A delivery as clients see it. */
export interface Delivery {
  readonly id: DeliveryId;
  readonly eventId: EventId;
  readonly endpointId: EndpointId;
  readonly type: string;
  readonly status: ShownStatus;
  readonly attemptCount: number;
  /** What came of the last attempt; `undefined` before there was one. */
  readonly lastOutcome: AttemptOutcome | undefined;
  readonly nextAttemptAt: number | undefined;
  /** When its event was accepted. */
  readonly createdAt: number;
}

/** A delivery with each of its attempts. */
export interface DeliveryWithAttempts extends Delivery {
  /** Why it is held, if it is. */
  readonly hold: HoldExplanation | undefined;
  readonly attempts: readonly Attempt[];
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
  readonly deliveryStore: Pick<DeliveryStore, 'find' | 'list' | 'readSummary'>;
  readonly heldDeliveries: HeldStatus;
  readonly explainHold: ExplainHold;
  /** Milliseconds by a clock that never jumps. */
  readonly now?: () => number;
}

// So many at a time, so that an event that went to thousands of endpoints does not fill the memory: of each the whole log
// is read.
const COUNTED_AT_ONCE = 25;

/**
 * How long the counts of an event with more deliveries than are counted at once are shown: they take tenths of a second of
 * reading logs. Whoever asks for them again and again, for as many events as are remembered, costs no more than that.
 */
export const COUNTS_SHOWN_FOR_MS = 5_000;
const REMEMBERED_EVENTS = 1_000;

interface RememberedCounts {
  readonly counts: Promise<DeliveryCounts>;
  readonly countedAt: number;
}

/** What happened to deliveries. An endpoint's are its account's only, and go with it. */
export function createReadDeliveries({
  endpointStore,
  eventStore,
  deliveryStore,
  heldDeliveries,
  explainHold,
  now = steadyClock,
}: ReadDeliveriesDeps) {
  const remembered = createLru<string, RememberedCounts>(REMEMBERED_EVENTS);
  const requireEndpoint = createRequireEndpoint(endpointStore);

  /** Newest first. @throws AppError `not_found` when the account has no such endpoint. */
  async function listOfEndpoint(
    accountId: AccountId,
    ref: EndpointRef,
    filter: DeliveryFilter,
    limit: number,
    before?: DeliveryCursor,
  ): Promise<DeliveriesPage<DeliveryCursor>> {
    const endpointId = await requireEndpoint(accountId, ref);
    const { found, nextCursor } = await scanPage({
      limit,
      before,
      mostScanned: SCANNED_TOGETHER,
      readBatch: async (size, from: DeliveryCursor | undefined) => {
        const page = await deliveryStore.list(endpointId, size, from, filter);
        return { entries: await tellHeld(endpointId, page.deliveries), nextCursor: page.nextCursor };
      },
      cursorOf: ({ eventId, createdAt }) => ({ eventId, createdAt }),
      show: async (listed) =>
        matchesFilter(listed, filter) ? await show(accountId, endpointId, listed, filter) : undefined,
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
      mostScanned: SCANNED_ONE_BY_ONE,
      readBatch: async (size, from: EndpointId | undefined) => {
        const page = await eventStore.listReceivers(accountId, eventId, size, from);
        return { entries: page.members, nextCursor: page.nextCursor };
      },
      cursorOf: (endpointId) => endpointId,
      show: async (endpointId) => {
        const summary = await deliveryStore.readSummary(endpointId, eventId);
        const status = await shownStatusOf(heldDeliveries, { endpointId, eventId }, summary.status);
        const standing = { ...summary, status, eventId, createdAt: head.acceptedAt };
        return matchesFilter(standing, filter) ? deliveryOf(endpointId, standing, head.type) : undefined;
      },
    });
    return { deliveries: found, nextCursor };
  }

  /** Of an event's deliveries; of one with many of them some seconds old. Requests at the same time share the work. */
  async function countOfEvent(accountId: AccountId, eventId: EventId): Promise<DeliveryCounts> {
    const key = `${accountId}/${eventId}`;
    const known = remembered.get(key);
    if (known && now() - known.countedAt < COUNTS_SHOWN_FOR_MS) return await known.counts;
    const counting = { counts: countAll(accountId, eventId), countedAt: now() };
    remembered.set(key, counting);
    const isLarge = await counting.counts.then(
      ({ total }) => total > COUNTED_AT_ONCE,
      () => false,
    );
    if (!isLarge && remembered.get(key) === counting) remembered.delete(key);
    return await counting.counts;
  }

  async function countAll(accountId: AccountId, eventId: EventId): Promise<DeliveryCounts> {
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
  async function read(accountId: AccountId, id: string): Promise<DeliveryWithAttempts> {
    const parts = parseDeliveryId(id);
    const endpoint = parts && (await endpointStore.find(accountId, parts.endpointId));
    const recorded = endpoint && (await deliveryStore.find(parts));
    if (!recorded) throw deliveryNotFound();
    const status = await shownStatusOf(heldDeliveries, parts, recorded.status);
    const delivery = await show(accountId, parts.endpointId, { ...recorded, status }, {});
    if (!delivery) throw deliveryNotFound();
    const hold = status === 'held' ? await explainHold(endpoint, parts.eventId) : undefined;
    return { ...delivery, hold, attempts: recorded.attempts };
  }

  // One that was never tried has no line that tells the type. If its event is gone, there is nothing to say of it.
  async function show(
    accountId: AccountId,
    endpointId: EndpointId,
    standing: Standing,
    { eventType }: DeliveryFilter,
  ): Promise<Delivery | undefined> {
    const type = standing.eventType ?? (await eventStore.findHead(accountId, standing.eventId))?.type;
    if (type === undefined || (eventType !== undefined && eventType !== type)) return undefined;
    return deliveryOf(endpointId, standing, type);
  }

  async function tellHeld(
    endpointId: EndpointId,
    listed: readonly ListedDelivery[],
  ): Promise<readonly Standing[]> {
    const pending = listed.filter(({ status }) => status === 'pending').map(({ eventId }) => eventId);
    const held = await heldDeliveries.findHeld(endpointId, pending);
    if (held.size === 0) return listed;
    return listed.map((one) => (held.has(one.eventId) ? { ...one, status: 'held' } : one));
  }

  async function statusOf(endpointId: EndpointId, eventId: EventId): Promise<ShownStatus> {
    const { status } = await deliveryStore.readSummary(endpointId, eventId);
    return await shownStatusOf(heldDeliveries, { endpointId, eventId }, status);
  }

  return { listOfEndpoint, listOfEvent, countOfEvent, read };
}

export type ReadDeliveries = ReturnType<typeof createReadDeliveries>;

/** Where a delivery stands, and whether it is held. */
interface Standing extends Omit<ListedDelivery, 'status'> {
  readonly status: ShownStatus;
}

function deliveryOf(endpointId: EndpointId, standing: Standing, type: string): Delivery {
  const { eventId, status, attemptCount, lastOutcome, createdAt } = standing;
  const id = deliveryIdOf({ eventId, endpointId });
  // One that is held was due before it came to its gate.
  const nextAttemptAt = status === 'held' ? undefined : standing.nextAttemptAt;
  return { id, eventId, endpointId, type, status, attemptCount, lastOutcome, nextAttemptAt, createdAt };
}

function deliveryNotFound(): AppError {
  return new AppError('not_found', 'There is no delivery with this id.');
}
