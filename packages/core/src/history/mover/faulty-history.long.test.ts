import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import type { DeliveryFact } from '../../domain/delivery-fact';
import { readSummary } from '../../domain/delivery-log';
import { buildAttempt } from '../../testing/build-attempt';
import { type ArrangedEvent, DELIVERED, EXHAUSTED, MovingScene } from '../../testing/moving-scene';
import { hasPostgres, NO_POSTGRES } from '../../testing/postgres-server';
import { openTestHistory, readLogs, type TestHistory } from '../../testing/test-history';
import { PgDatabase } from '../database/pg-database';
import { HistoryWriter } from '../database/pg-history-writer';
import { Mover } from './mover';

/*
 * What real PostgreSQL does to a mover. A delivery that it refuses is kept in Redis. Whatever else happens,
 * nothing is lost, the log says so, and it is tried again.
 */

if (!hasPostgres) console.warn(`SKIPPED: a PostgreSQL with faults, because ${NO_POSTGRES}.`);

const PASSWORD = 'hunter2';
const WRITERS = 2;

(hasPostgres ? describe : describe.skip)('a PostgreSQL', () => {
  let test: TestHistory;
  let database: PgDatabase;
  let scene: MovingScene;
  beforeAll(async () => {
    test = await openTestHistory();
  });
  beforeEach(async () => {
    scene = await MovingScene.open();
    const url = test.server.url.replace('postgres@', `postgres:${PASSWORD}@`);
    database = new PgDatabase({ url, applicationName: 'faulty', readers: 1, writers: WRITERS });
  });
  afterEach(async () => {
    await database.close();
    await scene.close();
    // After a test that killed it.
    await test.server.start();
  });
  afterAll(() => test.close());

  const moving = () => ({ historyWriter: new HistoryWriter(database, () => scene.now) });

  const connections = async () => {
    const query = `SELECT FROM pg_stat_activity WHERE application_name = 'faulty'`;
    return (await test.server.query(query)).length;
  };

  async function expectMoved({ event, endpointIds }: ArrangedEvent, status = 'delivered'): Promise<void> {
    const keys = endpointIds.map((endpointId) => ({
      eventId: event.id,
      createdAt: event.acceptedAt,
      endpointId,
    }));
    const logs = await readLogs(test.history, event.accountId, keys);
    expect(logs.map((log) => readSummary(log ?? '').status)).toEqual(keys.map(() => status));
  }

  it('refuses what is too long for an index of the operator, and takes all others; then it can move too', async () => {
    await test.server.query('CREATE INDEX by_answer ON webhook_attempts (response_body)');
    const responseBody = randomBytes(6_000).toString('base64');
    const long: DeliveryFact = {
      ...(EXHAUSTED as object),
      attempt: buildAttempt({ responseBody }),
    } as DeliveryFact;
    const good = await Promise.all(Array.from({ length: 8 }, () => scene.arrange()));
    const bad = await scene.arrange([[long]]);
    const last = await scene.arrange();
    const parts = moving();
    expect(await scene.moveAfter(undefined, parts)).toMatchObject({ moved: 9 });
    for (const arranged of [...good, last]) await expectMoved(arranged);
    const { id: eventId, accountId } = bad.event;
    expect(scene.signals.named('history.row_refused')).toMatchObject([
      { accountId, eventId, code: '54000', reason: expect.stringMatching(/^54000: .*index/) },
    ]);
    expect([await scene.endedList.count(), await scene.endedList.countRefused()]).toEqual([0, 1]);
    const [endpointId] = bad.endpointIds;
    expect(endpointId && (await scene.logInRedis({ eventId, endpointId }))).toContain(responseBody);
    // Each refusal ended a connection. None is left over.
    expect(await connections()).toBeLessThanOrEqual(WRITERS);

    const next = await scene.arrange();
    expect(await scene.moveAfter(undefined, parts)).toMatchObject({ moved: 1 });
    await expectMoved(next);
    await test.server.query('DROP INDEX by_answer');
    await scene.endedList.putRefusedBack(scene.now);
    expect(await scene.moveAfter(undefined, parts)).toMatchObject({ moved: 1 });
    await expectMoved(bad, 'exhausted');
    expect(await scene.keysLeft()).toEqual([]);
  });

  const RAISE = (code: string) => `
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '${code}'; END $$;
    CREATE TRIGGER fail BEFORE INSERT ON webhook_attempts FOR EACH STATEMENT EXECUTE FUNCTION fail()`;

  it.each([
    ['has no room on its disk', RAISE('53100'), 'DROP FUNCTION fail CASCADE', '53100'],
    ['has no memory', RAISE('53200'), 'DROP FUNCTION fail CASCADE', '53200'],
    [
      'gives the role no right',
      `CREATE ROLE mover LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO mover`,
      `GRANT ALL ON ALL TABLES IN SCHEMA public TO mover; GRANT CREATE ON SCHEMA public TO mover;
       ALTER ROLE mover SUPERUSER`,
      '42501',
    ],
    [
      'has a table that somebody changed',
      'ALTER TABLE webhook_deliveries RENAME COLUMN attempt_count TO attempts',
      'ALTER TABLE webhook_deliveries RENAME COLUMN attempts TO attempt_count',
      '42703',
    ],
    [
      'lacks a table',
      'ALTER TABLE webhook_attempts RENAME TO elsewhere',
      'ALTER TABLE elsewhere RENAME TO webhook_attempts',
      '42P01',
    ],
  ])('that %s loses nothing: it is told of, and tried again', async (which, breakIt, mendIt, code) => {
    if (which.includes('role')) await useRole('mover');
    await test.server.query(breakIt);
    const all = await Promise.all([scene.arrange(), scene.arrange([[EXHAUSTED], [DELIVERED]])]);
    const before = await scene.keysLeft();
    const mover = new Mover({ ...scene.parts, ...moving(), moveAfterMs: 0 });
    mover.start();
    const failed = await scene.signals.first('history.failed');
    expect(failed).toMatchObject({ error: { code } });
    expect(inspect(failed, { depth: 10, showHidden: true })).not.toContain(PASSWORD);
    await scene.signals.atLeast(2, 'history.failed');
    expect(await scene.keysLeft()).toEqual(before);
    expect([await scene.endedList.count(), await scene.endedList.countRefused()]).toEqual([3, 0]);

    await test.server.query(mendIt);
    expect(await scene.signals.first('history.moved')).toMatchObject({ count: 3 });
    await mover.stop();
    expect(await scene.keysLeft()).toEqual([]);
    await expectMoved(all[0]);
    expect(scene.signals.named('history.row_refused')).toEqual([]);
  });

  async function useRole(name: string): Promise<void> {
    await database.close();
    const url = test.server.url.replace('postgres@', `${name}:${PASSWORD}@`);
    database = new PgDatabase({ url, applicationName: 'faulty', readers: 1, writers: WRITERS });
  }

  it('that is away, or does not know the database, is told of without the password', async () => {
    const errors: unknown[] = [];
    const note = (error: unknown) => void errors.push(error);
    await scene.arrange();
    const elsewhere = test.server.url
      .replace('postgres@', `postgres:${PASSWORD}@`)
      .replace(/postgres$/, 'nowhere');
    const other = new PgDatabase({ url: elsewhere, applicationName: 'x', readers: 1, writers: 1 });
    await other.transact(async () => {}).catch(note);
    await other.read({ name: 'one', text: 'SELECT 1', values: [] }).catch(note);
    await other.close();
    await database.read({ name: 'bad', text: 'SELECT nothing', values: [] }).catch(note);
    await test.server.kill();
    await database.transact(async () => {}).catch(note);
    await database.read({ name: 'one', text: 'SELECT 1', values: [] }).catch(note);
    await scene.moveAfter(undefined, moving()).catch(note);
    expect(errors).toHaveLength(6);
    for (const error of errors) {
      const shown = inspect(error, { depth: 20, showHidden: true });
      expect([shown.includes(PASSWORD), String((error as Error).stack).includes(PASSWORD)]).toEqual([
        false,
        false,
      ]);
    }
  });
});
