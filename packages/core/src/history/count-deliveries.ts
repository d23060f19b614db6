import type { AccountId } from '../domain/account';
import { endStatuses } from '../domain/delivery-log';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { DeliveryStore } from '../events/redis-delivery-store';
import type { EventMark } from '../events/redis-event-index';
import type { EventStore } from '../events/redis-event-store';
import type { MovedCounts, MovedStore } from '../events/redis-moved';
import { SharedResults } from '../platform/caches';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { type ShownStatus, shownStatusOf } from './delivery-standings';
import { type DeliveryCounts, noDeliveries } from './history-source';

export interface DeliveryCounterOptions {
  readonly eventStore: EventStore;
  readonly deliveryStore: DeliveryStore;
  readonly heldDeliveries: HeldDeliveries;
  /** Absent: nothing moves to a history. */
  readonly moved?: MovedStore | undefined;
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
// An event's deliveries move in a few batches.
const MOST_TRIES = 5;

/** Counts the deliveries of an event. The counts of an event with many deliveries are some seconds old. */
export class DeliveryCounter {
  readonly #counts: SharedResults<DeliveryCounts>;

  constructor(private readonly options: DeliveryCounterOptions) {
    this.#counts = new SharedResults({
      entries: REMEMBERED_EVENTS,
      shownForMs: COUNTS_SHOWN_FOR_MS,
      now: options.now,
      isKept: ({ total }) => total > COUNTED_AT_ONCE,
    });
  }

  /** Concurrent requests share the work. */
  async countOf(accountId: AccountId, eventId: EventId): Promise<DeliveryCounts> {
    return await this.#counts.get(`${accountId}/${eventId}`, () => this.#countAll(accountId, eventId));
  }

  /** With those that have moved. What moves while it counts might count twice, or not: then it counts again. */
  async #countAll(accountId: AccountId, eventId: EventId): Promise<DeliveryCounts> {
    const { moved } = this.options;
    if (!moved) return await this.#count(accountId, eventId);
    let before = await moved.countsOf(accountId, eventId);
    for (let tries = 1; ; tries += 1) {
      const counts = await this.#count(accountId, eventId);
      const after = await moved.countsOf(accountId, eventId);
      if (tries === MOST_TRIES || sumOf(before) === sumOf(after)) return sumUp(counts, after);
      before = after;
    }
  }

  async #count(accountId: AccountId, eventId: EventId): Promise<DeliveryCounts> {
    const counts = noDeliveries();
    let before: EndpointId | undefined;
    do {
      const opened = await this.options.eventStore.open(accountId, eventId, COUNTED_AT_ONCE, { before });
      if (!opened) break;
      const { head, receivers } = opened;
      const mark = { eventId, createdAt: head.acceptedAt };
      const statuses = await Promise.all(receivers.members.map((id) => this.#statusOf(id, mark)));
      for (const status of statuses) {
        if (status === undefined) continue;
        counts[status] += 1;
        counts.total += 1;
      }
      before = receivers.nextCursor;
    } while (before !== undefined);
    return counts;
  }

  async #statusOf(endpointId: EndpointId, mark: EventMark): Promise<ShownStatus | undefined> {
    const { deliveryStore, heldDeliveries } = this.options;
    const [listed] = await deliveryStore.readListed(endpointId, [mark]);
    return listed && (await shownStatusOf(heldDeliveries, { endpointId, ...mark }, listed));
  }
}

function sumUp(counts: DeliveryCounts, moved: MovedCounts): DeliveryCounts {
  const sum = { ...counts, total: counts.total + sumOf(moved) };
  for (const status of endStatuses) sum[status] += moved[status] ?? 0;
  return sum;
}

function sumOf(moved: MovedCounts): number {
  return Object.values(moved).reduce((sum, count) => sum + count, 0);
}
