import { type AccountId } from '../domain/account';
import type { EndpointId } from '../domain/endpoint';
import { type EventId, eventNotFound } from '../domain/event';
import type { DeliveryStore } from '../events/redis-delivery-store';
import type { EventMark } from '../events/redis-event-index';
import type { EventStore } from '../events/redis-event-store';
import { type Page, SCANNED_ONE_BY_ONE, scanPage } from '../platform/batches';
import { createLru } from '../platform/caches';
import { steadyClock } from '../platform/clock';
import { textOfMember } from '../platform/json';
import type { TimeRange } from '../platform/redis-timeline';
import { type HeldStatus, type ShownStatus, shownStatusOf } from './delivery-standings';

/** An event in a list. */
export interface ListedEvent {
  readonly id: EventId;
  readonly type: string;
  /** When it was accepted. Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  /** When its payload was erased, if it was. Milliseconds since the Unix epoch. */
  readonly erasedAt?: number;
  /** The number of its receivers. */
  readonly deliveryCount: number;
}

/** The filter of a list of events. */
export interface EventFilter extends TimeRange {
  readonly type?: string | undefined;
}

export interface ListEventsContext {
  readonly eventStore: Pick<EventStore, 'findHead' | 'list' | 'countReceivers'>;
}

/** List an account's events that were fanned out and are still kept, newest first. */
export async function listEvents(
  { eventStore }: ListEventsContext,
  accountId: AccountId,
  filter: EventFilter,
  limit: number,
  before?: EventMark,
): Promise<Page<ListedEvent, EventMark>> {
  return await scanPage({
    limit,
    before,
    mostScanned: SCANNED_ONE_BY_ONE,
    readBatch: async (size, from: EventMark | undefined) => {
      const { marks, nextCursor } = await eventStore.list(accountId, size, from, filter);
      return { entries: marks, nextCursor };
    },
    cursorOf: (mark) => mark,
    show: async ({ eventId: id, createdAt }) => {
      const head = await eventStore.findHead(accountId, id);
      if (!head || (filter.type !== undefined && filter.type !== head.type)) return undefined;
      const { type, erasedAt } = head;
      const deliveryCount = await eventStore.countReceivers(accountId, id);
      return { id, type, createdAt, deliveryCount, ...(erasedAt === undefined ? {} : { erasedAt }) };
    },
  });
}

/** An event as it was published, and the state of its deliveries. */
export interface PublishedEvent extends Omit<ListedEvent, 'deliveryCount'> {
  /** The JSON text of its data, as it was sent; `null` once that was erased. */
  readonly dataText: string;
  readonly deliveries: DeliveryCounts;
}

export interface ReadEventContext {
  readonly eventStore: Pick<EventStore, 'find'>;
  readonly deliveryCounter: Pick<DeliveryCounter, 'countOf'>;
}

/** @throws AppError `not_found`, also for another account's event. */
export async function readEvent(
  { eventStore, deliveryCounter }: ReadEventContext,
  accountId: AccountId,
  id: EventId,
): Promise<PublishedEvent> {
  const [event, deliveries] = await Promise.all([
    eventStore.find(accountId, id),
    deliveryCounter.countOf(accountId, id),
  ]);
  if (!event) throw eventNotFound();
  const listed = { id, type: event.type, createdAt: event.acceptedAt, deliveries };
  if (event.body === undefined) return { ...listed, dataText: 'null', erasedAt: event.erasedAt };
  return { ...listed, dataText: textOfMember(event.body, 'data') ?? 'null' };
}

/** The number of an event's deliveries, in total and by status. */
export type DeliveryCounts = Readonly<Record<ShownStatus | 'total', number>>;

export interface DeliveryCounterOptions {
  readonly eventStore: Pick<EventStore, 'listReceivers'>;
  readonly deliveryStore: Pick<DeliveryStore, 'readSummary'>;
  readonly heldDeliveries: Pick<HeldStatus, 'isHeld'>;
  /** Milliseconds by a clock that never jumps. */
  readonly now?: () => number;
}

// It reads the whole log of each delivery, so many together would fill the memory.
const COUNTED_AT_ONCE = 25;

/**
 * How long the counts of an event with more deliveries than are counted at once are shown. Counting takes
 * tenths of a second of reading logs. This bounds its cost, however often clients ask.
 */
export const COUNTS_SHOWN_FOR_MS = 5_000;
const REMEMBERED_EVENTS = 1_000;

interface RememberedCounts {
  readonly counts: Promise<DeliveryCounts>;
  readonly countedAt: number;
}

/** Counts the deliveries of an event. The counts of an event with many deliveries are some seconds old. */
export class DeliveryCounter {
  readonly #remembered = createLru<string, RememberedCounts>(REMEMBERED_EVENTS);

  constructor(private readonly options: DeliveryCounterOptions) {}

  /** Concurrent requests share the work. */
  async countOf(accountId: AccountId, eventId: EventId): Promise<DeliveryCounts> {
    const { now = steadyClock } = this.options;
    const key = `${accountId}/${eventId}`;
    const known = this.#remembered.get(key);
    if (known && now() - known.countedAt < COUNTS_SHOWN_FOR_MS) return await known.counts;
    const counting = { counts: this.#count(accountId, eventId), countedAt: now() };
    this.#remembered.set(key, counting);
    const isLarge = await counting.counts.then(
      ({ total }) => total > COUNTED_AT_ONCE,
      () => false,
    );
    if (!isLarge && this.#remembered.get(key) === counting) this.#remembered.delete(key);
    return await counting.counts;
  }

  async #count(accountId: AccountId, eventId: EventId): Promise<DeliveryCounts> {
    const counts = { total: 0, pending: 0, held: 0, delivered: 0, exhausted: 0, aborted: 0, cancelled: 0 };
    let before: EndpointId | undefined;
    do {
      const page = await this.options.eventStore.listReceivers(accountId, eventId, COUNTED_AT_ONCE, before);
      const statuses = await Promise.all(page.members.map((id) => this.#statusOf(id, eventId)));
      for (const status of statuses) counts[status] += 1;
      counts.total += statuses.length;
      before = page.nextCursor;
    } while (before !== undefined);
    return counts;
  }

  async #statusOf(endpointId: EndpointId, eventId: EventId): Promise<ShownStatus> {
    const { deliveryStore, heldDeliveries } = this.options;
    const { status } = await deliveryStore.readSummary(endpointId, eventId);
    return await shownStatusOf(heldDeliveries, { endpointId, eventId }, status);
  }
}
