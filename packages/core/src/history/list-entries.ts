import type { AccountId } from '../domain/account';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { EventMark, MarkPage } from '../events/redis-event-index';
import type { EventStore } from '../events/redis-event-store';
import type { Batch } from '../platform/batches';
import type { Mark, TimeRange } from '../platform/redis-timeline';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import type { DeliveryEntry, ListEntry } from './delivery-standings';
import { type ListMark, type ListSpan, markOf, newestFirst, type WalkedDelivery } from './history-source';

export type EntryBatch = Batch<ListEntry, ListMark>;

/** The entries to read: of an account's events in a span of time, of one type or of any. */
export interface EntryQuery extends TimeRange {
  readonly accountId: AccountId;
  readonly eventType?: string | undefined;
}

// Each takes a command. After an event with thousands of receivers, the next events are opened in vain.
const OPENED_TOGETHER = 25;
const OPENED_IN_A_WALK = 100;

/**
 * Read an account's deliveries from its list of events and the receivers of each: no list of all of them
 * exists. New deliveries move no others, since they come in front.
 */
export async function readEntries(
  eventStore: EventStore,
  query: EntryQuery,
  { limit, after }: ListSpan,
): Promise<EntryBatch> {
  if (after?.endpointId !== undefined)
    return await readRest(eventStore, query, after, after.endpointId, limit);
  const { accountId, since, until } = query;
  const size = Math.min(limit, OPENED_TOGETHER);
  const page = await eventStore.list(accountId, size, after, { since, until });
  const { entries, nextCursor } = await openAll(eventStore, query, page, size);
  return batchOf(entries.slice(0, limit), entries.length > limit || nextCursor !== undefined);
}

/** The same, oldest first. It gives all that it has opened. */
export async function walkEntries(
  eventStore: EventStore,
  query: EntryQuery,
  { limit, after }: ListSpan,
): Promise<EntryBatch> {
  if (after?.endpointId !== undefined)
    return await readRest(eventStore, query, after, after.endpointId, limit);
  const { accountId, since, until } = query;
  const page = await readOn((size, from) => eventStore.listFrom(accountId, { since, until }, size, from), {
    limit: Math.min(limit, OPENED_IN_A_WALK),
    after,
  });
  return await openAll(eventStore, query, page, OPENED_TOGETHER);
}

async function readRest(
  eventStore: EventStore,
  query: EntryQuery,
  event: EventMark,
  before: EndpointId,
  limit: number,
): Promise<EntryBatch> {
  const { entries } = await openEvent(eventStore, query, event, limit, before);
  return batchOf(entries, true);
}

/** Open events, and go no further than the first of which more receivers than these are left. */
async function openAll(
  eventStore: EventStore,
  query: EntryQuery,
  { marks, nextCursor }: MarkPage,
  receivers: number,
): Promise<EntryBatch> {
  const events = await Promise.all(marks.map((mark) => openEvent(eventStore, query, mark, receivers)));
  const broken = events.findIndex(({ hasMore }) => hasMore);
  const whole = broken < 0 ? events : events.slice(0, broken + 1);
  return batchOf(
    whole.flatMap(({ entries }) => entries),
    broken >= 0 || nextCursor !== undefined,
  );
}

/** Read a part of a list that is given as marks. A full part may be the last one. */
export async function readOn(
  listFrom: (limit: number, after: Mark | undefined) => Promise<readonly Mark[]>,
  { limit, after }: ListSpan,
): Promise<MarkPage> {
  const found = await listFrom(limit, after && { id: after.eventId, at: after.createdAt });
  const marks = found.map(({ id, at }) => ({ eventId: id as EventId, createdAt: at }));
  return { marks, nextCursor: marks.length < limit ? undefined : marks.at(-1) };
}

/** Read an event's deliveries from its receivers. */
export async function readReceivers(
  eventStore: EventStore,
  { accountId, eventType, since = -Infinity, until = Infinity }: EntryQuery,
  eventId: EventId,
  { limit, after }: ListSpan,
): Promise<EntryBatch> {
  const opened = await eventStore.open(accountId, eventId, limit, {
    type: eventType,
    before: after?.endpointId,
  });
  if (!opened || opened.head.acceptedAt < since || until <= opened.head.acceptedAt) return batchOf([], false);
  const { head, receivers } = opened;
  const entries = receivers.members.map((id) => entryOf(id, eventId, head.acceptedAt, head.type));
  return batchOf(entries, receivers.nextCursor !== undefined);
}

// All ids have the same length, so only the endpoint itself comes in front.
const BEHIND_ENDPOINT = '~';

/** Read an event's delivery to one endpoint. */
export async function readReceiver(
  eventStore: EventStore,
  query: EntryQuery,
  eventId: EventId,
  endpointId: EndpointId,
): Promise<EntryBatch> {
  const after = { eventId, createdAt: 0, endpointId: (endpointId + BEHIND_ENDPOINT) as EndpointId };
  const { entries } = await readReceivers(eventStore, query, eventId, { limit: 1, after });
  return batchOf(
    entries.filter((entry) => entry.endpointId === endpointId),
    false,
  );
}

interface OpenedEvent {
  readonly entries: readonly ListEntry[];
  /** Whether it has more. */
  readonly hasMore: boolean;
}

async function openEvent(
  eventStore: EventStore,
  { accountId, eventType: type }: EntryQuery,
  { eventId, createdAt }: EventMark,
  limit: number,
  before?: EndpointId,
): Promise<OpenedEvent> {
  const opened = await eventStore.open(accountId, eventId, limit, { type, before });
  if (!opened || opened.receivers.members.length === 0) {
    return { entries: [{ eventId, createdAt }], hasMore: false };
  }
  const { head, receivers } = opened;
  const entries = receivers.members.map((id) => entryOf(id, eventId, createdAt, head.type));
  return { entries, hasMore: receivers.nextCursor !== undefined };
}

function batchOf(entries: readonly ListEntry[], hasMore: boolean): EntryBatch {
  const last = entries.at(-1);
  return { entries, nextCursor: hasMore && last ? markOf(last) : undefined };
}

/** An entry that is a delivery of a known type. */
export function walkedOf(entry: ListEntry): WalkedDelivery | undefined {
  if (entry.endpointId === undefined || entry.type === undefined) return undefined;
  const { eventId, createdAt, endpointId, type } = entry;
  return { eventId, createdAt, endpointId, type };
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
  endpointStore: EndpointStore,
  heldDeliveries: HeldDeliveries,
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
  heldDeliveries: HeldDeliveries,
  holding: readonly EndpointId[],
  range: TimeRange,
  { limit, after }: ListSpan,
): Promise<EntryBatch> {
  const share = Math.max(Math.ceil((2 * limit) / Math.max(holding.length, 1)), LEAST_OF_EACH);
  const parts = await Promise.all(
    holding.map(async (endpointId) => {
      const from = markAfter(endpointId, after);
      const marks = await heldDeliveries.listNewest(endpointId, range, share, from);
      const entries = marks.map(({ id, at }) => entryOf(endpointId, id as EventId, at));
      return { entries, end: marks.length === share ? entries.at(-1) : undefined };
    }),
  );
  const [limitedBy] = parts.flatMap(({ end }) => end ?? []).toSorted(newestFirst);
  const all = parts.flatMap(({ entries }) => entries).toSorted(newestFirst);
  const sure = limitedBy === undefined ? all : all.filter((entry) => newestFirst(entry, limitedBy) <= 0);
  return batchOf(sure.slice(0, limit), limitedBy !== undefined || limit < sure.length);
}

function entryOf(endpointId: EndpointId, eventId: EventId, createdAt: number, type?: string): DeliveryEntry {
  return { endpointId, eventId, createdAt, type };
}

// Sorts behind every continuation of an event's id, so that the event itself still comes.
const BEHIND = '~';

/**
 * In each endpoint's own list, entries behind a cursor stay behind it. The event itself may be still to come
 * there.
 */
function markAfter(endpointId: EndpointId, after: ListMark | undefined): Mark | undefined {
  if (after === undefined) return undefined;
  const isToCome = after.endpointId !== undefined && endpointId < after.endpointId;
  return { id: isToCome ? after.eventId + BEHIND : after.eventId, at: after.createdAt };
}
