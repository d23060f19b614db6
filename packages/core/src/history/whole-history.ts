import type { HeavyTurns } from '../accounts/heavy-turns';
import type { AccountId } from '../domain/account';
import type { DeliveryParts } from '../domain/delivery';
import type { DeliveryState } from '../domain/delivery-log';
import { type EventHead, type EventId, eventNotFound, type StoredEvent } from '../domain/event';
import type { RecordedDelivery } from '../events/redis-delivery-store';
import type { EventMark } from '../events/redis-event-index';
import type { MovedStore } from '../events/redis-moved';
import { AppError } from '../platform/app-error';
import { type Page, SCANNED_ONE_BY_ONE, SCANNED_TOGETHER, scanPage } from '../platform/batches';
import { steadyClock } from '../platform/clock';
import type { ShownStatus, TypedStanding } from './delivery-standings';
import {
  type CompareMarks,
  type DeliveryCounts,
  type DeliveryKey,
  type DeliveryQuery,
  type EventKey,
  type EventQuery,
  type HistorySource,
  type ListedEvent,
  type ListMark,
  type ListSpan,
  markOf,
  mergeBatches,
  newestFirst,
  oldestFirst,
  type SourceBatch,
  type WalkedDelivery,
  type WalkQuery,
} from './history-source';
import { SearchWork } from './json-containment';

export interface CountedEvent {
  readonly event: StoredEvent;
  readonly counts: DeliveryCounts;
}

/** A page of a list. */
export interface HistoryPage<Row> extends Page<Row, ListMark> {
  /** It ends before its list does, because the history is away. */
  readonly isCutShort?: true;
}

/** What has moved to the history. */
export interface MovedSource {
  readonly source: HistorySource;
  /** It knows until when records have moved: everything that was accepted later is in Redis. */
  readonly movedStore: MovedStore;
}

type ReadFrom<Row> = (source: HistorySource, span: ListSpan) => Promise<SourceBatch<Row>>;

/**
 * Everything that is recorded: in Redis, and in the history if there is one. Readers see each record once, in one
 * order. What moves is in the history before it leaves Redis, so Redis is read first.
 *
 * While the history is away, a list ends where it would be needed. Everything else that needs it throws
 * `history_unavailable`, and so does a page that would have nothing to show for that reason.
 */
export class WholeHistory {
  constructor(
    private readonly recent: HistorySource,
    private readonly moved?: MovedSource,
    private readonly options: WholeHistoryOptions = {},
  ) {}

  /** Read a page of deliveries. Where few match, it ends after a bounded search, and tells how far it came. */
  async listDeliveries(
    query: DeliveryQuery,
    limit: number,
    before?: ListMark,
  ): Promise<HistoryPage<TypedStanding>> {
    const bound = query.eventId === undefined ? TOGETHER : ONE_BY_ONE;
    const isFiltered = NARROWING.some((name) => query[name] !== undefined);
    const work = new SearchWork();
    const bounded = beforeItsAttempts(query);
    return await this.#readPage({ query: bounded, limit, before, bound, isFiltered }, (source, span) =>
      source.listDeliveries({ ...bounded, work }, span),
    );
  }

  /** Read a page of events that were fanned out. */
  async listEvents(query: EventQuery, limit: number, before?: ListMark): Promise<HistoryPage<ListedEvent>> {
    const isFiltered = query.type !== undefined;
    const work = new SearchWork();
    return await this.#readPage({ query, limit, before, bound: ONE_BY_ONE, isFiltered }, (source, span) =>
      source.listEvents({ ...query, work }, span),
    );
  }

  /** Read the next deliveries of a walk. An entry without a row is not there any more. */
  async walkDeliveries(query: WalkQuery, span: ListSpan): Promise<SourceBatch<WalkedDelivery>> {
    return await this.#walk(query, span, (source, part) => source.walkDeliveries(query, part));
  }

  /** Read the next events of a walk. */
  async walkEvents(query: WalkQuery, span: ListSpan): Promise<SourceBatch<EventMark>> {
    return await this.#walk(query, span, (source, part) => source.walkEvents(query, part));
  }

  async findEvent(accountId: AccountId, id: EventId): Promise<StoredEvent | undefined> {
    return await this.#findFirst((source) => source.findEvent(accountId, id));
  }

  /** Read an event, and count its deliveries. @throws AppError `not_found`, also for another account's event. */
  async readEvent(accountId: AccountId, id: EventId): Promise<CountedEvent> {
    const found = await this.#findFirst(async (source) => {
      const counts = await source.countDeliveries(accountId, id);
      const event = counts && (await source.findEvent(accountId, id));
      return event && { event, counts };
    });
    if (!found) throw eventNotFound();
    return found;
  }

  /**
   * Count the deliveries of events of a page of a list, in their order. `undefined`: they are not counted, since the page has
   * more than `COUNTED_ON_A_PAGE`, or since the history, which has them, is away.
   */
  async countEach(
    accountId: AccountId,
    events: readonly ListedEvent[],
  ): Promise<readonly (DeliveryCounts | undefined)[]> {
    const marks = countable(events);
    const counts = await this.#findEach(accountId, marks, async (source, some) =>
      source.countEach(accountId, some).catch((error: unknown) => {
        if (!isAway(error)) throw error;
        return [];
      }),
    );
    const byId = new Map(marks.map(({ eventId }, i) => [eventId, counts[i]]));
    return events.map(({ id }) => byId.get(id));
  }

  async findHead(accountId: AccountId, eventId: EventId): Promise<EventHead | undefined> {
    const [head] = await this.readHeads(accountId, [{ eventId }]);
    return head;
  }

  async findDelivery(accountId: AccountId, parts: DeliveryParts): Promise<RecordedDelivery | undefined> {
    return await this.#findFirst((source) => source.findDelivery(accountId, parts));
  }

  /** In the order of the events. */
  async readHeads(
    accountId: AccountId,
    events: readonly EventKey[],
  ): Promise<readonly (EventHead | undefined)[]> {
    return await this.#findEach(accountId, events, (source, some) => source.readHeads(accountId, some));
  }

  /** In the order of the deliveries. */
  async readStates(
    accountId: AccountId,
    deliveries: readonly DeliveryKey[],
  ): Promise<readonly (DeliveryState | undefined)[]> {
    return await this.#findEach(accountId, deliveries, (source, some) => source.readStates(accountId, some));
  }

  async #readPage<Row>(
    { query, limit, before, bound, isFiltered }: PageInput,
    readFrom: ReadFrom<Row>,
  ): Promise<HistoryPage<Row>> {
    const { heavyTurns, now = steadyClock } = this.options;
    // A search by data has bounds, and turns, of its own.
    const isDeep = isFiltered && query.data === undefined;
    const inOneGo = query.data === undefined ? bound.inOneGo : SCANNED_IN_A_SEARCH;
    const endsAt = now() + MOST_SEARCH_MS;
    let scanned = 0;
    let cutBy: AppError | undefined;
    const page = await scanPage({
      limit,
      before,
      mostScanned: isDeep ? bound.atMost : inOneGo,
      readBatch: async (size, after: ListMark | undefined) => {
        const read = () => this.#readNewest(query, { limit: size, after }, readFrom);
        const isInTurn = scanned >= inOneGo && heavyTurns !== undefined;
        const batch = await (isInTurn ? heavyTurns.run(query.accountId, read) : read());
        scanned += batch.entries.length;
        cutBy = batch.cutBy;
        return scanned >= inOneGo && now() >= endsAt ? { ...batch, endsPage: true } : batch;
      },
      cursorOf: ({ mark }) => markOf(mark),
      show: async ({ row }) => row,
    });
    if (!cutBy || page.found.length === limit) return page;
    // With nothing to show it would look like the end of the list.
    if (page.found.length === 0) throw cutBy;
    return { ...page, isCutShort: true };
  }

  async #readNewest<Row>(query: Query, span: ListSpan, readFrom: ReadFrom<Row>): Promise<CutBatch<Row>> {
    const batch = await readFrom(this.recent, span);
    if (!this.moved || query.status === 'pending' || query.status === 'held') return batch;
    // After what Redis has: what leaves it has raised this time before.
    const movedUntil = await this.moved.movedStore.movedUntil(query.accountId);
    if (isBeyond(movedUntil, batch.nextCursor?.createdAt, query.since)) return batch;
    try {
      return await mergeWith(batch, this.moved.source, span, newestFirst, readFrom);
    } catch (error) {
      if (!isAway(error)) throw error;
      // Where nothing is known to have moved, Redis may well have all.
      if (movedUntil === undefined && batch.nextCursor !== undefined) return batch;
      const sure = batch.entries.filter(
        ({ mark }) => movedUntil === undefined || mark.createdAt > movedUntil,
      );
      const last = sure.at(-1)?.mark ?? span.after;
      return { entries: sure, nextCursor: last && markOf(last), endsPage: true, cutBy: error };
    }
  }

  async #walk<Row>(query: WalkQuery, span: ListSpan, readFrom: ReadFrom<Row>): Promise<SourceBatch<Row>> {
    const batch = await readFrom(this.recent, span);
    if (!this.moved) return batch;
    const movedUntil = await this.moved.movedStore.movedUntil(query.accountId);
    if (isBeyond(movedUntil, span.after?.createdAt, query.since)) return batch;
    return await mergeWith(batch, this.moved.source, span, oldestFirst, readFrom);
  }

  async #findFirst<Found>(
    find: (source: HistorySource) => Promise<Found | undefined>,
  ): Promise<Found | undefined> {
    const found = await find(this.recent);
    return found === undefined && this.moved ? await find(this.moved.source) : found;
  }

  /** Ask the history for what Redis does not have, and what may have moved. */
  async #findEach<Key extends EventKey, Found>(
    accountId: AccountId,
    wanted: readonly Key[],
    read: (source: HistorySource, some: readonly Key[]) => Promise<readonly (Found | undefined)[]>,
  ): Promise<readonly (Found | undefined)[]> {
    const found = await read(this.recent, wanted);
    if (!this.moved || found.every((one) => one !== undefined)) return found;
    const movedUntil = await this.moved.movedStore.movedUntil(accountId);
    const missing = wanted.filter((key, i) => found[i] === undefined && !isBeyond(movedUntil, key.createdAt));
    if (missing.length === 0) return found;
    const others = await read(this.moved.source, missing);
    const byKey = new Map(missing.map((key, i) => [key, others[i]]));
    return wanted.map((key, i) => found[i] ?? byKey.get(key));
  }
}

export interface WholeHistoryOptions {
  /** A page that looks further than most do takes turns with those of others. Absent: it does not. */
  readonly heavyTurns?: HeavyTurns | undefined;
  /** Milliseconds by a clock that never jumps. */
  readonly now?: () => number;
}

interface Bound {
  /** So many entries cost little more than a full page does. */
  readonly inOneGo: number;
  /** A page of a filtered list looks at more than these, and ends after so many. */
  readonly atMost: number;
}

// 17 and 36 µs of processor time each (see `batches.ts`): a page that finds nothing takes some 35 ms, in pieces of 9 ms at most.
const TOGETHER: Bound = { inOneGo: SCANNED_TOGETHER, atMost: 2_000 };
const ONE_BY_ONE: Bound = { inOneGo: SCANNED_ONE_BY_ONE, atMost: 1_000 };
/** A page ends after this time, however few it has found. Where Redis or PostgreSQL is slow, somebody waits for it. */
export const MOST_SEARCH_MS = 1_000;
// A search that finds nothing takes 10 ms for these, and many look for one event alone.
const SCANNED_IN_A_SEARCH = 150;

const NARROWING = ['eventType', 'status', 'statusClass', 'responseStatus', 'outcome', 'attempts'] as const;

// Clocks of the processes may differ by this.
const CLOCK_SKEW_MS = 60_000;

/** No event is accepted after its attempts: a list of attempts of long ago need not begin with the newest event. */
function beforeItsAttempts(query: DeliveryQuery): DeliveryQuery {
  const end = query.attempts?.until;
  if (end === undefined) return query;
  return { ...query, until: Math.min(query.until ?? Infinity, end + CLOCK_SKEW_MS) };
}

interface Query {
  readonly accountId: AccountId;
  readonly since?: number | undefined;
  readonly status?: ShownStatus | undefined;
  readonly data?: string | undefined;
}

interface PageInput {
  readonly query: Query;
  readonly limit: number;
  readonly before: ListMark | undefined;
  readonly bound: Bound;
  /** Whether entries may be left out. */
  readonly isFiltered: boolean;
}

/** `cutBy`: the history, which has what comes next, is away. */
type CutBatch<Row> = SourceBatch<Row> & { readonly cutBy?: AppError };

/** Whether one of these times, from which on something is wanted, comes after all that has moved. */
function isBeyond(movedUntil: number | undefined, ...times: readonly (number | undefined)[]): boolean {
  return movedUntil !== undefined && times.some((time) => time !== undefined && time > movedUntil);
}

/** The most deliveries that are counted for a page of events: each takes two reads. */
export const COUNTED_ON_A_PAGE = 500;

/** As many of the first events as have no more deliveries together. */
function countable(events: readonly ListedEvent[]): readonly EventMark[] {
  let left = COUNTED_ON_A_PAGE;
  return events.flatMap(({ id: eventId, createdAt, deliveryCount }) => {
    left -= deliveryCount;
    return left < 0 ? [] : [{ eventId, createdAt }];
  });
}

async function mergeWith<Row>(
  batch: SourceBatch<Row>,
  source: HistorySource,
  span: ListSpan,
  compare: CompareMarks,
  readFrom: ReadFrom<Row>,
): Promise<SourceBatch<Row>> {
  return mergeBatches([batch, await readFrom(source, { ...span, last: batch.nextCursor })], compare);
}

function isAway(error: unknown): error is AppError {
  return error instanceof AppError && error.code === 'history_unavailable';
}
