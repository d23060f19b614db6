import { systemClock } from '../../platform/clock';
import type { RedisClock } from '../../platform/redis-clock';
import { fake } from '../../testing/fake';
import { findClosedPort } from '../../testing/local-server';
import { hasPostgres, NO_POSTGRES, PostgresServer } from '../../testing/postgres-server';
import { recordSignals } from '../../testing/record-signals';
import { PgDatabase } from '../database/pg-database';
import { packDays } from '../database/pg-pack-days';
import { migrate } from '../database/pg-schema';
import type { MoverParts } from './mover-parts';
import { HistoryUpkeep } from './upkeep';

if (!hasPostgres) console.warn(`SKIPPED: upkeep of the history in PostgreSQL, because ${NO_POSTGRES}.`);

(hasPostgres ? describe : describe.skip)('the upkeep of the history', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterEach(() => server.start());
  afterAll(() => server.close());

  const opened: { stop(): Promise<void> }[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((one) => one.stop()));
  });

  function open(url = server.url) {
    const database = new PgDatabase({ url, applicationName: 'test', readers: 1, writers: 1 });
    const signals = recordSignals();
    const calls: string[] = [];
    let hasStarted: () => void = () => {};
    const started = new Promise<void>((resolve) => {
      hasStarted = resolve;
    });
    const writer = {
      start() {
        calls.push('start');
        hasStarted();
      },
      async stop() {
        calls.push('stop');
      },
    };
    const parts = fake<MoverParts>({
      historyDatabase: database,
      clock: systemClock,
      redisClock: fake<RedisClock>({ known: Promise.resolve(true) }),
      emit: signals.listen,
    });
    const upkeep = new HistoryUpkeep(parts, [], [writer]);
    opened.push({
      stop: async () => {
        await upkeep.stop();
        await database.close();
      },
    });
    return { database, upkeep, signals, calls, started };
  }

  it('makes the schema before anything writes', async () => {
    const { upkeep, started, calls } = open();
    await upkeep.start();
    await started;
    expect(await server.query('SELECT version FROM webhook_schema')).toHaveLength(1);
    await upkeep.stop();
    expect(calls).toEqual(['start', 'stop']);
  });

  it('waits for a PostgreSQL that is away, and says so', async () => {
    await server.kill();
    const { upkeep, signals, started, calls } = open();
    await upkeep.start();
    expect(signals.named('history.failed')).toHaveLength(1);
    expect(calls).toEqual([]);
    await server.start();
    await started;
  });

  it('does not start with a schema of a later version', async () => {
    const { upkeep } = open();
    await upkeep.start();
    await server.query('UPDATE webhook_schema SET version = version + 1');
    const other = open();
    await expect(other.upkeep.start()).rejects.toMatchObject({ code: 'conflict' });
    expect(other.calls).toEqual([]);
    await server.query('UPDATE webhook_schema SET version = version - 1');
  });

  it('drops days that are over', async () => {
    const first = open();
    await first.upkeep.start();
    await first.started;
    await server.query(
      `CREATE TABLE webhook_events_old PARTITION OF webhook_events
       FOR VALUES FROM (1, '2020-01-01 00:00+00') TO (1, '2020-01-02 00:00+00')`,
    );
    const { upkeep, signals } = open();
    await upkeep.start();
    expect(await signals.first('history.day_dropped')).toMatchObject({ table: 'webhook_events_old' });
  });

  it('packs days that are over, once, also after a process was killed that did so', async () => {
    const { database } = open();
    await migrate(database);
    const [early, late] = [Date.now() - 4 * 86_400_000, Date.now() - 2 * 86_400_000].map((ms) =>
      new Date(ms).toISOString().slice(0, 10),
    );
    for (const day of [early, late]) {
      const next = new Date(Date.parse(day ?? '') + 86_400_000).toISOString().slice(0, 10);
      await server.query(
        `CREATE TABLE "events ${day}" PARTITION OF webhook_events
         FOR VALUES FROM (7, '${day} 00:00+00') TO (7, '${next} 00:00+00')`,
      );
    }
    // As REINDEX leaves it.
    const name = `"events ${early}_pkey_ccnew"`;
    await server.query(`CREATE INDEX ${name} ON "events ${early}" (account_id)`);
    await server.query(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = '${name}'::regclass`);
    const look = async (day = '') =>
      await server.query<{ name: string; file: string }>(
        `SELECT relname AS name, relfilenode AS file FROM pg_index JOIN pg_class ON oid = indexrelid
         WHERE indrelid = '"events ${day}"'::regclass ORDER BY 1`,
      );
    const [before, beforeLate] = [await look(early), await look(late)];
    expect(await packDays(database, Date.now())).toEqual({ done: [`"events ${early}"`], errors: [] });
    const after = await look(early);
    expect(after).toHaveLength(before.length - 1);
    const files = new Set(before.map(({ file }) => file));
    expect(after.filter(({ file }) => files.has(file))).toEqual([]);
    expect(await packDays(database, Date.now())).toEqual({ done: [], errors: [] });
    expect(await look(early)).toEqual(after);
    expect(await look(late)).toEqual(beforeLate);
  });

  it('stops while PostgreSQL is away', async () => {
    const { upkeep, calls } = open(`postgresql://nobody@127.0.0.1:${await findClosedPort()}/none`);
    await upkeep.start();
    await upkeep.stop();
    expect(calls).toEqual(['stop']);
  });
});
