import { createHash } from 'node:crypto';
import type { AccountId } from '../../domain/account';
import { type AttemptFilter, attemptOutcomes } from '../../domain/attempt';
import type { TimeOrder, TimeRange } from '../../platform/redis-timeline';
import type { ListMark, ListSpan } from '../history-source';
import { valuesAnywhere } from '../json-containment';
import type { NamedQuery } from './pg-database';

export interface ListQueryInput extends TimeRange, ListSpan {
  readonly accountId: AccountId;
  readonly table: 'webhook_events' | 'webhook_deliveries';
  readonly order: TimeOrder;
}

export interface ScanInput {
  readonly pattern: string;
  /** Of those that are kept for so many days. */
  readonly keepDays: number;
  readonly mostBytes: number;
}

export interface AttemptScan {
  /** Of those that are kept for so many days. */
  readonly keepDays: number;
  readonly mostScanned: number;
}

/** A condition with its values, which become parameters. */
export interface Condition {
  readonly texts: readonly string[];
  readonly values: readonly unknown[];
}

export function sql(texts: TemplateStringsArray, ...values: readonly unknown[]): Condition {
  return { texts, values };
}

const KEY_OF_EVENT = ['account_id', 'event_id', 'accepted_at', 'keep_days'];

/** What a list shows of an event, besides its key. */
export const SHOWN_OF_EVENT = ['type', 'erased_at', 'published_at', 'cancelled_due_at', 'request_id'];

export function prefixed(row: string, columns: readonly string[]): string {
  return columns.map((column) => `${row}.${column}`).join(', ');
}

const ALWAYS = 'infinity';
const NEVER = '-infinity';

/**
 * The query for a part of a list, of rows `l`. All bounds are always there: so there are few statements to prepare,
 * and each leaves out the days that they exclude. What is kept for equally long is in order by itself: its days come
 * one after the other, and no more of them are opened than the part takes.
 */
export class ListQuery {
  readonly #values: unknown[] = [];
  readonly #conditions: string[] = [];

  constructor(readonly input: ListQueryInput) {
    const { since = NEVER, until = ALWAYS } = input;
    this.where(sql`l.account_id = ${input.accountId}`);
    this.where(
      sql`l.accepted_at >= ${timeOf(since)}::timestamptz AND l.accepted_at < ${timeOf(until)}::timestamptz`,
    );
    if (input.order === 'newest_first') this.#boundNewestFirst(input);
    else this.#boundOldestFirst(input);
  }

  where({ texts, values }: Condition): this {
    const parameters = values.map((value) => this.#parameter(value));
    this.#conditions.push(texts.map((text, i) => text + (parameters[i] ?? '')).join(''));
    return this;
  }

  /** Those that are kept for so many days. */
  build(columns: string, keepDays: number): NamedQuery {
    const { table, limit } = this.input;
    this.where(sql`l.keep_days = ${keepDays}::smallint`);
    return queryOf(
      `SELECT ${columns} FROM ${table} AS l WHERE ${this.#conditions.join(' AND ')}
      ORDER BY ${this.#orderOf('l')} LIMIT ${this.#parameter(limit)}`,
      this.#values,
    );
  }

  /**
   * The same rows, each with the columns `bytes`, the length of its event's data, and `matches`: whether these contain the
   * pattern, or have its value at any place. It is null behind so many bytes: those are not looked at. The length is known without reading the data.
   */
  buildScan(columns: string, { pattern, keepDays, mostBytes }: ScanInput): NamedQuery {
    const values = valuesAnywhere(pattern);
    const wanted = this.#parameter(values ? `[${values.join()}]` : patternFor(this.input, pattern));
    const has = values ? havingAnywhere : containing;
    const matches = this.#ofEvent(
      (row) => `CASE WHEN ${row}.is_searchable THEN ${has(row, wanted)} ELSE false END`,
    );
    const bytes = this.#ofEvent((row) => `coalesce(octet_length(${row}.data), 0)`);
    const before = `sum(${bytes}) OVER (ORDER BY ${this.#orderOf('l')} ROWS UNBOUNDED PRECEDING) - ${bytes}`;
    const looked = `CASE WHEN ${before} < ${this.#parameter(mostBytes)}::bigint THEN ${matches} END`;
    return this.build(`${columns}, ${bytes} AS bytes, ${looked} AS matches`, keepDays);
  }

  /**
   * The next `mostScanned` deliveries, without those of which no attempt matches. Each has the columns `matching_attempts`, their
   * number, and `place`, its number among the scanned ones. The last one scanned is there in any case. No index knows the attempts. Of
   * most deliveries their own columns tell that none matches: those that had one attempt, or none since then.
   */
  buildScanOfAttempts(
    columns: string,
    filter: AttemptFilter,
    { keepDays, mostScanned }: AttemptScan,
  ): NamedQuery {
    const { limit } = this.input;
    this.where(sql`l.keep_days = ${keepDays}::smallint`);
    const { since = NEVER, until = ALWAYS, outcomes = attemptOutcomes } = filter;
    const [from, to, ways, most] = [timeOf(since), timeOf(until), outcomes, mostScanned].map((value) =>
      this.#parameter(value),
    );
    const maybe = `s.last_attempt_at >= ${from}::timestamptz AND (s.attempt_count > 1 OR s.last_outcome IS NULL OR s.last_outcome = ANY(${ways}::webhook_outcome[]))`;
    const matching = `SELECT count(*)::int FROM webhook_attempts AS a
          WHERE (a.account_id, a.accepted_at, a.delivery_key, a.keep_days) = (s.account_id, s.accepted_at, s.delivery_key, s.keep_days)
            AND a.started_at >= ${from}::timestamptz AND a.started_at < ${to}::timestamptz AND a.outcome = ANY(${ways}::webhook_outcome[])`;
    return queryOf(
      `SELECT * FROM (
        SELECT s.*, CASE WHEN ${maybe} THEN (${matching}) ELSE 0 END AS matching_attempts FROM (
          SELECT ${columns}, l.account_id, l.delivery_key, l.keep_days, l.last_attempt_at,
            row_number() OVER (ORDER BY ${this.#orderOf('l')})::int AS place
          FROM webhook_deliveries AS l WHERE ${this.#conditions.join(' AND ')}
          ORDER BY ${this.#orderOf('l')} LIMIT ${most}
        ) AS s
      ) AS l WHERE matching_attempts > 0 OR place = ${most} ORDER BY ${this.#orderOf('l')} LIMIT ${this.#parameter(limit)}`,
      this.#values,
    );
  }

  #ofEvent(expressionOf: (row: string) => string): string {
    if (this.input.table === 'webhook_events') return expressionOf('l');
    return `(SELECT ${expressionOf('e')} FROM webhook_events AS e WHERE (e.account_id, e.event_id, e.accepted_at, e.keep_days)
            = (l.account_id, l.event_id, l.accepted_at, l.keep_days))`;
  }

  /**
   * The rows alone whose event's data contains the pattern: of those that are kept for so many days. Each comes with
   * `hits`: how many events contain it, whatever else is asked of them. If they are more than `mostHits`, there is one row
   * with that alone, which is the same if there is none that matches. The index of what events contain has the account
   * as well: a condition that an index knows would lead to that index. Where PostgreSQL takes another one all the same, it
   * parses no data of other accounts.
   */
  buildSearch(columns: string, pattern: string, keepDays: number, mostHits: number): NamedQuery {
    const { table, since, until = ALWAYS, after, limit } = this.input;
    const days = this.#parameter(keepDays);
    const account = this.#parameter(this.input.accountId);
    const most = this.#parameter(mostHits);
    const [from, to] = [since ?? NEVER, after?.createdAt ?? until].map((time) =>
      this.#parameter(timeOf(time)),
    );
    const hits = `SELECT ${prefixed('e', [...KEY_OF_EVENT, ...SHOWN_OF_EVENT])} FROM webhook_events AS e
        WHERE e.keep_days = ${days}::smallint AND e.is_searchable AND e.account_id || '' = ${account}
          AND e.accepted_at >= ${from}::timestamptz AND e.accepted_at <= ${to}::timestamptz
          AND ${containing('e', this.#parameter(patternFor(this.input, pattern)))}
        LIMIT ${most}::int + 1`;
    const rows =
      table === 'webhook_events'
        ? 'hits AS l'
        : `hits AS h CROSS JOIN LATERAL (
            SELECT * FROM webhook_deliveries AS d WHERE d.account_id = h.account_id AND d.accepted_at = h.accepted_at
              AND d.event_id = h.event_id AND d.keep_days = h.keep_days OFFSET 0
          ) AS l`;
    return queryOf(
      `WITH hits AS MATERIALIZED (${hits}), counted AS MATERIALIZED (SELECT count(*)::int AS hits FROM hits)
      SELECT counted.hits, p.* FROM counted LEFT JOIN LATERAL (
        SELECT ${columns} FROM ${rows}
        WHERE (SELECT hits FROM counted) <= ${most} AND ${this.#conditions.join(' AND ')}
        ORDER BY ${this.#orderOf('l')} LIMIT ${this.#parameter(limit)}
      ) AS p ON true`,
      this.#values,
    );
  }

  #parameter(value: unknown): string {
    return `$${this.#values.push(value)}`;
  }

  #orderOf(row: string): string {
    const { table, order } = this.input;
    const direction = order === 'newest_first' ? 'DESC' : 'ASC';
    const ofEvent = `${row}.accepted_at ${direction}, ${row}.event_id ${direction}`;
    return table === 'webhook_events' ? ofEvent : `${ofEvent}, ${row}.webhook_id DESC`;
  }

  #boundNewestFirst({ table, after, last }: ListQueryInput): void {
    const [from, to] = [boundOf(after, ALWAYS), boundOf(last, NEVER)];
    this.where(sql`l.accepted_at <= ${from.time}::timestamptz AND l.accepted_at >= ${to.time}::timestamptz`);
    if (table === 'webhook_events') {
      this.where(sql`(l.accepted_at, l.event_id) < (${from.time}::timestamptz, ${from.event})`);
      this.where(sql`(l.accepted_at, l.event_id) >= (${to.time}::timestamptz, ${to.event})`);
    } else {
      this.where(
        sql`(l.accepted_at, l.event_id, l.webhook_id) < (${from.time}::timestamptz, ${from.event}, ${from.endpoint})`,
      );
      this.where(
        sql`(l.accepted_at, l.event_id, l.webhook_id) >= (${to.time}::timestamptz, ${to.event}, ${to.endpoint})`,
      );
    }
  }

  // Of one event, deliveries come the other way round, so no row can be compared as a whole.
  #boundOldestFirst({ table, after, last }: ListQueryInput): void {
    const [from, to] = [boundOf(after, NEVER), boundOf(last, ALWAYS)];
    this.where(sql`l.accepted_at >= ${from.time}::timestamptz AND l.accepted_at <= ${to.time}::timestamptz`);
    if (table === 'webhook_events') {
      this.where(sql`(l.accepted_at, l.event_id) > (${from.time}::timestamptz, ${from.event})`);
      this.where(sql`(l.accepted_at, l.event_id) <= (${to.time}::timestamptz, ${to.event})`);
    } else {
      this.where(sql`((l.accepted_at, l.event_id) > (${from.time}::timestamptz, ${from.event})
        OR (l.accepted_at = ${from.time}::timestamptz AND l.event_id = ${from.event} AND l.webhook_id < ${from.endpoint}))`);
      this.where(sql`((l.accepted_at, l.event_id) < (${to.time}::timestamptz, ${to.event})
        OR (l.accepted_at = ${to.time}::timestamptz AND l.event_id = ${to.event} AND l.webhook_id >= ${to.endpoint}))`);
    }
  }
}

// Without an endpoint it is behind all of the event's deliveries, whose ids go down.
function boundOf(mark: ListMark | undefined, otherwise: string) {
  return {
    time: timeOf(mark?.createdAt ?? otherwise),
    event: mark?.eventId ?? '',
    endpoint: mark?.endpointId ?? '',
  };
}

// Times beyond these are neither in a list nor in PostgreSQL.
const EARLIEST = 0;
const LATEST = Date.UTC(9999, 11, 31);

/** A time as PostgreSQL reads it. */
export function timeOf(time: number | string): string {
  if (typeof time === 'string') return time;
  if (time < EARLIEST) return NEVER;
  return time > LATEST ? ALWAYS : new Date(time).toISOString();
}

// As the index has it: a pattern of one account is in no other one's data.
function containing(row: string, pattern: string): string {
  return `('{"' || ${row}.account_id || '":' || ${row}.data || '}')::jsonb @> ${pattern}::jsonb`;
}

/** @param values a list of JSON values, one of which is at any place of the data. */
function havingAnywhere(row: string, values: string): string {
  const wanted = `jsonb_build_object('one', ${values}::jsonb -> 0, 'other', ${values}::jsonb -> 1)`;
  return `jsonb_path_exists(${row}.data::jsonb, 'strict $.** ? (@ == $one || @ == $other)', ${wanted}, true)`;
}

function patternFor({ accountId }: ListQueryInput, pattern: string): string {
  return `{"${accountId}":${pattern}}`;
}

/** A statement is prepared under the same name whenever it has the same text. */
function queryOf(text: string, values: unknown[]): NamedQuery {
  return { name: createHash('sha256').update(text).digest('base64url').slice(0, 20), text, values };
}
