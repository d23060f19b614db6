import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { encodeFact } from '../../domain/delivery-log';
import { buildAttempt } from '../../testing/build-attempt';
import { hasPostgres, NO_POSTGRES, PostgresServer } from '../../testing/postgres-server';
import { ADVISORY_LOCK, type AttemptRow, PgAttemptTable, readAttemptRow } from './pg-attempt-table';

describe('pg attempt table', () => {
  if (!hasPostgres) console.warn(`SKIPPED: the archive's table, because ${NO_POSTGRES}.`);
  const describePostgres = hasPostgres ? describe : describe.skip;

  function buildRow(change: Partial<AttemptRow> = {}): AttemptRow {
    return {
      account_id: 'acme',
      delivery_id: 'evt_1.wh_1',
      event_id: 'evt_1',
      webhook_id: 'wh_1',
      type: 'keyword.quick_win',
      accepted_at: '2026-11-21T12:00:00.000Z',
      status: 'pending',
      next_attempt_at: '2026-11-21T12:05:00.000Z',
      number: 1,
      trigger: 'schedule',
      worker: 'f00d42',
      started_at: '2026-11-21T12:00:01.234Z',
      duration_ms: 40.5,
      dns_ms: null,
      connect_ms: 1,
      tls_ms: null,
      first_byte_ms: 30,
      outcome: 'http_5xx',
      added_headers: ['x-tenant', 'x, "y"'],
      response_status: 500,
      response_headers: { server: 'nginx' },
      response_body: 'oh "no" \\ 🚀',
      error: null,
      ...change,
    };
  }

  describePostgres("the archive's table", () => {
    let postgres: PostgresServer;
    let table: PgAttemptTable;
    beforeAll(async () => {
      postgres = await PostgresServer.start();
    });
    beforeEach(async () => {
      await postgres.query('DROP TABLE IF EXISTS webhook_attempts');
      table = openTable();
    });
    afterEach(async () => {
      await table.close();
      // After a test that killed it, failed or not.
      await postgres.start();
    });
    afterAll(() => postgres.close());

    const openTable = () => new PgAttemptTable({ url: postgres.url });

    const partitions = async () => {
      const rows = await postgres.query<{ name: string }>(
        `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'webhook_attempts'::regclass ORDER BY 1`,
      );
      return rows.map(({ name }) => name);
    };
    const count = async () => {
      const [row] = await postgres.query<{ count: number }>('SELECT count(*)::int FROM webhook_attempts');
      return row?.count;
    };

    it('has every column as it was given', async () => {
      const row = buildRow();
      expect(await table.insert([row])).toEqual({ kind: 'stored' });
      const [stored] = await postgres.query<{ text: string }>(
        'SELECT row_to_json(a)::text AS text FROM webhook_attempts a',
      );
      const { accepted_at, started_at, next_attempt_at, ...rest } = JSON.parse(stored?.text ?? '');
      const times = [accepted_at, started_at, next_attempt_at].map((time) => new Date(time).toISOString());
      expect(times).toEqual([row.accepted_at, row.started_at, row.next_attempt_at]);
      expect({ ...row, ...rest }).toEqual(row);
      expect(Object.keys(JSON.parse(stored?.text ?? '')).toSorted()).toEqual(Object.keys(row).toSorted());
    });

    it('has each row once, however often it is given', async () => {
      const other = buildRow({ number: 2 });
      await table.insert([buildRow(), buildRow()]);
      await table.insert([buildRow({ status: 'delivered' }), other]);
      expect(await count()).toBe(2);
      expect(await postgres.query('SELECT status FROM webhook_attempts WHERE number = 1')).toEqual([
        { status: 'pending' },
      ]);
    });

    it('keeps attempts of other accounts, and those made at another time under the same number', async () => {
      await table.insert([
        buildRow(),
        buildRow({ account_id: 'other' }),
        buildRow({ started_at: '2026-11-21T12:00:02.000Z' }),
      ]);
      expect(await count()).toBe(3);
    });

    it('has a partition for each day, by UTC, whatever time zone the server is in', async () => {
      await postgres.query(`ALTER ROLE postgres SET timezone = 'Pacific/Auckland'`);
      const times = ['2026-11-20T23:59:59.999Z', '2026-11-21T00:00:00.000Z', '2026-12-31T23:59:59.999Z'];
      await table.insert(times.map((started_at) => buildRow({ started_at })));
      await postgres.query('ALTER ROLE postgres RESET timezone');
      expect(await partitions()).toEqual([
        'webhook_attempts_20261120',
        'webhook_attempts_20261121',
        'webhook_attempts_20261231',
      ]);
      expect(await postgres.query('SELECT count(*)::int FROM webhook_attempts_20261121')).toEqual([
        { count: 1 },
      ]);
    });

    it('is made once, and each day once, by any number of workers that come at the same time', async () => {
      const tables = Array.from({ length: 8 }, openTable);
      const days = ['2026-11-21', '2026-11-22', '2026-11-23'];
      const results = await Promise.all(
        tables.map((each, number) =>
          each.insert(days.map((day) => buildRow({ number, started_at: `${day}T12:00:00.000Z` }))),
        ),
      );
      await Promise.all(tables.map((each) => each.close()));
      expect(results).toEqual(tables.map(() => ({ kind: 'stored' })));
      expect([await count(), (await partitions()).length]).toEqual([24, 3]);
    });

    it('takes a new day while a long query reads the table, and holds up none that comes after it', async () => {
      await table.insert([buildRow()]);
      const reading = postgres.query('SELECT pg_sleep(300) FROM webhook_attempts').catch(() => {});
      const readers = `FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND pid <> pg_backend_pid()`;
      while ((await postgres.query(`SELECT ${readers}`)).length === 0);
      expect(await table.insert([buildRow({ started_at: '2026-11-22T12:00:00.000Z' })])).toEqual({
        kind: 'stored',
      });
      expect(await count()).toBe(2);
      await postgres.query(`SELECT pg_terminate_backend(pid) ${readers}`);
      await reading;
    });

    it('provides a day again whose partition somebody has dropped, at the next try', async () => {
      await table.insert([buildRow()]);
      await postgres.query('DROP TABLE webhook_attempts_20261121');
      const row = buildRow({ number: 2 });
      await expect(table.insert([row])).rejects.toThrow('no partition');
      expect(await table.insert([row])).toEqual({ kind: 'stored' });
      expect(await count()).toBe(1);
    });

    it.each([
      ['NUL', { response_body: 'a\0b' }],
      ['half a surrogate pair', { error: 'a\ud800b' }],
      ['an invalid time', { accepted_at: 'teatime' }],
      ['nothing in the place of a name', { account_id: null }],
    ])('refuses a row with %s as a value, all others with it, and says why', async (_what, change) => {
      const result = await table.insert([buildRow({ number: 2 }), buildRow(change)]);
      expect(result).toMatchObject({ kind: 'refused', reason: expect.stringMatching(/^2[23]\w{3}: ./) });
      expect(await count()).toBe(0);
    });

    it('refuses what breaks a constraint that the operator added', async () => {
      await table.insert([buildRow()]);
      await postgres.query('ALTER TABLE webhook_attempts ADD CONSTRAINT few CHECK (number < 3)');
      expect(await table.insert([buildRow({ number: 3 })])).toMatchObject({ kind: 'refused' });
      expect(await table.insert([buildRow({ number: 2 })])).toEqual({ kind: 'stored' });
    });

    it('keeps its connection when it refuses something', async () => {
      const backends = () =>
        postgres.query(`SELECT pid FROM pg_stat_activity WHERE application_name = 'webhooks-archiver'`);
      await table.insert([buildRow()]);
      const before = await backends();
      expect(await table.insert([buildRow({ account_id: null })])).toMatchObject({ code: '23502' });
      await table.insert([buildRow({ number: 2 })]);
      expect(await backends()).toEqual(before);
      expect(before).toHaveLength(1);
    });

    it('refuses what is too long for an index that the operator added', async () => {
      await table.insert([buildRow()]);
      await postgres.query('CREATE INDEX ON webhook_attempts (response_body)');
      const response_body = randomBytes(2_000).toString('hex');
      expect(await table.insert([buildRow({ number: 2, response_body })])).toMatchObject({ kind: 'refused' });
    });

    it('throws when the database is away, and goes on once it is back', async () => {
      await table.insert([buildRow()]);
      await postgres.kill();
      await expect(table.insert([buildRow({ number: 2 })])).rejects.toThrow();
      await postgres.start();
      expect(await table.insert([buildRow({ number: 2 })])).toEqual({ kind: 'stored' });
      expect(await count()).toBe(2);
    });

    it('throws, and the process lives on, when the database goes away while it waits for a lock', async () => {
      const holder = new Client({ connectionString: postgres.url });
      holder.on('error', () => {});
      await holder.connect();
      await holder.query('SELECT pg_advisory_lock($1)', [ADVISORY_LOCK]);
      const fault = table.insert([buildRow()]).catch((error: unknown) => error);
      const waiting = `FROM pg_stat_activity WHERE wait_event = 'advisory'`;
      while ((await postgres.query(`SELECT ${waiting}`)).length === 0);
      await postgres.kill();
      expect(await fault).toBeInstanceOf(Error);
      await postgres.start();
      expect(await table.insert([buildRow()])).toEqual({ kind: 'stored' });
    });

    it('has the database itself give up, before it does, what takes long or waits for a lock', async () => {
      await table.insert([buildRow()]);
      const ends = (setting: string) => `current_setting('${setting}')::interval BETWEEN '1 s' AND '19 s'`;
      const both = `${ends('statement_timeout')} AND ${ends('lock_timeout')}`;
      await postgres.query(`ALTER TABLE webhook_attempts ADD CONSTRAINT ends CHECK (${both}) NOT VALID`);
      expect(await table.insert([buildRow({ number: 2 })])).toEqual({ kind: 'stored' });
    });

    it('throws when the operator does not let it in, and names no password', async () => {
      const url = postgres.url.replace('postgres@', 'nobody:hunter2@');
      const foreign = new PgAttemptTable({ url });
      const error: Error = (await foreign.insert([buildRow()]).catch((caught) => caught as Error)) as Error;
      expect(error).toBeInstanceOf(Error);
      expect(JSON.stringify(error) + error.stack).not.toContain('hunter2');
      await foreign.close();
    });
  });
});

describe('attempt row', () => {
  const ACCEPTED_AT = Date.parse('2026-11-21T12:00:00.000Z');
  const EVENT = 'evt_01m7z10j5c4fq3r52bewgh';
  const ENDPOINT = 'wh_01m7ze3thwae6532vdxr7r';

  const fact = {
    kind: 'attempted',
    attempt: buildAttempt({ startedAt: ACCEPTED_AT + 5 }),
    nextAttemptAt: undefined,
  } as const;

  function fieldsWith(change: Readonly<Record<string, string>> = {}): string[] {
    const fields = {
      account: 'acme',
      event: EVENT,
      endpoint: ENDPOINT,
      type: 'keyword.quick_win',
      accepted: String(ACCEPTED_AT),
      status: 'exhausted',
      attempt: encodeFact(fact),
      ...change,
    };
    return Object.entries(fields).flat();
  }

  it('makes a row with a column for each recorded fact of the attempt', () => {
    const attempt = buildAttempt({
      number: 2,
      trigger: 'manual',
      worker: 'f00d42',
      startedAt: ACCEPTED_AT + 5,
      timings: { dnsMs: 1, connectMs: 2, tlsMs: 3, firstByteMs: 4 },
      responseBody: 'oh',
      responseHeaders: { server: 'nginx' },
      addedHeaders: ['x-tenant'],
      error: 'no luck',
    });
    const line = encodeFact({ kind: 'attempted', attempt, nextAttemptAt: ACCEPTED_AT + 60_000 });
    expect(readAttemptRow(fieldsWith({ attempt: line, status: 'pending' }))).toEqual({
      account_id: 'acme',
      delivery_id: `${EVENT}.${ENDPOINT}`,
      event_id: EVENT,
      webhook_id: ENDPOINT,
      type: 'keyword.quick_win',
      accepted_at: '2026-11-21T12:00:00.000Z',
      status: 'pending',
      next_attempt_at: '2026-11-21T12:01:00.000Z',
      number: 2,
      trigger: 'manual',
      worker: 'f00d42',
      started_at: '2026-11-21T12:00:00.005Z',
      duration_ms: 40,
      dns_ms: 1,
      connect_ms: 2,
      tls_ms: 3,
      first_byte_ms: 4,
      outcome: 'http_5xx',
      added_headers: ['x-tenant'],
      response_status: 500,
      response_headers: { server: 'nginx' },
      response_body: 'oh',
      error: 'no luck',
    });
  });

  it('replaces what PostgreSQL can not store, wherever it stands, and nothing else', () => {
    const attempt = buildAttempt({
      responseBody: 'a\0b\ud800c\udc00d🚀ü',
      responseHeaders: { server: 'x\0' },
      error: '\udfff',
      addedHeaders: ['x\0'],
    });
    const line = encodeFact({ kind: 'attempted', attempt, nextAttemptAt: undefined });
    expect(readAttemptRow(fieldsWith({ attempt: line }))).toMatchObject({
      response_body: 'a\uFFFDb\uFFFDc\uFFFDd🚀ü',
      response_headers: { server: 'x\uFFFD' },
      error: '\uFFFD',
      added_headers: ['x\uFFFD'],
    });
  });

  it.each<[string, string[]]>([
    ['nothing', []],
    ['something else', ['hello', 'world']],
    ['an odd number of parts', ['account']],
    ['no JSON for the attempt', fieldsWith({ attempt: 'oh' })],
    [
      'another fact than an attempt',
      fieldsWith({ attempt: encodeFact({ kind: 'cancelled', reason: 'gone' }) }),
    ],
    ['a time beyond the calendar', fieldsWith({ accepted: '1e300' })],
    ['no id for the endpoint', fieldsWith({ endpoint: 'x' })],
  ])('throws for %s', (_what, fields) => {
    expect(() => readAttemptRow(fields)).toThrow();
  });
});
