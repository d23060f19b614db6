import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { attemptOutcomes } from '../../domain/attempt';
import { triggers } from '../../domain/delivery';
import { endStatuses } from '../../domain/delivery-log';
import { systemClock } from '../../platform/clock';
import { buildMovedDelivery, buildMovedEvent } from '../../testing/build-moved-event';
import { hasPostgres, NO_POSTGRES, PostgresServer } from '../../testing/postgres-server';
import { PgDatabase } from './pg-database';
import { dropDays } from './pg-days';
import { PgHistory } from './pg-history';
import { HistoryWriter } from './pg-history-writer';
import { migrate, requireSchema } from './pg-schema';
import { readBytes } from './pg-usage';

if (!hasPostgres) console.warn(`SKIPPED: the schema of the history in PostgreSQL, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

const DAY_MS = 86_400_000;
const FIRST = Date.UTC(2026, 10, 24);
const NEVER = Number.POSITIVE_INFINITY;

describePostgres('the schema of the history', () => {
  let server: PostgresServer;
  let database: PgDatabase;
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  beforeEach(async () => {
    await server.query('DROP SCHEMA public CASCADE');
    await server.query('CREATE SCHEMA public');
    database = openDatabase();
  });
  afterEach(async () => {
    await database.close();
    // After a test that killed it, failed or not.
    await server.start();
  });
  afterAll(() => server.close());

  const openDatabase = (url = server.url) =>
    new PgDatabase({ url, applicationName: 'test', readers: 1, writers: 1 });

  const write = async (...events: Parameters<HistoryWriter['write']>[0]) => {
    expect(await new HistoryWriter(database, systemClock).write(events, NEVER)).toEqual({ kind: 'written' });
  };

  const partitions = async () => {
    const rows = await server.query<{ name: string }>(
      `SELECT inhrelid::regclass::text AS name FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE relkind = 'r' ORDER BY 1`,
    );
    return rows.map(({ name }) => name);
  };

  describe('migrations', () => {
    it('are run once, by any number of processes at the same time', async () => {
      const databases = Array.from({ length: 6 }, () => openDatabase());
      await Promise.all(databases.map(migrate));
      await Promise.all(databases.map((each) => each.close()));
      expect(await server.query('SELECT version FROM webhook_schema')).toEqual([{ version: 18 }]);
      await expect(requireSchema(database)).resolves.toBeUndefined();
    });

    it('leave each index begin with the account', async () => {
      await migrate(database);
      const others = `SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename LIKE 'webhook_%'
        AND tablename NOT IN ('webhook_schema', 'webhook_retentions', 'webhook_redis_epochs', 'webhook_redis_losses',
          'webhook_intake', 'webhook_records')
        AND indexdef !~ '\\(account_id' AND indexdef !~ 'USING gin .*account_id'`;
      expect(await server.query(others)).toEqual([]);
    });

    it('refuse a schema of a later version, and change nothing of it', async () => {
      await migrate(database);
      await server.query('UPDATE webhook_schema SET version = 99');
      const refusal = {
        code: 'conflict',
        message: expect.stringContaining('version 99, made by a later version'),
      };
      await expect(migrate(database)).rejects.toMatchObject(refusal);
      await expect(requireSchema(database)).rejects.toMatchObject(refusal);
      expect(await server.query('SELECT version FROM webhook_schema')).toEqual([{ version: 99 }]);
    });

    it('are asked for where there are none', async () => {
      await expect(requireSchema(database)).rejects.toMatchObject({
        code: 'history_unavailable',
        message: expect.stringContaining('history migrate'),
      });
    });

    it('have nothing to do for a role that may make no tables, once another one has', async () => {
      await migrate(database);
      await server.query('CREATE ROLE mover LOGIN');
      await server.query('GRANT USAGE ON SCHEMA public TO mover');
      await server.query('GRANT SELECT ON webhook_schema TO mover');
      const other = openDatabase(server.url.replace('postgres@', 'mover@'));
      await expect(migrate(other)).resolves.toBeUndefined();
      await other.close();
      await server.query('DROP OWNED BY mover');
      await server.query('DROP ROLE mover');
    });

    it('leave the table of another archive alone, and say what to do', async () => {
      await server.query('CREATE TABLE webhook_attempts (account_id text)');
      await expect(migrate(database)).rejects.toThrow('Rename it');
      expect(await server.query(`SELECT to_regclass('webhook_events') AS found`)).toEqual([{ found: null }]);
      await expect(requireSchema(database)).rejects.toThrow('version 0');
    });

    it('compress long texts in the faster way where the server can', async () => {
      await migrate(database);
      const rows = await server.query(
        `SELECT attname FROM pg_attribute WHERE attcompression = 'l' AND attrelid IN ('webhook_events'::regclass, 'webhook_attempts'::regclass) ORDER BY 1`,
      );
      const [{ offered } = { offered: false }] = await server.query<{ offered: boolean }>(
        `SELECT 'lz4' = ANY (enumvals) AS offered FROM pg_settings WHERE name = 'default_toast_compression'`,
      );
      expect(rows).toEqual(offered ? [{ attname: 'data' }, { attname: 'response_body' }] : []);
    });

    it('know every status, outcome and trigger that a delivery may have', async () => {
      await migrate(database);
      const known = async (type: string) => {
        const rows = await server.query<{ label: string }>(
          `SELECT enumlabel AS label FROM pg_enum WHERE enumtypid = '${type}'::regtype`,
        );
        return rows.map(({ label }) => label).toSorted();
      };
      expect(await known('webhook_status')).toEqual(['pending', ...endStatuses].toSorted());
      expect(await known('webhook_outcome')).toEqual(attemptOutcomes.toSorted());
      expect(await known('webhook_trigger')).toEqual(triggers.toSorted());
    });

    it('begin every key and index of the daily tables with the account', async () => {
      await migrate(database);
      const rows = await server.query<{ name: string; definition: string }>(
        `SELECT indexname AS name, indexdef AS definition FROM pg_indexes WHERE tablename LIKE 'webhook\\_%'
         AND tablename NOT IN ('webhook_schema', 'webhook_retentions', 'webhook_audit',
           'webhook_redis_epochs', 'webhook_redis_losses', 'webhook_intake', 'webhook_records')`,
      );
      expect(rows.length).toBeGreaterThan(10);
      expect(
        rows.filter(({ definition }) => !/\(account_id|'\{"' ::|\|\| account_id/.test(definition)),
      ).toEqual([]);
    });
  });

  describe('days', () => {
    beforeEach(() => migrate(database));

    it('are made by UTC, whatever time zone the server is in', async () => {
      await server.query(`ALTER ROLE postgres SET timezone = 'Pacific/Auckland'`);
      await database.close();
      database = openDatabase();
      await write(
        buildMovedEvent({ createdAt: FIRST - 1, keepDays: 7 }),
        buildMovedEvent({ createdAt: FIRST, keepDays: 7 }),
        buildMovedEvent({ createdAt: FIRST + DAY_MS - 1, keepDays: 7 }),
      );
      await write(buildMovedEvent({ createdAt: FIRST, keepDays: 7 }));
      await server.query('ALTER ROLE postgres RESET timezone');
      expect(await server.query('SELECT count(*)::int FROM webhook_events_k7_20261124')).toEqual([
        { count: 3 },
      ]);
      expect((await partitions()).filter((name) => name.startsWith('webhook_events'))).toEqual([
        'webhook_events_k7_20261123',
        'webhook_events_k7_20261124',
      ]);
    });

    it('are made while a long query reads the table, which holds up none that comes after it', async () => {
      await write(buildMovedEvent({ createdAt: FIRST }));
      const reading = server.query('SELECT pg_sleep(300) FROM webhook_events').catch(() => {});
      const readers = `FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND pid <> pg_backend_pid()`;
      while ((await server.query(`SELECT ${readers}`)).length === 0);
      await write(buildMovedEvent({ createdAt: FIRST + DAY_MS }));
      expect(await server.query('SELECT count(*)::int FROM webhook_events')).toEqual([{ count: 2 }]);
      await server.query(`SELECT pg_terminate_backend(pid) ${readers}`);
      await reading;
    });

    it('that were made by hand are used, also when they are split up by account', async () => {
      await server.query(
        `CREATE TABLE my_day PARTITION OF webhook_events FOR VALUES FROM (90, '2026-11-24 00:00+00') TO (90, '2026-11-25 00:00+00')
         PARTITION BY HASH (account_id)`,
      );
      for (const part of [0, 1]) {
        await server.query(
          `CREATE TABLE my_day_${part} PARTITION OF my_day FOR VALUES WITH (MODULUS 2, REMAINDER ${part})`,
        );
      }
      const events = Array.from({ length: 20 }, () =>
        buildMovedEvent({ createdAt: FIRST, deliveries: [buildMovedDelivery()] }),
      );
      await write(...events);
      for (const part of [0, 1]) {
        const [{ count } = { count: 0 }] = await server.query<{ count: number }>(
          `SELECT count(*)::int FROM my_day_${part}`,
        );
        expect(count).toBeGreaterThan(0);
      }
      const [first] = events;
      const history = new PgHistory(database);
      for (const { accountId, id } of events) {
        expect(
          (await history.listEvents({ accountId }, { limit: 10 })).entries.map(({ row }) => row?.id),
        ).toEqual([id]);
      }
      expect(first && (await history.findEvent(first.accountId, first.id))).toMatchObject({ id: first?.id });
    });

    it('are dropped when all of them is older than it is kept, and no others', async () => {
      const at = (createdAt: number, keepDays: number) =>
        buildMovedEvent({ createdAt, keepDays, deliveries: [buildMovedDelivery()] });
      const short = at(FIRST, 7);
      const long = at(FIRST, 30);
      const next = at(FIRST + DAY_MS, 7);
      await write(short, long, next);
      const ofAttempts = 'webhook_rollups_k7_20231114';
      expect((await dropDays(database, FIRST + 8 * DAY_MS - 1)).done).toEqual([
        ofAttempts,
        'webhook_rollups_k30_20231114',
      ]);
      expect((await dropDays(database, FIRST + 8 * DAY_MS)).done.toSorted()).toEqual([
        'webhook_attempts_k7_20261124',
        'webhook_deliveries_k7_20261124',
        'webhook_events_k7_20261124',
        'webhook_rollups_k7_20261124',
      ]);
      const history = new PgHistory(database);
      const accountIds = [short, long, next].map(({ accountId }) => accountId);
      const bytes = await readBytes(database, accountIds);
      expect(bytes.map((count) => count > 0)).toEqual([false, true, true]);
      expect(await history.findEvent(short.accountId, short.id)).toBeUndefined();
      expect(await history.findEvent(long.accountId, long.id)).toBeDefined();
      expect(await history.findEvent(next.accountId, next.id)).toBeDefined();
    });

    it('that somebody reads are dropped later, and the others at once', async () => {
      await write(buildMovedEvent({ createdAt: FIRST, keepDays: 7, deliveries: [buildMovedDelivery()] }));
      const reading = server
        .query('SELECT pg_sleep(300) FROM webhook_deliveries_k7_20261124')
        .catch(() => {});
      const readers = `FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND pid <> pg_backend_pid()`;
      while ((await server.query(`SELECT ${readers}`)).length === 0);
      const { done: dropped } = await dropDays(database, FIRST + 30 * DAY_MS);
      expect(dropped).toContain('webhook_events_k7_20261124');
      expect(dropped).not.toContain('webhook_deliveries_k7_20261124');
      await server.query(`SELECT pg_terminate_backend(pid) ${readers}`);
      await reading;
      expect(await dropDays(database, FIRST + 30 * DAY_MS)).toEqual({
        done: ['webhook_deliveries_k7_20261124'],
        errors: [],
      });
    });

    it('that can not be dropped hold up no others: somebody has made a view of one', async () => {
      const at = (createdAt: number) =>
        buildMovedEvent({ createdAt, keepDays: 7, deliveries: [buildMovedDelivery()] });
      await write(at(FIRST), at(FIRST + DAY_MS));
      await server.query('CREATE VIEW mine AS SELECT * FROM webhook_events_k7_20261124');
      const { done, errors } = await dropDays(database, FIRST + 30 * DAY_MS);
      expect(done).toEqual(
        expect.arrayContaining(['webhook_attempts_k7_20261124', 'webhook_events_k7_20261125']),
      );
      expect(errors).toMatchObject([
        { code: '2BP01', message: expect.stringContaining('webhook_events_k7_20261124') },
      ]);
      await server.query('DROP VIEW mine');
      expect((await dropDays(database, FIRST + 30 * DAY_MS)).done).toEqual(['webhook_events_k7_20261124']);
    });
  });

  describe('the connections', () => {
    beforeEach(() => migrate(database));

    it('say that the history is away, at once after the first try, and work again when it is back', async () => {
      let now = 0;
      await database.close();
      database = new PgDatabase({
        url: server.url,
        applicationName: 'test',
        readers: 1,
        writers: 1,
        now: () => now,
      });
      const history = new PgHistory(database);
      const event = buildMovedEvent();
      await write(event);
      const find = () => history.findEvent(event.accountId, event.id);
      await server.kill();
      const away = { code: 'history_unavailable', retryAfterMs: expect.any(Number) };
      await expect(find()).rejects.toMatchObject(away);
      await expect(find()).rejects.toMatchObject(away);
      await server.start();
      now += 999;
      await expect(find()).rejects.toMatchObject({ ...away, cause: undefined });
      now += 1;
      expect(await find()).toMatchObject({ id: event.id });
    });

    it('have their own settings, whatever those of the role are, and write to the disk', async () => {
      const ofRole = ['statement_timeout = 0', 'enable_sort = on', 'synchronous_commit = off'];
      for (const setting of ofRole) await server.query(`ALTER ROLE postgres SET ${setting}`);
      const show = (...names: readonly string[]) =>
        `SELECT ${names.map((name) => `current_setting('${name}') AS ${name.toLowerCase()}`).join(', ')}`;
      const reading = show('statement_timeout', 'enable_sort', 'TimeZone');
      expect(await database.read({ name: 'show', text: reading, values: [] })).toEqual([
        { statement_timeout: '3s', enable_sort: 'off', timezone: 'UTC' },
      ]);
      const writing = show('statement_timeout', 'idle_in_transaction_session_timeout', 'synchronous_commit');
      const settings = async () =>
        await database.connected(async (client) => (await client.query(writing)).rows);
      const own = { statement_timeout: '15s', idle_in_transaction_session_timeout: '10s' };
      expect(await settings()).toEqual([{ ...own, synchronous_commit: 'on' }]);

      await server.query('ALTER ROLE postgres SET synchronous_commit = remote_apply');
      await database.close();
      database = openDatabase();
      expect(await settings()).toEqual([{ ...own, synchronous_commit: 'remote_apply' }]);
      await server.query('ALTER ROLE postgres RESET ALL');
    });

    it('ask for nothing when they begin that a pooler does not know', async () => {
      const pooler = createServer().listen(0, '127.0.0.1');
      await once(pooler, 'listening');
      const { port } = pooler.address() as AddressInfo;
      const asked = once(pooler, 'connection').then(async ([socket]: Socket[]) => {
        const [startup] = (await once(socket as Socket, 'data')) as Buffer[];
        socket?.destroy();
        // Its length and the version of the protocol, then names and values, each with a zero behind it.
        return (startup ?? Buffer.alloc(0)).subarray(8).toString().split('\0');
      });
      const through = openDatabase(`postgresql://somebody@127.0.0.1:${port}/history`);
      await expect(through.connected(async () => {})).rejects.toThrow();
      await through.close();
      const names = (await asked).filter((_, index) => index % 2 === 0).filter((name) => name !== '');
      expect(names.toSorted()).toEqual(['application_name', 'client_encoding', 'database', 'user']);
      pooler.close();
    });

    it('end a read that takes long, and go on', async () => {
      const slow = database.read({ name: 'slow', text: 'SELECT pg_sleep(300)', values: [] });
      await expect(slow).rejects.toMatchObject({ code: 'history_unavailable', cause: { code: '57014' } });
      expect(await database.read({ name: 'one', text: 'SELECT 1 AS one', values: [] })).toEqual([{ one: 1 }]);
    });

    it('say that the history is away when the schema was changed by hand', async () => {
      await server.query('ALTER TABLE webhook_events DROP COLUMN trace');
      const event = buildMovedEvent();
      await expect(new PgHistory(database).findEvent(event.accountId, event.id)).rejects.toMatchObject({
        code: 'history_unavailable',
        cause: { code: '42703' },
      });
      await expect(new HistoryWriter(database, systemClock).write([event], NEVER)).rejects.toMatchObject({
        code: '42703',
      });
    });

    it('work for a role that has the rights to the rows alone, once the days are there', async () => {
      const event = buildMovedEvent({ deliveries: [buildMovedDelivery()] });
      await write(event);
      await server.query(`DROP ROLE IF EXISTS mover`);
      await server.query(`CREATE ROLE mover LOGIN`);
      await server.query('GRANT USAGE ON SCHEMA public TO mover');
      await server.query('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO mover');
      const limited = openDatabase(server.url.replace('postgres@', 'mover@'));
      const writer = new HistoryWriter(limited, systemClock);
      expect(await writer.write([{ ...event, accountId: buildMovedEvent().accountId }], NEVER)).toEqual({
        kind: 'written',
      });
      const later = buildMovedEvent({ createdAt: FIRST });
      await expect(writer.write([later], NEVER)).rejects.toMatchObject({ code: '42501' });
      await limited.close();
      await server.query('DROP OWNED BY mover');
      await server.query('DROP ROLE mover');
    });
  });
});
