import { DatabaseError, Pool, type PoolClient } from 'pg';
import { z } from 'zod';
import { accountIdSchema } from '../../domain/account';
import type { Attempt } from '../../domain/attempt';
import { deliveryIdOf } from '../../domain/delivery';
import { readLog } from '../../domain/delivery-log';
import { endpointIdSchema } from '../../domain/endpoint';
import { eventIdSchema } from '../../domain/event';
import { formatTime } from '../../platform/clock';
import { settledWithin } from '../../platform/timers';

export interface PgAttemptTableOptions {
  /** A secret. */
  readonly url: string;
}

/** `refused`: the table does not accept the values, and never will. */
export type InsertResult =
  | { readonly kind: 'stored' }
  | {
      readonly kind: 'refused';
      /** PostgreSQL's error code of five characters. */
      readonly code: string;
      readonly reason: string;
    };

const COLUMNS = {
  account_id: 'text NOT NULL',
  delivery_id: 'text NOT NULL',
  number: 'integer NOT NULL',
  started_at: 'timestamptz NOT NULL',
  event_id: 'text NOT NULL',
  webhook_id: 'text NOT NULL',
  type: 'text NOT NULL',
  accepted_at: 'timestamptz NOT NULL',
  status: 'text NOT NULL',
  next_attempt_at: 'timestamptz',
  trigger: 'text NOT NULL',
  worker: 'text',
  duration_ms: 'double precision NOT NULL',
  dns_ms: 'double precision',
  connect_ms: 'double precision',
  tls_ms: 'double precision',
  first_byte_ms: 'double precision',
  outcome: 'text NOT NULL',
  added_headers: 'text[]',
  response_status: 'integer',
  response_headers: 'jsonb',
  response_body: 'text',
  error: 'text',
} as const;
const COLUMN_NAMES = Object.keys(COLUMNS).join(', ');

// The time is in the key because PostgreSQL requires it there. So two attempts with the same number, by a
// worker that was killed and by the next one, are two rows.
const CREATE_TABLE = `
  CREATE TABLE IF NOT EXISTS webhook_attempts (
    ${definitionOf(COLUMNS)},
    PRIMARY KEY (account_id, delivery_id, number, started_at)
  ) PARTITION BY RANGE (started_at)`;

const INSERT = `
  INSERT INTO webhook_attempts (${COLUMN_NAMES})
  SELECT ${COLUMN_NAMES} FROM json_to_recordset($1) AS given (${definitionOf(COLUMNS).replaceAll(' NOT NULL', '')})
  ON CONFLICT DO NOTHING`;

const IS_ATTACHED = `
  SELECT FROM pg_inherits WHERE inhparent = 'webhook_attempts'::regclass AND inhrelid = to_regclass($1)`;

// Any number that no other program uses for an advisory lock in this database.
export const ADVISORY_LOCK = 7_236_150_448;

const CONNECT_TIMEOUT_MS = 5_000;
/** A query to a silent database must end some time. */
const QUERY_TIMEOUT_MS = 20_000;
// The database's own timeout is shorter: an abandoned statement would go on there, and wait for its lock
// beside the next try.
const STATEMENT_TIMEOUT_MS = 15_000;
const LOCK_TIMEOUT_MS = 10_000;
const CLOSE_PATIENCE_MS = 1_000;
const DAY_MS = 86_400_000;

/**
 * The table of attempts, with a partition for each day (UTC) on which one began. Opens a connection when it
 * needs one.
 */
export class PgAttemptTable {
  readonly #pool: Pool;
  readonly #days = new Set<string>();

  constructor({ url }: PgAttemptTableOptions) {
    this.#pool = new Pool({
      connectionString: url,
      application_name: 'webhooks-archiver',
      max: 1,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      lock_timeout: LOCK_TIMEOUT_MS,
      keepAlive: true,
    });
    // An idle connection broke: the next use opens another one.
    this.#pool.on('error', ignore);
  }

  /** Insert all rows or none. An existing row stays as it is. */
  async insert(rows: readonly AttemptRow[]): Promise<InsertResult> {
    await this.#provideDays(new Set(rows.map(dayOf)));
    try {
      return await this.#withClient((client) => insertInto(client, rows));
    } catch (error) {
      // Somebody may have removed partitions, or the table: the next insert creates them again.
      this.#days.clear();
      throw error;
    }
  }

  async close(): Promise<void> {
    await settledWithin(CLOSE_PATIENCE_MS, this.#pool.end());
  }

  async #provideDays(days: ReadonlySet<string>): Promise<void> {
    const missing = [...days].filter((day) => !this.#days.has(day));
    if (missing.length === 0) return;
    await this.#inTransaction(async (client) => {
      // Workers that come to a new day at the same time would collide, even with IF NOT EXISTS.
      await client.query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCK]);
      await client.query(CREATE_TABLE);
      for (const day of missing) await providePartition(client, day);
    });
    for (const day of missing) this.#days.add(day);
  }

  async #inTransaction(work: (client: PoolClient) => Promise<void>): Promise<void> {
    await this.#withClient(async (client) => {
      await client.query('BEGIN');
      await work(client);
      await client.query('COMMIT');
    });
  }

  async #withClient<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.#pool.connect();
    // When the connection ends, the waiting query rejects. Without a listener the process would end as well.
    client.on('error', ignore);
    let failure: Error | undefined;
    try {
      return await work(client);
    } catch (error) {
      failure = error as Error;
      throw error;
    } finally {
      // After an error the connection is closed, which rolls back the transaction.
      client.release(failure);
      client.off('error', ignore);
    }
  }
}

// A refusal is no error of the connection, which is kept: a batch that is searched by halves has many
// refusals.
async function insertInto(client: PoolClient, rows: readonly AttemptRow[]): Promise<InsertResult> {
  try {
    await client.query(INSERT, [JSON.stringify(rows)]);
    return { kind: 'stored' };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const { code = '', message } = error;
    return { kind: 'refused', code, reason: `${code}: ${message}` };
  }
}

// Attach the partition instead of creating it in place: that would wait for every query that reads the table,
// and hold up all later ones.
async function providePartition(client: PoolClient, day: string): Promise<void> {
  const name = `webhook_attempts_${day.replaceAll('-', '')}`;
  const { rowCount } = await client.query(IS_ATTACHED, [name]);
  if (rowCount !== 0) return;
  const next = new Date(Date.parse(day) + DAY_MS).toISOString().slice(0, day.length);
  await client.query(`CREATE TABLE IF NOT EXISTS ${name} (LIKE webhook_attempts INCLUDING ALL)`);
  await client.query(
    `ALTER TABLE webhook_attempts ATTACH PARTITION ${name} FOR VALUES FROM ('${day} 00:00+00') TO ('${next} 00:00+00')`,
  );
}

function ignore(): void {}

function dayOf({ started_at }: AttemptRow): string {
  return started_at.slice(0, '2026-11-21'.length);
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

function definitionOf(columns: Readonly<Record<string, string>>): string {
  return Object.entries(columns)
    .map(([name, type]) => `${name} ${type}`)
    .join(', ');
}

/** A row of the archive, by its columns. */
export type AttemptRow = Readonly<Record<string, unknown>> & { readonly started_at: string };

// Later times are written with more digits, which PostgreSQL reads differently.
const LATEST = Date.UTC(9999, 11, 31);
const timeSchema = z.coerce.number().int().min(0).max(LATEST).transform(formatTime);

const recordSchema = z.object({
  account: accountIdSchema,
  event: eventIdSchema,
  endpoint: endpointIdSchema,
  type: z.string(),
  accepted: timeSchema,
  status: z.string(),
  attempt: z.string(),
});

/**
 * Read an entry of the stream as a row of the archive. @throws Error when it is not a record of an attempt.
 */
export function readAttemptRow(fields: readonly string[]): AttemptRow {
  const record = recordSchema.parse(toObject(fields));
  const { attempts, nextAttemptAt } = readLog(record.attempt);
  const [attempt] = attempts;
  if (!attempt) throw new Error('It holds no attempt.');
  return {
    account_id: record.account,
    delivery_id: deliveryIdOf({ eventId: record.event, endpointId: record.endpoint }),
    event_id: record.event,
    webhook_id: record.endpoint,
    type: storable(record.type),
    accepted_at: record.accepted,
    status: record.status,
    next_attempt_at: nextAttemptAt === undefined ? null : timeSchema.parse(nextAttemptAt),
    ...columnsOf(attempt),
  };
}

function columnsOf({ timings = {}, responseHeaders, ...attempt }: Attempt) {
  return {
    number: attempt.number,
    trigger: attempt.trigger ?? 'schedule',
    worker: attempt.worker ?? null,
    started_at: timeSchema.parse(attempt.startedAt),
    duration_ms: attempt.durationMs,
    dns_ms: timings.dnsMs ?? null,
    connect_ms: timings.connectMs ?? null,
    tls_ms: timings.tlsMs ?? null,
    first_byte_ms: timings.firstByteMs ?? null,
    outcome: attempt.outcome,
    added_headers: attempt.addedHeaders?.map(storable) ?? null,
    response_status: attempt.responseStatus ?? null,
    response_headers: responseHeaders === undefined ? null : storableValues(responseHeaders),
    response_body: attempt.responseBody === undefined ? null : storable(attempt.responseBody),
    error: attempt.error === undefined ? null : storable(attempt.error),
  };
}

// PostgreSQL accepts neither NUL nor half a surrogate pair. A receiver's response may contain both.
const UNSTORABLE = /\p{Surrogate}|\0/gu;
const REPLACEMENT = '\uFFFD';

function storable(text: string): string {
  return text.replace(UNSTORABLE, REPLACEMENT);
}

function storableValues(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, storable(text)]));
}

function toObject(fields: readonly string[]): Record<string, string | undefined> {
  const object: Record<string, string | undefined> = {};
  for (let i = 0; i < fields.length; i += 2) object[String(fields[i])] = fields[i + 1];
  return object;
}

/** No message repeats the value, which may contain a password. */
export const databaseUrlSchema = z
  .string()
  .refine(
    isDatabaseUrl,
    'must be postgresql://[user[:password]@]host[:port]/database[?sslmode=…] (user and password percent-encoded)',
  );

function isDatabaseUrl(text: string): boolean {
  return URL.canParse(text) && /^postgres(ql)?:$/.test(new URL(text).protocol);
}
