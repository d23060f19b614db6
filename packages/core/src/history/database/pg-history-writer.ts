import { crc32 } from 'node:zlib';
import { DatabaseError, type PoolClient } from 'pg';
import type { MovedEvent } from '../../domain/moved-event';
import { type Clock, formatTime } from '../../platform/clock';
import {
  type DeliveryRow,
  type DeliveryRows,
  type EventRow,
  toDeliveryRows,
  toEventRow,
} from './history-rows';
import { changeDeliveries, deliveryNameOf } from './pg-changed-deliveries';
import { historyUnavailable, type PgDatabase } from './pg-database';
import { DAILY_TABLES, type DailyTable, type Day, dateOf, provideDay, ROLLUPS } from './pg-days';
import { ADD_ROLLUPS, RollupSums } from './pg-rollups';
import { INSERT_ATTEMPTS, INSERT_DELIVERIES, INSERT_EVENTS, queryOf } from './pg-rows';
import { ADD_USAGE, UsageSums } from './pg-usage';
import { beginWriting } from './pg-writing-lock';

/** `refused`: PostgreSQL does not take one of the events, and never will. None of them is written then. */
export type WriteResult =
  | {
      readonly kind: 'written';
      /** Those that were left out, because they are being erased. */
      readonly erased?: ReadonlySet<MovedEvent>;
    }
  | {
      readonly kind: 'refused';
      /** PostgreSQL's error code of five characters. */
      readonly code: string;
      readonly reason: string;
    };

const TIMES_TRIED = 3;
// Two writers waited for each other in a circle.
const IN_THE_WAY: readonly unknown[] = ['40P01', '40001'];
/** Any number of two bytes that no other program uses for an advisory lock in this database. */
const KEPT_ONCE_LOCK = 7_236;

/**
 * Finds those of which something was erased since they were read. It is asked when erasures wait for this write: what begins to
 * be erased later is erased in the history, too.
 */
export type FindErased = (events: readonly MovedEvent[]) => Promise<ReadonlySet<MovedEvent>>;

interface WriteOptions {
  readonly beginBy: number;
  readonly findErased: FindErased;
  /** PostgreSQL refuses its content. */
  readonly isUnsearchable?: boolean;
}

const ROLLUP_TABLES = [ROLLUPS] as const;

interface EventRows {
  readonly event: EventRow;
  readonly deliveries: readonly DeliveryRows[];
}

/** Writes finished deliveries to the history. */
export class HistoryWriter {
  readonly #days = new Set<string>();

  constructor(
    private readonly database: PgDatabase,
    private readonly clock: Clock,
  ) {}

  /**
   * Write events with their deliveries that have ended: all, or none. Repeating it changes nothing. What is on
   * record already, and was sent again since, is brought up to date.
   *
   * @param events each of them once.
   * @param beginBy after it no transaction begins. An erasure waits for those that have begun. Milliseconds since the Unix epoch.
   * @throws an error when PostgreSQL can't take them now.
   */
  async write(
    events: readonly MovedEvent[],
    beginBy: number,
    findErased: FindErased = findNone,
  ): Promise<WriteResult> {
    const result = await this.#write(events, { beginBy, findErased });
    if (result.kind === 'written' || events.length > 1) return result;
    // It may be the search alone that can't have its data.
    return await this.#write(events, { beginBy, findErased, isUnsearchable: true });
  }

  /** @throws an error when PostgreSQL does not answer. */
  async ping(): Promise<void> {
    await this.database.query('SELECT 1');
  }

  async #write(events: readonly MovedEvent[], options: WriteOptions): Promise<WriteResult> {
    for (let times = 1; ; times += 1) {
      try {
        const batch = await this.#rowsOf(events, options);
        if (batch.length === 0) return { kind: 'written' };
        await this.#provideDays(batch);
        return await this.database.transact(async (client) => {
          const erased = await this.#begin(client, events, options);
          await this.#insert(client, erased.size === 0 ? batch : without(batch, erased));
          return erased.size === 0 ? { kind: 'written' } : { kind: 'written', erased };
        });
      } catch (error) {
        if (isRefusal(error)) {
          const { code = '', message } = error;
          return { kind: 'refused', code, reason: `${code}: ${message}` };
        }
        if (isWorthAnotherTry(error) && times < TIMES_TRIED) continue;
        // Somebody may have removed partitions, or tables: the next write makes the days again.
        this.#days.clear();
        throw error;
      }
    }
  }

  /** Rows that exist already stay in their partition, and are not written twice. */
  async #rowsOf(
    events: readonly MovedEvent[],
    { isUnsearchable }: WriteOptions,
  ): Promise<readonly EventRows[]> {
    const kept = await this.database.connected((client) => {
      const days = new Set(events.map((moved) => moved.keepDays));
      return readKept(client, days, () => events.map(placeOf));
    });
    return events.flatMap((moved) => {
      const keepDays = kept.size === 0 ? undefined : kept.get(eventNameOf(placeOf(moved)));
      if (moved.isExpired && keepDays === undefined) return [];
      const row = toEventRow({ ...moved, keepDays: keepDays ?? moved.keepDays });
      const event = isUnsearchable ? { ...row, is_searchable: false } : row;
      const deliveries = moved.deliveries.map(({ endpointId, log }) =>
        toDeliveryRows(event, endpointId, log),
      );
      return { event, deliveries };
    });
  }

  async #begin(
    client: PoolClient,
    events: readonly MovedEvent[],
    { beginBy, findErased }: WriteOptions,
  ): Promise<ReadonlySet<MovedEvent>> {
    await beginWriting(client);
    if (this.clock() > beginBy) throw historyUnavailable();
    return await findErased(events);
  }

  async #insert(client: PoolClient, batch: readonly EventRows[]): Promise<void> {
    if (batch.length === 0) return;
    const sums = { usage: new UsageSums(), rollups: new RollupSums() };
    const { usage, rollups } = sums;
    await insertEvents(
      client,
      batch.map(({ event }) => event),
      sums,
    );
    const all = batch.flatMap(({ deliveries }) => deliveries);
    const fresh = await insertDeliveries(client, all);
    const changed = await changeDeliveries(
      client,
      all.filter((rows) => !fresh.has(rows)),
    );
    const attempts = [...fresh, ...changed.map(({ after }) => after)].flatMap((rows) => rows.attempts);
    if (attempts.length > 0) await client.query(queryOf('insert-attempts', INSERT_ATTEMPTS, attempts));

    for (const rows of fresh) {
      usage.addDelivery(rows, 1);
      rollups.add(rows);
    }
    for (const { before, after } of changed) {
      usage.addDelivery(before, -1);
      usage.addDelivery(after, 1);
      rollups.takeBack(before);
      rollups.add(after);
    }
    // Last: others that move something of the same account wait from here on until the commit.
    await requireKeptOnce(client, batch);
    await client.query(queryOf('add-rollups', ADD_ROLLUPS, rollups.rows()));
    await client.query(queryOf('add-usage', ADD_USAGE, usage.rows()));
  }

  // Before the transaction, since it takes another connection.
  async #provideDays(batch: readonly EventRows[]): Promise<void> {
    const missing = new Map<string, { readonly tables: readonly DailyTable[]; readonly day: Day }>();
    const need = (tables: readonly DailyTable[], keepDays: number, time: string) => {
      const date = dateOf(time);
      const name = `${tables[0]} ${keepDays} ${date}`;
      if (!this.#days.has(name)) missing.set(name, { tables, day: { keepDays, date } });
    };
    for (const { event, deliveries } of batch) {
      need(DAILY_TABLES, event.keep_days, event.accepted_at);
      need(ROLLUP_TABLES, event.keep_days, event.accepted_at);
      for (const { attempts } of deliveries) {
        for (const { started_at } of attempts) need(ROLLUP_TABLES, event.keep_days, started_at);
      }
    }
    for (const [name, { tables, day }] of missing) {
      await provideDay(this.database, tables, day);
      this.#days.add(name);
    }
  }
}

const NONE: ReadonlySet<MovedEvent> = new Set();
const findNone: FindErased = async () => NONE;

function without(batch: readonly EventRows[], erased: ReadonlySet<MovedEvent>): readonly EventRows[] {
  const names = new Set([...erased].map((moved) => eventNameOf(placeOf(moved))));
  return batch.filter(({ event }) => !names.has(eventNameOf(event)));
}

type Place = Pick<EventRow, 'account_id' | 'event_id' | 'accepted_at' | 'keep_days'>;

function placeOf({ accountId, id, createdAt, keepDays }: MovedEvent): Place {
  return { account_id: accountId, event_id: id, accepted_at: formatTime(createdAt), keep_days: keepDays };
}

const READ_RETENTIONS = { name: 'read-retentions', text: 'SELECT keep_days FROM webhook_retentions' };
const READ_KEPT = `
  SELECT e.* FROM json_populate_recordset(null::webhook_events, $1) AS g
  JOIN webhook_retentions AS k ON k.keep_days <> g.keep_days
  CROSS JOIN LATERAL (
    SELECT e.account_id, e.event_id, e.keep_days FROM webhook_events AS e
    WHERE e.account_id = g.account_id AND e.event_id = g.event_id AND e.accepted_at = g.accepted_at
      AND e.keep_days = k.keep_days
    LIMIT 1
  ) AS e`;

/** For how many days the events are kept that are recorded for another time than they would be kept for now. */
async function readKept(
  client: PoolClient,
  given: ReadonlySet<number>,
  places: () => readonly Place[],
): Promise<ReadonlyMap<string, number>> {
  const known = await client.query<Pick<Place, 'keep_days'>>(READ_RETENTIONS);
  // Mostly all is kept for the same time.
  if (known.rows.every(({ keep_days: days }) => given.size === 1 && given.has(days))) return new Map();
  const { rows } = await client.query<Place>(queryOf('read-kept', READ_KEPT, places()));
  return new Map(rows.map((row) => [eventNameOf(row), row.keep_days]));
}

// A lock for each account would be too many. Given in order: writers don't wait for each other in a circle.
const LOCKS = 64;
const LOCK_ACCOUNTS = 'SELECT count(pg_advisory_xact_lock($1, lock)) FROM unnest($2::int[]) AS lock';

/**
 * Several may write deliveries of the same event at the same time, for different times: an account has just got
 * another one, or processes have different settings. The second one that comes here sees what the first one has
 * committed.
 */
async function requireKeptOnce(client: PoolClient, batch: readonly EventRows[]): Promise<void> {
  const events = batch.map(({ event }) => event);
  const locks = [...new Set(events.map(({ account_id }) => crc32(account_id) % LOCKS))];
  const values = [KEPT_ONCE_LOCK, locks.toSorted((a, b) => a - b)];
  await client.query({ name: 'lock-accounts', text: LOCK_ACCOUNTS, values });
  // A statement sees what was committed before it began: only now.
  const kept = await readKept(client, new Set(events.map((event) => event.keep_days)), () => events);
  if (kept.size > 0) throw new KeptElsewhere();
}

/** Somebody has recorded an event for another time, just now. */
class KeptElsewhere extends Error {
  override readonly name = 'KeptElsewhere';
}

const ERASE_EVENTS = `
  UPDATE webhook_events AS e SET data = NULL, is_searchable = false, erased_at = known.erased_at
  FROM (
    SELECT account_id, event_id, accepted_at, keep_days, given.erased_at, coalesce(octet_length(e.data), 0) AS bytes
    FROM json_populate_recordset(null::webhook_events, $1) AS given
    JOIN webhook_events AS e USING (account_id, event_id, accepted_at, keep_days)
    WHERE e.erased_at IS NULL ORDER BY account_id, event_id FOR UPDATE OF e
  ) AS known
  WHERE (e.account_id, e.event_id, e.accepted_at, e.keep_days)
      = (known.account_id, known.event_id, known.accepted_at, known.keep_days)
  RETURNING e.account_id, e.event_id, known.bytes`;

const INSERT_NEW_EVENTS = tellingNew(`${INSERT_EVENTS} RETURNING account_id, event_id`);
const INSERT_NEW_DELIVERIES = tellingNew(`${INSERT_DELIVERIES} RETURNING account_id, event_id, webhook_id`);

// Mostly all are new, and they are not named then.
function tellingNew(insert: string): string {
  return `
    WITH inserted AS (${insert})
    SELECT CASE WHEN count(*) < $2 THEN json_agg(inserted) END AS named, count(*)::integer AS count FROM inserted`;
}

async function insertNew<Name>(
  client: PoolClient,
  name: string,
  text: string,
  rows: readonly Name[],
): Promise<readonly Name[] | 'all'> {
  const values = [JSON.stringify(rows), rows.length];
  const told = await client.query<{ named: Name[] | null; count: number }>({ name, text, values });
  const [{ named, count } = { named: null, count: 0 }] = told.rows;
  return count === rows.length ? 'all' : (named ?? []);
}

/** Inserts those that are new. Once erased, always erased. */
async function insertEvents(
  client: PoolClient,
  rows: readonly EventRow[],
  { usage, rollups }: { readonly usage: UsageSums; readonly rollups: RollupSums },
): Promise<void> {
  const inserted = await insertNew<Named>(client, 'insert-events', INSERT_NEW_EVENTS, rows.toSorted(byEvent));
  const names = inserted === 'all' ? undefined : new Set(inserted.map(eventNameOf));
  const erased = new Map<string, EventRow>();
  for (const row of rows) {
    if (names === undefined || names.has(eventNameOf(row))) {
      usage.addEvent(row);
      rollups.addEvent(row);
    } else if (row.erased_at != null) erased.set(eventNameOf(row), row);
  }
  if (erased.size === 0) return;
  const query = queryOf('erase-events', ERASE_EVENTS, [...erased.values()]);
  for (const { bytes, ...name } of (await client.query<Named & { readonly bytes: number }>(query)).rows) {
    const row = erased.get(eventNameOf(name));
    if (row) usage.add(row, -bytes);
  }
}

/** Gives the new ones. */
async function insertDeliveries(
  client: PoolClient,
  all: readonly DeliveryRows[],
): Promise<ReadonlySet<DeliveryRows>> {
  if (all.length === 0) return new Set();
  const rows = all.map(({ delivery }) => delivery).toSorted(byKey);
  const inserted = await insertNew<DeliveryRow>(client, 'insert-deliveries', INSERT_NEW_DELIVERIES, rows);
  if (inserted === 'all') return new Set(all);
  const names = new Set(inserted.map(deliveryNameOf));
  return new Set(all.filter(({ delivery }) => names.has(deliveryNameOf(delivery))));
}

type Named = Pick<EventRow, 'account_id' | 'event_id'>;

// In the order of the keys, those that write the same rows don't wait for each other in a circle.
function byEvent(a: Named, b: Named): number {
  return compare(a.account_id, b.account_id) || compare(a.event_id, b.event_id);
}

function byKey(a: DeliveryRow, b: DeliveryRow): number {
  return (
    compare(a.account_id, b.account_id) ||
    compare(a.accepted_at, b.accepted_at) ||
    compare(a.delivery_key, b.delivery_key)
  );
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function eventNameOf({ account_id, event_id }: Named): string {
  return `${account_id} ${event_id}`;
}

function isWorthAnotherTry(error: unknown): boolean {
  return (
    error instanceof KeptElsewhere || (error instanceof DatabaseError && IN_THE_WAY.includes(error.code))
  );
}

// Classes of errors: data exceptions, broken constraints, and values too long for an index. A missing
// partition counts as a constraint without a name.
const REFUSALS = ['22', '23', '54'];

function isRefusal(error: unknown): error is DatabaseError {
  if (!(error instanceof DatabaseError)) return false;
  const { code = '', constraint } = error;
  const isPartitionMissing = code === '23514' && constraint === undefined;
  return REFUSALS.includes(code.slice(0, 2)) && !isPartitionMissing;
}
