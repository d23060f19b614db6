import { type AccountId } from '../domain/account';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { EventMark } from '../events/redis-event-index';
import type { EventStore } from '../events/redis-event-store';
import type { Batch } from '../platform/batches';
import type { Mark, TimeRange } from '../platform/redis-timeline';

/**
 * An entry of the list of an account's deliveries. The list is ordered by the acceptance of the events, the
 * newest first. Of one event, deliveries to the endpoints registered last come first.
 */
export interface DeliveryEntry extends EventMark {
  readonly endpointId: EndpointId;
  /** The event's type, where it is known. */
  readonly type: string | undefined;
}

/** An event without deliveries to list, or without more of them: reading it takes time too. */
export interface EmptyEntry extends EventMark {
  readonly endpointId?: undefined;
}

export type ListEntry = DeliveryEntry | EmptyEntry;

/** The cursor at the end of a page of an account's deliveries. */
export interface AccountCursor extends EventMark {
  /** Absent: after all of the event's deliveries. */
  readonly endpointId?: EndpointId | undefined;
}

export type EntryBatch = Batch<ListEntry, AccountCursor>;

export interface EntryFilter extends TimeRange {
  readonly eventType?: string | undefined;
}

export interface ReadEntriesContext {
  readonly eventStore: Pick<EventStore, 'list' | 'open'>;
}

// Each takes a command. After an event with thousands of receivers, the next events are opened in vain.
const OPENED_TOGETHER = 25;

/**
 * Read an account's deliveries from its list of events and the receivers of each: no list of all of them
 * exists. New deliveries move no others, since they come in front.
 */
export async function readEntries(
  context: ReadEntriesContext,
  accountId: AccountId,
  filter: EntryFilter,
  limit: number,
  after?: AccountCursor,
): Promise<EntryBatch> {
  if (after?.endpointId !== undefined) {
    const { entries } = await openEvent(context, accountId, after, filter, limit, after.endpointId);
    return batchOf(entries, true);
  }
  const size = Math.min(limit, OPENED_TOGETHER);
  const { marks, nextCursor } = await context.eventStore.list(accountId, size, after, filter);
  const events = await Promise.all(marks.map((mark) => openEvent(context, accountId, mark, filter, size)));
  const broken = events.findIndex(({ hasMore }) => hasMore);
  const whole = broken < 0 ? events : events.slice(0, broken + 1);
  const entries = whole.flatMap((event) => event.entries);
  const hasMore = entries.length > limit || broken >= 0 || nextCursor !== undefined;
  return batchOf(entries.slice(0, limit), hasMore);
}

interface OpenedEvent {
  readonly entries: readonly ListEntry[];
  /** Whether it has more. */
  readonly hasMore: boolean;
}

async function openEvent(
  { eventStore }: ReadEntriesContext,
  accountId: AccountId,
  { eventId, createdAt }: EventMark,
  { eventType: type }: EntryFilter,
  limit: number,
  before?: EndpointId,
): Promise<OpenedEvent> {
  const opened = await eventStore.open(accountId, eventId, limit, { type, before });
  if (!opened || opened.receivers.members.length === 0) {
    return { entries: [{ eventId, createdAt }], hasMore: false };
  }
  const { head, receivers } = opened;
  const entries = receivers.members.map((endpointId) => ({
    eventId,
    createdAt,
    endpointId,
    type: head.type,
  }));
  return { entries, hasMore: receivers.nextCursor !== undefined };
}

function batchOf(entries: readonly ListEntry[], hasMore: boolean): EntryBatch {
  const last = entries.at(-1);
  return { entries, nextCursor: hasMore && last ? cursorOf(last) : undefined };
}

export function cursorOf({ eventId, createdAt, endpointId }: ListEntry): AccountCursor {
  return endpointId === undefined ? { eventId, createdAt } : { eventId, createdAt, endpointId };
}

/** The held deliveries, by endpoint. */
export interface HeldIndexes {
  /** The account's endpoints that hold deliveries. */
  findHolding(accountId: AccountId, endpointIds: readonly EndpointId[]): Promise<readonly EndpointId[]>;
  /** An endpoint's held deliveries by the acceptance of their events, the newest first. */
  listNewest(
    endpointId: EndpointId,
    range: TimeRange,
    limit: number,
    after: Mark | undefined,
  ): Promise<readonly Mark[]>;
}

export interface HeldEntriesContext {
  readonly endpointStore: Pick<EndpointStore, 'listIds'>;
  readonly heldDeliveries: HeldIndexes;
}

// It takes some milliseconds to look through this many; twice as many take twice as long.
const MOST_ENDPOINTS = 2_000;
// Each takes a command. If more of them hold deliveries, reading each delivery finds them as well.
const MOST_HOLDING = 100;
const LEAST_OF_EACH = 5;

/**
 * Find an account's endpoints that hold deliveries, for `readHeldEntries`: they may be few among millions.
 *
 * @returns `undefined` if the account has too many endpoints, or too many of them hold deliveries.
 */
export async function findHolding(
  { endpointStore, heldDeliveries }: HeldEntriesContext,
  accountId: AccountId,
): Promise<readonly EndpointId[] | undefined> {
  const ids = await endpointStore.listIds(accountId, MOST_ENDPOINTS + 1);
  if (ids.length > MOST_ENDPOINTS) return undefined;
  const holding = await heldDeliveries.findHolding(accountId, ids);
  return holding.length > MOST_HOLDING ? undefined : holding;
}

/**
 * Read held deliveries from the queues' indexes. It reads an equal share from each endpoint. Entries older
 * than the last one read of an endpoint that has more may not be next, so they come with the next part.
 */
export async function readHeldEntries(
  context: Pick<HeldEntriesContext, 'heldDeliveries'>,
  holding: readonly EndpointId[],
  range: TimeRange,
  limit: number,
  after?: AccountCursor,
): Promise<EntryBatch> {
  const share = Math.max(Math.ceil((2 * limit) / Math.max(holding.length, 1)), LEAST_OF_EACH);
  const parts = await Promise.all(
    holding.map(async (endpointId) => {
      const from = markAfter(endpointId, after);
      const marks = await context.heldDeliveries.listNewest(endpointId, range, share, from);
      const entries = marks.map(({ id, at }) => entryOf(endpointId, id as EventId, at));
      return { entries, end: marks.length === share ? entries.at(-1) : undefined };
    }),
  );
  const [limitedBy] = parts.flatMap(({ end }) => end ?? []).toSorted(newestFirst);
  const all = parts.flatMap(({ entries }) => entries).toSorted(newestFirst);
  const sure = limitedBy === undefined ? all : all.filter((entry) => newestFirst(entry, limitedBy) <= 0);
  return batchOf(sure.slice(0, limit), limitedBy !== undefined || limit < sure.length);
}

function entryOf(endpointId: EndpointId, eventId: EventId, createdAt: number): DeliveryEntry {
  return { endpointId, eventId, createdAt, type: undefined };
}

// Sorts behind every continuation of an event's id, so that the event itself still comes.
const BEHIND = '~';

/**
 * In each endpoint's own list, entries behind a cursor stay behind it. The event itself may be still to come
 * there.
 */
function markAfter(endpointId: EndpointId, after: AccountCursor | undefined): Mark | undefined {
  if (after === undefined) return undefined;
  const isToCome = after.endpointId !== undefined && endpointId < after.endpointId;
  return { id: isToCome ? after.eventId + BEHIND : after.eventId, at: after.createdAt };
}

function newestFirst(a: DeliveryEntry, b: DeliveryEntry): number {
  return (
    b.createdAt - a.createdAt || descending(a.eventId, b.eventId) || descending(a.endpointId, b.endpointId)
  );
}

function descending(a: string, b: string): number {
  if (a === b) return 0;
  return a > b ? -1 : 1;
}
