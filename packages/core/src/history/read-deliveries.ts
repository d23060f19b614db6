import type { AccountId } from '../domain/account';
import { parseDeliveryId } from '../domain/delivery';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { DeliveryStore } from '../events/redis-delivery-store';
import { AppError } from '../platform/app-error';
import { createLru } from '../platform/caches';
import { steadyClock } from '../platform/clock';
import { createCompleteDeliveries } from './complete-deliveries';
import { type DeliveryWithAttempts, type ShownStatus, shownStatusOf } from './delivery-standings';
import { createListDeliveries, type ListDeliveriesDeps } from './list-deliveries';

/** How many of an event's deliveries there are, and of each status. */
export type DeliveryCounts = Readonly<Record<ShownStatus | 'total', number>>;

export interface ReadDeliveriesDeps extends ListDeliveriesDeps {
  readonly deliveryStore: ListDeliveriesDeps['deliveryStore'] & Pick<DeliveryStore, 'find' | 'readSummary'>;
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
export function createReadDeliveries(deps: ReadDeliveriesDeps) {
  const { endpointStore, eventStore, deliveryStore, heldDeliveries, now = steadyClock } = deps;
  const remembered = createLru<string, RememberedCounts>(REMEMBERED_EVENTS);
  const completeDeliveries = createCompleteDeliveries(deps);

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
    // One that was never tried has no line that tells the type. If its event is gone, there is nothing to say of it.
    const type = recorded.eventType ?? (await eventStore.findHead(accountId, parts.eventId))?.type;
    if (type === undefined) throw deliveryNotFound();
    const status = await shownStatusOf(heldDeliveries, parts, recorded.status);
    const nextAttemptAt = status === 'held' ? undefined : recorded.nextAttemptAt;
    const standing = { ...recorded, ...parts, type, status, nextAttemptAt };
    const [delivery] = await completeDeliveries(accountId, [standing]);
    if (!delivery) throw deliveryNotFound();
    return { ...delivery, attempts: recorded.attempts };
  }

  async function statusOf(endpointId: EndpointId, eventId: EventId): Promise<ShownStatus> {
    const { status } = await deliveryStore.readSummary(endpointId, eventId);
    return await shownStatusOf(heldDeliveries, { endpointId, eventId }, status);
  }

  return { ...createListDeliveries(deps), countOfEvent, read };
}

export type ReadDeliveries = ReturnType<typeof createReadDeliveries>;

function deliveryNotFound(): AppError {
  return new AppError('not_found', 'There is no delivery with this id.');
}
