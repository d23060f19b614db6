import type { AccountId } from '../domain/account';
import type { DeliveryParts } from '../domain/delivery';
import type { DeliveryState } from '../domain/delivery-log';
import type { EndpointId } from '../domain/endpoint';
import type { EventHead, EventId, Schedule, StoredEvent } from '../domain/event';
import type { RecordedDelivery } from '../events/redis-delivery-store';
import type { EventMark } from '../events/redis-event-index';
import type { Batch } from '../platform/batches';
import type { TimeRange } from '../platform/redis-timeline';
import type { RecordFilter, ShownStatus, TypedStanding } from './delivery-standings';
import type { SearchWork } from './json-containment';

/**
 * A place in a list. Events are ordered by their acceptance, then by their id. Of one event, deliveries to
 * the endpoints registered last come first, in lists and in walks.
 */
export interface ListMark extends EventMark {
  /** Absent: behind all of the event's deliveries. */
  readonly endpointId?: EndpointId | undefined;
}

/** A delivery, and its place in lists. */
export interface DeliveryKey extends EventMark {
  readonly endpointId: EndpointId;
}

/** An event, and its place in lists where that is known: it is found sooner then. */
export interface EventKey {
  readonly eventId: EventId;
  readonly createdAt?: number | undefined;
}

/** Which deliveries of an account to list. */
export interface DeliveryQuery extends TimeRange, RecordFilter {
  readonly accountId: AccountId;
  readonly endpointId?: EndpointId | undefined;
  readonly eventId?: EventId | undefined;
  readonly eventType?: string | undefined;
  /** The JSON text of an object that the event's data contains. */
  readonly data?: string | undefined;
  /** What the search for it may still cost. */
  readonly work?: SearchWork | undefined;
}

/** Which events of an account to list. */
export interface EventQuery extends TimeRange {
  readonly accountId: AccountId;
  readonly type?: string | undefined;
  /** As for deliveries. */
  readonly data?: string | undefined;
  readonly work?: SearchWork | undefined;
}

/** Which events of an account to go through, or which deliveries. */
export interface WalkQuery extends TimeRange {
  readonly accountId: AccountId;
  readonly endpointId?: EndpointId | undefined;
  /** A source may leave out deliveries that were delivered. */
  readonly isUndelivered?: boolean | undefined;
}

/** A part of a list: from behind one mark, up to another one and with it. */
export interface ListSpan {
  readonly limit: number;
  readonly after?: ListMark | undefined;
  readonly last?: ListMark | undefined;
}

/** An entry of a source's list. */
export interface SourceEntry<Row> {
  /** It may have other members. */
  readonly mark: ListMark;
  /**
   * Absent: the source knows the entry, and it does not match. It hides the same one of later sources.
   */
  readonly row: Row | undefined;
  /** It has left the source while it was read: it hides nothing. */
  readonly isGone?: true;
}

/** It may have fewer entries than the limit although there are more. */
export type SourceBatch<Row> = Batch<SourceEntry<Row>, ListMark>;

/** A delivery without its state. */
export interface WalkedDelivery extends DeliveryKey {
  readonly type: string;
}

/** An event in a list. */
export interface ListedEvent {
  readonly id: EventId;
  readonly type: string;
  /** When it was accepted. Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  /** When its payload was erased, if it was. Milliseconds since the Unix epoch. */
  readonly erasedAt?: number;
  /** Absent: it was published to be sent at once. */
  readonly schedule?: Schedule;
  /** Of the request that published it, if it is known. */
  readonly requestId?: string;
  /** The number of its receivers. */
  readonly deliveryCount: number;
}

/** The number of an event's deliveries, in total and by status. */
export type DeliveryCounts = Readonly<Record<ShownStatus | 'total', number>>;

/** To count with. */
export function noDeliveries(): Record<ShownStatus | 'total', number> {
  return {
    total: 0,
    pending: 0,
    held: 0,
    delivered: 0,
    exhausted: 0,
    aborted: 0,
    cancelled: 0,
    superseded: 0,
  };
}

/** A place where events and deliveries are kept. Lists come newest first, walks oldest first. */
export interface HistorySource {
  listDeliveries(query: DeliveryQuery, span: ListSpan): Promise<SourceBatch<TypedStanding>>;
  listEvents(query: EventQuery, span: ListSpan): Promise<SourceBatch<ListedEvent>>;
  walkDeliveries(query: WalkQuery, span: ListSpan): Promise<SourceBatch<WalkedDelivery>>;
  walkEvents(query: WalkQuery, span: ListSpan): Promise<SourceBatch<EventMark>>;
  findEvent(accountId: AccountId, id: EventId): Promise<StoredEvent | undefined>;
  /** With its attempts. */
  findDelivery(accountId: AccountId, parts: DeliveryParts): Promise<RecordedDelivery | undefined>;
  /** The heads of these events, in their order. */
  readHeads(accountId: AccountId, events: readonly EventKey[]): Promise<readonly (EventHead | undefined)[]>;
  /** The states of these deliveries, in their order. `undefined`: there is no such delivery here. */
  readStates(
    accountId: AccountId,
    keys: readonly DeliveryKey[],
  ): Promise<readonly (DeliveryState | undefined)[]>;
  /** `undefined`: the event is not here, which may have been read a moment ago all the same. */
  countDeliveries(accountId: AccountId, id: EventId): Promise<DeliveryCounts | undefined>;
  /** The same of several events of a list, in their order. `undefined`: the event is not here. */
  countEach(
    accountId: AccountId,
    events: readonly EventMark[],
  ): Promise<readonly (DeliveryCounts | undefined)[]>;
}

/** The mark alone of an entry that has it among other members. */
export function markOf({ eventId, createdAt, endpointId }: ListMark): ListMark {
  return endpointId === undefined ? { eventId, createdAt } : { eventId, createdAt, endpointId };
}

export type CompareMarks = (a: ListMark, b: ListMark) => number;

/**
 * Merge what several sources have in the same span of a list. Behind the nearest end of a batch that goes on,
 * its source may have more: what others have there comes with the next part. Of the same entry, that of the
 * first source counts.
 */
export function mergeBatches<Row>(
  batches: readonly SourceBatch<Row>[],
  compare: CompareMarks,
): SourceBatch<Row> {
  const [first, ...others] = batches;
  if (first && others.length === 0) return first;
  const [nextCursor] = batches.flatMap((batch) => batch.nextCursor ?? []).toSorted(compare);
  const endsPage = batches.some((batch) => batch.endsPage);
  const entries: SourceEntry<Row>[] = [];
  const all = batches.flatMap((batch) => batch.entries).toSorted((a, b) => compare(a.mark, b.mark));
  for (const entry of all) {
    if (nextCursor !== undefined && compare(entry.mark, nextCursor) > 0) break;
    const before = entries.at(-1);
    const isSame = before !== undefined && compare(before.mark, entry.mark) === 0;
    if (isSame && !before.isGone) continue;
    if (isSame) entries.pop();
    entries.push(entry);
  }
  return { entries, nextCursor, ...(endsPage && { endsPage }) };
}

/** In the order of lists. */
export function newestFirst(a: ListMark, b: ListMark): number {
  return b.createdAt - a.createdAt || descending(a.eventId, b.eventId) || byEndpoint(a, b);
}

/** In the order of walks. */
export function oldestFirst(a: ListMark, b: ListMark): number {
  return a.createdAt - b.createdAt || descending(b.eventId, a.eventId) || byEndpoint(a, b);
}

function byEndpoint(a: ListMark, b: ListMark): number {
  return descending(a.endpointId ?? '', b.endpointId ?? '');
}

function descending(a: string, b: string): number {
  if (a === b) return 0;
  return a > b ? -1 : 1;
}
