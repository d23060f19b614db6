import { setImmediate as nextTurn } from 'node:timers/promises';
import { hasPostgres, NO_POSTGRES, PostgresServer } from '../../testing/postgres-server';
import { standStill } from '../../testing/stand-still';
import { PgDatabase } from './pg-database';

if (!hasPostgres) console.warn(`SKIPPED: the connections to PostgreSQL, because ${NO_POSTGRES}.`);
(hasPostgres ? describe : describe.skip)('the connections that read', () => {
  let server: PostgresServer;
  let database: PgDatabase;
  const results: string[] = [];
  beforeAll(async () => {
    server = await PostgresServer.start();
    database = new PgDatabase({
      url: server.url,
      applicationName: 'test',
      readers: 1,
      writers: 1,
      emit: (signal) => signal.name === 'history.read' && results.push(signal.result),
    });
  });
  afterAll(async () => {
    await database.close();
    await server.close();
  });
  beforeEach(() => {
    results.length = 0;
  });

  const ask = async <Row>(text: string, ...values: unknown[]) =>
    await database.read<Row>({ name: text, text, values });
  const connectionOf = async () => (await ask<{ pid: number }>('SELECT pg_backend_pid() AS pid'))[0]?.pid;

  it.each([
    ['NUL', 'SELECT $1::text', 'a\0b'],
    ['no time', 'SELECT $1::timestamptz', 'yesterdayish'],
  ])('refuse %s as a bug, stay open, and count no failure', async (_what, text, value) => {
    const before = await connectionOf();
    await expect(ask(text, value)).rejects.toMatchObject({ code: expect.stringMatching(/^22/) as string });
    expect(await connectionOf()).toBe(before);
    expect(results).toEqual(['succeeded', 'succeeded', 'succeeded']);
  });

  it('stay open behind a statement that took too long', async () => {
    const before = await connectionOf();
    // What a time-out does.
    await expect(ask('SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(9)')).rejects.toMatchObject({
      code: 'history_unavailable',
    });
    expect(await connectionOf()).toBe(before);
  });

  it('are closed when the database ends them, and opened again', async () => {
    const before = await connectionOf();
    await expect(ask('SELECT pg_terminate_backend(pg_backend_pid())')).rejects.toMatchObject({
      code: 'history_unavailable',
    });
    expect(await connectionOf()).not.toBe(before);
  });

  it('let others read while all of them are busy', async () => {
    const busy = ask('SELECT pg_sleep(2.9)');
    await expect(ask('SELECT 1')).rejects.toMatchObject({ code: 'history_unavailable' });
    // The database is there.
    for (const kind of ['scan', 'search'] as const) {
      expect(await database[kind]({ name: 'two', text: 'SELECT 2 AS two', values: [] })).toEqual([
        { two: 2 },
      ]);
    }
    await busy;
  });

  it('a process that stands still for longer than it waits takes what came meanwhile', async () => {
    const wait = (seconds: number) => ({ name: 'wait', text: 'SELECT pg_sleep($1)', values: [seconds] });
    // It has its connection then.
    await database.commit(wait(0));
    const reply = database.commit<object>(wait(0.3));
    await until(async () => (await waiting()).length === 1);
    standStill(2_500);
    expect(await reply).toHaveLength(1);
  });

  const waiting = async () =>
    await ask<object>(`SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'`);
});

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await nextTurn();
}
