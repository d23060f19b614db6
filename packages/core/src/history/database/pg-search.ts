import type { AccountId } from '../../domain/account';
import type { EventId } from '../../domain/event';
import { AppError } from '../../platform/app-error';
import { Turns } from '../../platform/batches';
import type { TimeRange } from '../../platform/redis-timeline';
import { type ListMark, type ListSpan, newestFirst } from '../history-source';
import { JsonPattern, valuesAnywhere } from '../json-containment';
import type { PgDatabase } from './pg-database';
import type { ListQuery } from './pg-list-query';
import { type PlacedRow, placeOf, readList } from './read-list';

/** A part of a list: what is behind a mark, from a time on. */
export interface ListPart extends ListSpan {
  readonly since?: number | undefined;
}

/** Makes a list of a part, and otherwise as it was asked for. */
export type MakeList = (part: Partial<ListPart>) => ListQuery;

export interface SearchInput extends TimeRange, ListSpan {
  readonly accountId: AccountId;
  /** The JSON text of an object that the data contains, or of a text or a number that is anywhere in it. */
  readonly pattern: string;
}

export interface SearchResult<Row> {
  readonly rows: readonly Row[];
  /** The page ends before it is full, and the list goes on behind this. */
  readonly endsAfter?: ListMark | undefined;
}

// It takes 5 to 20 µs to look at one, and 10 to 50 to fetch what the index finds.
const SCANNED_FIRST = 500;
const SCANNED = 1_000;
// It takes up to 0.4 s to parse a MiB of short values, and to compare them: a second would be a third of the time-out.
const SCANNED_BYTES = 1024 * 1024;
const MOST_BYTES = 4 * 1024 * 1024;
/** Measured: a value at any place takes one and a half to three times as long to find as an object. */
const COST_OF_ANYWHERE = 2;
/** Of those looked at, so many match if it is no use to ask the index, which would give them all. */
const COMMON = 0.01;
const MOST_HITS = 1_000;
/** A row found by the index costs twice as much as a row of a scan. */
const COST_OF_HIT = 2;
/** A page ends behind so much: where a common value and a common filter never meet, no index helps. */
const MOST_WORK = 4_000;
const DAY_MS = 86_400_000;
/** How many more days are searched together than the time before. */
const GROWTH = 4;

// A page takes some ten milliseconds, and some seconds at worst.
const MOST_WAITING = 32;
const RETRY_AFTER_MS = 1_000;

/** Searches of an account run one after the other, so that it takes one connection. */
export class SearchTurns {
  readonly #ofAccounts = new Map<AccountId, { readonly turns: Turns; count: number }>();

  /** @throws AppError `rate_limited` when too many searches of the account wait already. */
  async take<Result>(accountId: AccountId, work: () => Promise<Result>): Promise<Result> {
    const own = this.#ofAccounts.get(accountId) ?? { turns: new Turns(), count: 0 };
    if (own.count > MOST_WAITING) throw tooManyWaiting();
    this.#ofAccounts.set(accountId, own);
    own.count += 1;
    try {
      return await own.turns.take(work);
    } finally {
      own.count -= 1;
      if (own.count === 0) this.#ofAccounts.delete(accountId);
    }
  }
}

function tooManyWaiting(): AppError {
  return new AppError(
    'rate_limited',
    `${MOST_WAITING} searches of the account are waiting already. Send them one after the other.`,
    { retryAfterMs: RETRY_AFTER_MS },
  );
}

/**
 * The newest rows whose event's data contains the pattern. The newest of all are looked at one by one, which finds what
 * is common. What is rare is found by the index, in longer and longer spans of time. Where the index gives too many,
 * they are looked at again.
 */
export async function search<Row extends PlacedRow>(
  database: PgDatabase,
  makeList: MakeList,
  columns: string,
  input: SearchInput,
): Promise<SearchResult<Row>> {
  const { isEmpty, isInNone, isIndexed } = new JsonPattern(input.pattern);
  if (isInNone) return { rows: [] };
  if (isEmpty) {
    const rows = await readList<Row>(
      (query) => database.read(query),
      () => makeList({}),
      (list, days) => list.build(columns, days),
    );
    return { rows };
  }
  return await new Search<Row>(database, makeList, columns, input, isIndexed).run();
}

class Search<Row extends PlacedRow> {
  readonly #turns = new Turns();
  readonly #found: Row[] = [];
  #work = 0;
  #bytes = 0;
  /** Those looked at. */
  #looked = 0;
  #after: ListMark | undefined;
  #kept: Kept | undefined;
  /** From then on, the index gives too many. */
  #commonSince = Number.POSITIVE_INFINITY;

  /** @param isIndexed whether the index knows the pattern. */
  constructor(
    private readonly database: PgDatabase,
    private readonly makeList: MakeList,
    private readonly columns: string,
    private readonly input: SearchInput,
    private readonly isIndexed: boolean,
  ) {
    this.#after = input.after;
  }

  async run(): Promise<SearchResult<Row>> {
    for (let size = SCANNED_FIRST; ; size = SCANNED) {
      const scan = await this.#scan(size);
      if (scan.isEnd || this.#isFull) break;
      if (this.#isEnough) return { rows: this.#found, endsAfter: scan.last };
      const isIndexUseful = this.isIndexed && scan.share < COMMON && scan.last.createdAt < this.#commonSince;
      if (isIndexUseful && (await this.#searchDays(scan.last)) === 'done') break;
    }
    return { rows: this.#found.slice(0, this.input.limit) };
  }

  /** Look at the next rows one by one. */
  async #scan(size: number): Promise<Scan> {
    const { pattern } = this.input;
    const costOfByte = valuesAnywhere(pattern) ? COST_OF_ANYWHERE : 1;
    const mostBytes = Math.ceil(Math.min(SCANNED_BYTES, MOST_BYTES - this.#bytes) / costOfByte);
    const rows = await readList<Scanned<Row>>(
      // It takes one connection, however many retentions there are.
      (query) => this.#turns.take(() => this.database.scan(query)),
      () => this.makeList({ limit: size, after: this.#after }),
      (list, keepDays) => list.buildScan(this.columns, { pattern, keepDays, mostBytes }),
    );
    const end = rows.findIndex(({ matches }) => matches === null);
    const scanned = end < 0 ? rows : rows.slice(0, end);
    this.#work += scanned.length;
    this.#looked += scanned.length;
    for (const { bytes } of scanned) this.#bytes += costOfByte * bytes;
    const matching = scanned.filter(({ matches }) => matches);
    this.#found.push(...matching);
    const last = scanned.at(-1);
    if (last === undefined || (rows.length < size && end < 0)) return { isEnd: true };
    this.#after = placeOf(last);
    return { isEnd: false, last: this.#after, share: matching.length / scanned.length };
  }

  /** Search by the index, whole days at a time, until it gives too many, or it is enough. */
  async #searchDays(start: ListMark): Promise<'done' | 'stopped'> {
    this.#kept ??= await readKept(this.database, this.input.accountId);
    const { since = 0, last } = this.input;
    const oldest = Math.max(this.#kept.oldest, since, last?.createdAt ?? 0);
    let growth = GROWTH;
    let after = start;
    for (let days = 1; after.createdAt >= oldest; days *= growth) {
      if (this.#isEnough) return 'stopped';
      const firstDay = after.createdAt - (after.createdAt % DAY_MS) - (days - 1) * DAY_MS;
      const from = Math.max(firstDay, oldest);
      const rows = await this.#searchFrom(from, after, this.#kept.keepDays);
      if (rows === undefined && days === 1) {
        this.#commonSince = from;
        return 'stopped';
      }
      if (rows === undefined) {
        [days, growth] = [1, 1];
        continue;
      }
      this.#found.push(...rows);
      if (this.#isFull) return 'done';
      // Before all of that time.
      after = { createdAt: from - 1, eventId: BEHIND_ALL };
      this.#after = after;
    }
    return 'done';
  }

  /** `undefined`: there are too many, or it took too long. */
  async #searchFrom(
    since: number,
    after: ListMark,
    keepDays: readonly number[],
  ): Promise<readonly Row[] | undefined> {
    const { columns, input } = this;
    const part = { since, after, limit: input.limit - this.#found.length };
    // Each is parsed and compared again, and they may be as long as those that were looked at.
    const bytesOfHit = this.#bytes / this.#looked;
    const mostHits = Math.ceil(Math.min(MOST_HITS, (MOST_BYTES - this.#bytes) / Math.max(bytesOfHit, 1)));
    const results: (readonly Hit<Row>[])[] = [];
    for (const days of keepDays) {
      const query = this.makeList(part).buildSearch(columns, input.pattern, days, mostHits);
      const found = await this.database.search<Hit<Row>>(query);
      if (found === undefined) return undefined;
      results.push(found);
    }
    const hits = results.map(([row]) => row?.hits ?? 0);
    for (const count of hits) {
      this.#work += COST_OF_HIT * count;
      this.#bytes += bytesOfHit * count;
    }
    if (hits.some((count) => count > mostHits)) return undefined;
    return results
      .flat()
      .filter(isRow<Row>)
      .toSorted((a, b) => newestFirst(placeOf(a), placeOf(b)))
      .slice(0, part.limit);
  }

  get #isFull(): boolean {
    return this.#found.length >= this.input.limit;
  }

  get #isEnough(): boolean {
    return this.#work >= MOST_WORK || this.#bytes >= MOST_BYTES;
  }
}

type Scanned<Row> = Row & { readonly bytes: number; readonly matches: boolean | null };

type Scan =
  | { readonly isEnd: true }
  | { readonly isEnd: false; readonly last: ListMark; readonly share: number };

type Hit<Row> = (Row | { readonly event_id: null }) & { readonly hits: number };

function isRow<Row extends PlacedRow>(hit: Hit<Row>): hit is Hit<Row> & Row {
  return hit.event_id !== null;
}

// Behind it, in the order of lists, is all that was accepted at that time.
const BEHIND_ALL = '~' as EventId;

const READ_KEPT = `
  SELECT keep_days, (
    SELECT min(accepted_at) FROM webhook_events WHERE account_id = $1 AND keep_days = k.keep_days
  ) AS oldest FROM webhook_retentions AS k`;

interface Kept {
  readonly keepDays: readonly number[];
  readonly oldest: number;
}

async function readKept(database: PgDatabase, accountId: AccountId): Promise<Kept> {
  const rows = await database.scan<{ keep_days: number; oldest: Date | null }>({
    name: 'read-kept',
    text: READ_KEPT,
    values: [accountId],
  });
  const kept = rows.filter(({ oldest }) => oldest !== null);
  return {
    keepDays: kept.map(({ keep_days }) => keep_days),
    oldest: Math.min(...kept.map(({ oldest }) => oldest?.getTime() ?? 0)),
  };
}
