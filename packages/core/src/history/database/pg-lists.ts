import { type AttemptFilter, type AttemptOutcome, attemptOutcomes } from '../../domain/attempt';
import { type EndStatus, endStatuses } from '../../domain/delivery-log';
import type { EndpointId } from '../../domain/endpoint';
import type { EventId, Schedule } from '../../domain/event';
import type { EventMark } from '../../events/redis-event-index';
import type { StatusClass, TypedStanding } from '../delivery-standings';
import type {
  DeliveryKey,
  DeliveryQuery,
  EventQuery,
  ListedEvent,
  ListMark,
  ListSpan,
  SourceBatch,
  WalkedDelivery,
  WalkQuery,
} from '../history-source';
import { ListQuery, prefixed, SHOWN_OF_EVENT, sql, timeOf } from './pg-list-query';
import type { ListPart } from './pg-search';

/** A part of a list of events. */
export function eventListOf({ type }: EventQuery, input: ListPart & EventQuery): ListQuery {
  const list = new ListQuery({ ...input, table: 'webhook_events', order: 'newest_first' });
  if (type !== undefined) whereHashed(list, 'type', type);
  return list;
}

/** A part of a list of deliveries. */
export function deliveryListOf(query: DeliveryQuery, input: ListPart & DeliveryQuery): ListQuery {
  const { endpointId, eventId, eventType, status, outcome, responseStatus, statusClass } = query;
  const list = new ListQuery({ ...input, table: 'webhook_deliveries', order: 'newest_first' });
  if (endpointId !== undefined) whereHashed(list, 'webhook_id', endpointId);
  if (eventId !== undefined) list.where(sql`l.event_id = ${eventId}`);
  if (eventType !== undefined) whereHashed(list, 'type', eventType);
  // Those that are written out are conditions of indexes. PostgreSQL does not conclude them from a parameter.
  if (status !== undefined) list.where(sql`l.status = ${status}`);
  if (status !== undefined && status !== 'delivered') list.where(sql`l.status <> 'delivered'`);
  if (outcome !== undefined) list.where(sql`l.last_outcome = ${outcome}`);
  if (outcome !== undefined && outcome !== 'delivered') list.where(sql`l.last_outcome <> 'delivered'`);
  if (responseStatus !== undefined) list.where(sql`l.response_status = ${responseStatus}`);
  if (responseStatus !== undefined && !USUAL.includes(responseStatus)) whereUnusual(list);
  if (statusClass !== undefined) whereClass(list, statusClass);
  // Otherwise the attempts are looked at afterwards: see `buildScanOfAttempts`.
  if (query.data !== undefined && query.attempts) whereAttempted(list, query.attempts);
  return list;
}

function whereAttempted(list: ListQuery, { since, until, outcomes = attemptOutcomes }: AttemptFilter): void {
  list.where(sql`EXISTS (SELECT FROM webhook_attempts AS a
    WHERE (a.account_id, a.accepted_at, a.delivery_key, a.keep_days) = (l.account_id, l.accepted_at, l.delivery_key, l.keep_days)
      AND a.started_at >= ${timeOf(since ?? '-infinity')}::timestamptz AND a.started_at < ${timeOf(until ?? 'infinity')}::timestamptz
      AND a.outcome = ANY(${outcomes}::webhook_outcome[]))`);
}

/** A part of a walk through deliveries. */
export function deliveryWalkOf({ endpointId, isUndelivered, ...span }: WalkQuery & ListSpan): ListQuery {
  const list = new ListQuery({ ...span, table: 'webhook_deliveries', order: 'oldest_first' });
  if (endpointId !== undefined) whereHashed(list, 'webhook_id', endpointId);
  if (isUndelivered) list.where(sql`l.status <> 'delivered'`);
  return list;
}

/** A part of a walk through all events. */
export function eventWalkOf(span: WalkQuery & ListSpan): ListQuery {
  return new ListQuery({ ...span, table: 'webhook_events', order: 'oldest_first' });
}

// The index has the hash, and several values may have the same one.
function whereHashed(list: ListQuery, column: 'type' | 'webhook_id', value: string): void {
  if (column === 'type') list.where(sql`hashtext(l.type) = hashtext(${value}) AND l.type = ${value}`);
  else list.where(sql`hashtext(l.webhook_id) = hashtext(${value}) AND l.webhook_id = ${value}`);
}

export const NOTHING = { entries: [], nextCursor: undefined };

// The index of the other ones has a condition that names these.
const USUAL: readonly number[] = [200, 202, 204];

function whereUnusual(list: ListQuery): void {
  list.where(sql`(l.response_status IS NULL OR l.response_status NOT IN (200, 202, 204))`);
}

function whereClass(list: ListQuery, statusClass: StatusClass): void {
  const hundreds = statusClass === 'none' ? 0 : Number(statusClass.charAt(0));
  list.where(sql`coalesce(l.response_status, 0) / 100 = ${hundreds}`);
  if (statusClass !== '2xx') whereUnusual(list);
}

export function isEnd(status: string): status is EndStatus {
  return (endStatuses as readonly string[]).includes(status);
}

export const PLACED = 'l.accepted_at, l.event_id';

export interface EventKeyRow {
  readonly accepted_at: Date;
  readonly event_id: string;
}

export const WALKED = `${PLACED}, l.webhook_id, l.type`;

export interface KeyRow extends EventKeyRow {
  readonly webhook_id: string;
  readonly type: string;
}

export const STANDING = `${WALKED}, l.status, l.attempt_count, l.last_outcome, l.response_status`;

export interface StandingRow extends KeyRow {
  readonly status: EndStatus;
  readonly attempt_count: number;
  readonly last_outcome: AttemptOutcome | null;
  readonly response_status: number | null;
}

/** A row of a scan for attempts. */
export interface ScannedRow extends StandingRow {
  readonly matching_attempts: number;
  /** Its number among the scanned ones. */
  readonly place: number;
}

export const LISTED = `${PLACED}, ${prefixed('l', SHOWN_OF_EVENT)}, (
  SELECT count(*)::int FROM webhook_deliveries AS d
  WHERE d.account_id = l.account_id AND d.event_id = l.event_id
    AND d.accepted_at = l.accepted_at AND d.keep_days = l.keep_days
) AS deliveries`;

export interface ListedRow extends EventKeyRow {
  readonly type: string;
  readonly erased_at: Date | null;
  readonly published_at: Date | null;
  readonly cancelled_due_at: Date | null;
  readonly request_id: string | null;
  readonly deliveries: number;
}

export function standingOf(row: StandingRow): TypedStanding {
  return {
    ...keyOf(row),
    type: row.type,
    status: row.status,
    attemptCount: row.attempt_count,
    lastOutcome: row.last_outcome ?? undefined,
    lastResponseStatus: row.response_status ?? undefined,
    nextAttemptAt: undefined,
  };
}

export function walkedOf(row: KeyRow): WalkedDelivery {
  return { ...keyOf(row), type: row.type };
}

export function listedOf(row: ListedRow): ListedEvent {
  const [createdAt, publishedAt, cancelledDueAt] = [
    row.accepted_at,
    row.published_at,
    row.cancelled_due_at,
  ].map((time) => time?.getTime());
  const schedule = scheduleOf(createdAt ?? 0, publishedAt, cancelledDueAt);
  return {
    id: row.event_id as EventId,
    type: row.type,
    createdAt: row.accepted_at.getTime(),
    deliveryCount: row.deliveries,
    ...(row.erased_at === null ? {} : { erasedAt: row.erased_at.getTime() }),
    ...(schedule === undefined ? {} : { schedule }),
    ...(row.request_id === null ? {} : { requestId: row.request_id }),
  };
}

/** Of an event that was published to be sent later. Times are milliseconds since the Unix epoch. */
export function scheduleOf(
  acceptedAt: number,
  publishedAt: number | undefined,
  cancelledDueAt: number | undefined,
): Schedule | undefined {
  if (publishedAt === undefined) return undefined;
  const state = cancelledDueAt === undefined ? 'due' : 'cancelled';
  return { state, publishedAt, deliverAt: cancelledDueAt ?? acceptedAt };
}

function keyOf(row: KeyRow): DeliveryKey {
  return { ...markOf(row), endpointId: row.webhook_id as EndpointId };
}

export function markOf({ accepted_at, event_id }: EventKeyRow): EventMark {
  return { createdAt: accepted_at.getTime(), eventId: event_id as EventId };
}

/**
 * A page that is full may have more behind it: the next part, which may be empty, tells.
 *
 * @param endsAfter a search ends the page before it is full, and goes on behind this.
 */
export function batchOf<Row extends EventKeyRow & { readonly webhook_id?: string }, Shown>(
  rows: readonly Row[],
  { limit }: ListSpan,
  show: (row: Row) => Shown | undefined,
  endsAfter?: ListMark,
): SourceBatch<Shown> {
  const entries = rows.map((row) => {
    const endpointId = row.webhook_id as EndpointId | undefined;
    const mark: ListMark = endpointId === undefined ? markOf(row) : { ...markOf(row), endpointId };
    return { mark, row: show(row) };
  });
  if (endsAfter) return { entries, nextCursor: endsAfter, endsPage: true };
  return { entries, nextCursor: rows.length === limit ? entries.at(-1)?.mark : undefined };
}
