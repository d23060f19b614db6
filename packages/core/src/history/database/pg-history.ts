import type { AccountId } from '../../domain/account';
import { type AttemptFilter, matchesAttempt } from '../../domain/attempt';
import type { DeliveryParts } from '../../domain/delivery';
import { type DeliveryState, type EndStatus, readLog } from '../../domain/delivery-log';
import type { EndpointId } from '../../domain/endpoint';
import { bodyOf, type EventHead, type EventId, type StoredEvent } from '../../domain/event';
import type { MovedEvent } from '../../domain/moved-event';
import type { RecordedDelivery } from '../../events/redis-delivery-store';
import type { EventMark } from '../../events/redis-event-index';
import type { TimeRange } from '../../platform/redis-timeline';
import type { TypedStanding } from '../delivery-standings';
import type {
  DeliveryCounts,
  DeliveryKey,
  DeliveryQuery,
  EventKey,
  EventQuery,
  HistorySource,
  ListedEvent,
  ListSpan,
  SourceBatch,
  SourceEntry,
  WalkedDelivery,
  WalkQuery,
} from '../history-source';
import { noDeliveries } from '../history-source';
import type { EventRow } from './history-rows';
import type { PgDatabase } from './pg-database';
import {
  batchOf,
  deliveryListOf,
  deliveryWalkOf,
  type EventKeyRow,
  eventListOf,
  eventWalkOf,
  isEnd,
  type KeyRow,
  LISTED,
  type ListedRow,
  listedOf,
  markOf,
  NOTHING,
  PLACED,
  type ScannedRow,
  STANDING,
  type StandingRow,
  standingOf,
  WALKED,
  walkedOf,
} from './pg-lists';
import { headOf, PLACES, readEventRows, readRecords } from './pg-records';
import { SELECT_EVENT } from './pg-rows';
import { type MakeList, type SearchResult, SearchTurns, search } from './pg-search';
import { readList } from './read-list';

// One of which no attempt matches takes a microsecond or two, so a page that finds nothing takes some 30 ms.
const SCANNED_FOR_ATTEMPTS = 20_000;

/** The history in PostgreSQL, as its readers see it. */
export class PgHistory implements HistorySource {
  readonly #searchTurns = new SearchTurns();

  constructor(
    private readonly database: PgDatabase,
    private readonly mostScanned = SCANNED_FOR_ATTEMPTS,
  ) {}

  async listDeliveries(query: DeliveryQuery, span: ListSpan): Promise<SourceBatch<TypedStanding>> {
    // Only finished deliveries are here.
    if (query.status !== undefined && !isEnd(query.status)) return NOTHING;
    const range = query.eventId === undefined ? query : await this.#rangeOf(query.eventId, query);
    if (range === undefined) return NOTHING;
    const listOf: MakeList = (part) => deliveryListOf(query, { ...query, ...span, ...range, ...part });
    const { attempts } = query;
    if (attempts && query.data === undefined) return await this.#scanForAttempts(attempts, span, listOf);
    const { rows, endsAfter } = await this.#readRows<StandingRow>(query, span, listOf, STANDING);
    const batch = batchOf(rows, span, standingOf, endsAfter);
    return attempts
      ? { ...batch, entries: await this.#countAttempts(query, attempts, batch.entries) }
      : batch;
  }

  /** As far as the scan of what is kept for equally long goes, whichever ends first. */
  async #scanForAttempts(
    filter: AttemptFilter,
    span: ListSpan,
    listOf: MakeList,
  ): Promise<SourceBatch<TypedStanding>> {
    const rows = await readList<ScannedRow>(
      (asked) => this.database.read(asked),
      () => listOf({}),
      (list, keepDays) =>
        list.buildScanOfAttempts(STANDING, filter, { keepDays, mostScanned: this.mostScanned }),
    );
    const end = rows.findIndex(({ place }) => place === this.mostScanned);
    const batch = batchOf(end < 0 ? rows : rows.slice(0, end + 1), span, (row) =>
      row.matching_attempts === 0
        ? undefined
        : { ...standingOf(row), matchingAttempts: row.matching_attempts },
    );
    const last = batch.entries.at(-1);
    return end < 0 || !last ? batch : { ...batch, nextCursor: last.mark, endsPage: true };
  }

  async #countAttempts(
    { accountId }: DeliveryQuery,
    filter: AttemptFilter,
    entries: readonly SourceEntry<TypedStanding>[],
  ): Promise<readonly SourceEntry<TypedStanding>[]> {
    const rows = entries.flatMap(({ row }) => row ?? []);
    const states = await this.readStates(accountId, rows);
    const counts = new Map(
      rows.map((row, i) => [row, states[i]?.attempts.filter((each) => matchesAttempt(each, filter)).length]),
    );
    return entries.map(({ mark, row }) => ({
      mark,
      row: row && { ...row, matchingAttempts: counts.get(row) },
    }));
  }

  async listEvents(query: EventQuery, span: ListSpan): Promise<SourceBatch<ListedEvent>> {
    const listOf: MakeList = (part) => eventListOf(query, { ...query, ...span, ...part });
    const { rows, endsAfter } = await this.#readRows<ListedRow>(query, span, listOf, LISTED);
    return batchOf(rows, span, listedOf, endsAfter);
  }

  async walkDeliveries(query: WalkQuery, span: ListSpan): Promise<SourceBatch<WalkedDelivery>> {
    const rows = await readList<KeyRow>(
      (asked) => this.database.read(asked),
      () => deliveryWalkOf({ ...query, ...span }),
      (list, days) => list.build(WALKED, days),
    );
    return batchOf(rows, span, walkedOf);
  }

  async walkEvents(query: WalkQuery, span: ListSpan): Promise<SourceBatch<EventMark>> {
    const { endpointId } = query;
    if (endpointId !== undefined) {
      // An event has one delivery to an endpoint, so these are its events.
      const { entries, nextCursor } = await this.walkDeliveries(query, span);
      return {
        entries: entries.map(({ mark: { createdAt, eventId } }) => ({
          mark: { createdAt, eventId },
          row: { createdAt, eventId },
        })),
        nextCursor,
      };
    }
    const rows = await readList<EventKeyRow>(
      (asked) => this.database.read(asked),
      () => eventWalkOf({ ...query, ...span }),
      (list, days) => list.build(PLACED, days),
    );
    return batchOf(rows, span, markOf);
  }

  async findEvent(accountId: AccountId, id: EventId): Promise<StoredEvent | undefined> {
    const text = `SELECT ${SELECT_EVENT} FROM webhook_events AS e WHERE e.account_id = $1 AND e.event_id = $2
      ORDER BY e.accepted_at DESC LIMIT 1`;
    const [row] = await this.database.read<EventRow>({ name: 'find-event', text, values: [accountId, id] });
    if (!row) return undefined;
    const { type, erasedAt, trace, acceptedAt, schedule, group, requestId } = headOf(row);
    const known = {
      id,
      accountId,
      type,
      acceptedAt,
      ...(trace && { trace }),
      ...(schedule && { schedule }),
      ...(group !== undefined && { group }),
      ...(requestId !== undefined && { requestId }),
    };
    return row.data == null
      ? { ...known, erasedAt: erasedAt ?? known.acceptedAt }
      : { ...known, body: bodyOf(type, row.data) };
  }

  async findDelivery(accountId: AccountId, parts: DeliveryParts): Promise<RecordedDelivery | undefined> {
    const { eventId, endpointId } = parts;
    const createdAt = (await this.#timesOf(accountId, eventId)).at(-1);
    if (createdAt === undefined) return undefined;
    const [state] = await this.readStates(accountId, [{ eventId, endpointId, createdAt }]);
    return state && { eventId, createdAt, ...state };
  }

  async readHeads(
    accountId: AccountId,
    events: readonly EventKey[],
  ): Promise<readonly (EventHead | undefined)[]> {
    const rows = await readEventRows(this.database, accountId, events);
    const heads = new Map(rows.map((row) => [row.event_id, headOf(row)]));
    return events.map(({ eventId }) => heads.get(eventId));
  }

  async readStates(
    accountId: AccountId,
    keys: readonly DeliveryKey[],
  ): Promise<readonly (DeliveryState | undefined)[]> {
    const records = await readRecords(this.database, accountId, keys);
    return keys.map(({ eventId, endpointId }) => {
      const record = records.get(`${eventId}.${endpointId}`);
      return record && readLog(record.log);
    });
  }

  async countDeliveries(accountId: AccountId, id: EventId): Promise<DeliveryCounts> {
    const values = [accountId, id];
    const rows = await this.database.read<{ status: EndStatus; count: number }>({
      name: 'count-deliveries',
      text: COUNT_DELIVERIES,
      values,
    });
    const counts = noDeliveries();
    for (const { status, count } of rows) {
      counts[status] += count;
      counts.total += count;
    }
    return counts;
  }

  async countEach(
    accountId: AccountId,
    events: readonly EventMark[],
  ): Promise<readonly (DeliveryCounts | undefined)[]> {
    const places = events.map(({ eventId, createdAt }) => ({
      event_id: eventId,
      accepted_at: new Date(createdAt).toISOString(),
    }));
    const rows = await this.database.read<{ event_id: EventId; status: EndStatus; count: number }>({
      name: 'count-placed',
      text: COUNT_PLACED,
      values: [accountId, JSON.stringify(places)],
    });
    const byEvent = new Map(events.map(({ eventId }) => [eventId, noDeliveries()]));
    for (const { event_id: id, status, count } of rows) {
      const counts = byEvent.get(id);
      if (!counts) continue;
      counts[status] += count;
      counts.total += count;
    }
    return events.map(({ eventId }) => byEvent.get(eventId));
  }

  /**
   * What it takes to send these deliveries again, or for the first time: the events that are here, with those
   * of the deliveries that are.
   */
  async readForRehydration(
    accountId: AccountId,
    keys: readonly DeliveryKey[],
  ): Promise<readonly MovedEvent[]> {
    const records = await readRecords(this.database, accountId, keys);
    const marks = new Map(keys.map(({ eventId, createdAt }) => [eventId, { eventId, createdAt }]));
    const events = await readEventRows(this.database, accountId, [...marks.values()], SELECT_EVENT);
    return events.map((event) => ({
      accountId,
      id: event.event_id as EventId,
      createdAt: Date.parse(event.accepted_at),
      head: headOf(event),
      dataText: event.data ?? undefined,
      keepDays: event.keep_days,
      deliveries: [...records.values()]
        .filter(({ row }) => row.event_id === event.event_id && row.accepted_at === event.accepted_at)
        .map(({ row, log }) => ({ endpointId: row.webhook_id as EndpointId, log })),
    }));
  }

  /** When the event was accepted, or the events that had this id one after the other. */
  async #timesOf(accountId: AccountId, eventId: EventId): Promise<readonly number[]> {
    const text =
      'SELECT accepted_at FROM webhook_events WHERE account_id = $1 AND event_id = $2 ORDER BY accepted_at';
    const values = [accountId, eventId];
    const rows = await this.database.read<{ accepted_at: Date }>({ name: 'times-of-event', text, values });
    return rows.map(({ accepted_at: acceptedAt }) => acceptedAt.getTime());
  }

  async #readRows<Row extends KeyRow | ListedRow>(
    query: EventQuery,
    span: ListSpan,
    listOf: MakeList,
    columns: string,
  ): Promise<SearchResult<Row>> {
    const { database } = this;
    if (query.data !== undefined) {
      const input = { ...query, ...span, pattern: query.data };
      return await this.#searchTurns.take(query.accountId, () =>
        search<Row>(database, listOf, columns, input),
      );
    }
    const rows = await readList<Row>(
      (asked) => database.read(asked),
      () => listOf({}),
      (list, days) => list.build(columns, days),
    );
    return { rows };
  }

  /** The span of time in which to look for an event's deliveries. `undefined`: it has none. */
  async #rangeOf(eventId: EventId, query: DeliveryQuery): Promise<TimeRange | undefined> {
    const times = await this.#timesOf(query.accountId, eventId);
    const [first, last] = [times[0], times.at(-1)];
    if (first === undefined || last === undefined) return undefined;
    return {
      since: Math.max(first, query.since ?? first),
      until: Math.min(last + 1, query.until ?? last + 1),
    };
  }
}

const COUNT_DELIVERIES = `
  SELECT d.status, count(*)::int FROM (
    SELECT accepted_at, keep_days FROM webhook_events WHERE account_id = $1 AND event_id = $2
    ORDER BY accepted_at DESC LIMIT 1
  ) AS e
  JOIN webhook_deliveries AS d ON d.account_id = $1 AND d.accepted_at = e.accepted_at
    AND d.keep_days = e.keep_days AND d.event_id = $2
  GROUP BY d.status`;

const COUNT_PLACED = `
  SELECT g.event_id, c.status, c.count FROM ${PLACES} CROSS JOIN webhook_retentions AS k
  CROSS JOIN LATERAL (
    SELECT d.status, count(*)::int AS count FROM webhook_deliveries AS d
    WHERE d.account_id = $1 AND d.accepted_at = g.accepted_at AND d.keep_days = k.keep_days
      AND d.event_id = g.event_id
    GROUP BY d.status
  ) AS c`;
