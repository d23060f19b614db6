import { keys } from '@hookferry/core/domain/keys';
import { PgAttemptTable, readAttemptRow } from '@hookferry/core/events/archive/pg-attempt-table';
import { ArchiveStream } from '@hookferry/core/events/archive/redis-archive-stream';
import { buildAttempt } from '@hookferry/core/testing/build-attempt';
import { hasPostgres, NO_POSTGRES, PostgresServer } from '@hookferry/core/testing/postgres-server';
import { openTestRedis, type TestRedis } from '@hookferry/core/testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '@hookferry/core/testing/unique-ids';
import { blocksOf, readPage } from './read-page';

if (!hasPostgres) console.warn(`SKIPPED: the SQL of the page about the archive, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

const record = {
  accountId: uniqueAccountId(),
  eventId: uniqueEventId(),
  endpointId: uniqueEndpointId(),
  type: 'keyword.quick_win',
  acceptedAt: Date.parse('2026-11-21T12:00:00Z'),
  status: 'pending',
  fact: {
    kind: 'attempted',
    attempt: buildAttempt({ startedAt: Date.parse('2026-11-21T12:00:01Z') }),
    nextAttemptAt: undefined,
  },
} as const;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

async function takeOne() {
  const stream = new ArchiveStream(redis.client);
  await stream.createGroup();
  const [entry] = await stream.takeNew('reader', 1, 1_000);
  if (!entry) throw new Error('There is nothing in the stream.');
  return { stream, entry };
}

describePostgres("the archive's page", () => {
  let postgres: PostgresServer;
  beforeAll(async () => {
    postgres = await PostgresServer.start();
  });
  afterAll(() => postgres.close());

  const columnsOf = (schema: string) =>
    postgres.query(
      `SELECT column_name, data_type, is_nullable FROM information_schema.columns
       WHERE table_schema = $1 AND table_name = 'webhook_attempts' ORDER BY ordinal_position`,
      [schema],
    );

  it('shows the table that the archiver makes, queries that it answers, and how a day is dropped', async () => {
    await new ArchiveStream(redis.client).add(record);
    const { entry } = await takeOne();
    const [definition = '', queries = '', dropping = ''] = blocksOf(await readPage('export.md'), 'sql');
    const table = new PgAttemptTable({ url: postgres.url });
    await table.insert([readAttemptRow(entry.fields)]);
    await table.close();

    await postgres.query(`CREATE SCHEMA by_hand; SET search_path TO by_hand; ${definition}`);
    expect(await columnsOf('by_hand')).toEqual(await columnsOf('public'));
    expect(await columnsOf('public')).not.toEqual([]);

    const each = queries.split(';').filter((query) => query.trim() !== '');
    expect(each).toHaveLength(3);
    for (const query of each) await postgres.query(query);
    await postgres.query(dropping);
    expect(await postgres.query('SELECT FROM webhook_attempts')).toEqual([]);
  });
});

it('has what was put aside archived after all by the command of the page, 500 at a time', async () => {
  const added = new ArchiveStream(redis.client);
  await added.add(record);
  const { stream, entry } = await takeOne();
  await stream.putAside(entry, '23514: no luck');
  const more = redis.client.pipeline();
  for (let i = 0; i < 500; i += 1)
    more.xadd(keys.attemptsNotArchived, '*', 'reason', 'odd', 'number', String(i));
  await more.exec();

  const [, script = '', names = ''] = /EVAL "([^"]+)" 2 (.+)$/m.exec(await readPage('export.md')) ?? [];
  const move = () => redis.client.eval(script, 2, ...names.replaceAll("'", '').split(' '));
  expect([await move(), await move(), await move()]).toEqual([500, 1, 0]);
  expect(await redis.client.xlen(keys.attemptsNotArchived)).toBe(0);
  const again = await takeOne();
  expect(again.entry.fields).toEqual(entry.fields);
  const [[, last] = ['', []]] = await redis.client.xrevrange(keys.attemptsToArchive, '+', '-', 'COUNT', 1);
  expect(last).toEqual(['number', '499']);
});
