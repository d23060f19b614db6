import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClosables } from '@hookferry/core/testing/closables';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { hasPostgres, NO_POSTGRES, PostgresServer } from '@hookferry/core/testing/postgres-server';
import { startRedisProxy } from '@hookferry/core/testing/redis-proxy';
import { enqueue, insertOf, migrate, migrationOf, Relay, type RelayOptions } from '@hookferry/outbox';
import type { EventInput } from '@hookferry/producer';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { blocksOf } from '../docs/read-page';
import { Receiver } from '../support/receiver';
import { RedisServer } from '../support/redis-server';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';
import { ConsumerProject, STRICT_COMPILER } from './consumer-project';
import { PROJECT, packPackage, programOf } from './pack-package';
import { findPythons, run as runPython } from './python-runtime';
import { runProgram, runWell } from './run-program';

interface Events {
  readonly 'order.created': { readonly id: string; readonly number?: number };
}

const { willClose, closeAll } = createClosables();
let database: PostgresServer;
let redis: RedisServer;
let pool: Pool;

if (!hasPostgres) console.warn(`SKIPPED: the outbox, because ${NO_POSTGRES}.`);
(hasPostgres ? describe : describe.skip)('the outbox', () => {
  beforeAll(async () => {
    database = await PostgresServer.start();
    redis = await RedisServer.start();
  });
  afterAll(async () => {
    await redis.remove();
    await database.close();
  });
  beforeEach(async () => {
    pool = new Pool({ connectionString: database.url, max: 20 });
    // Whoever is cut off connects again.
    pool.on('error', () => {});
    await migrate(pool);
  });
  afterEach(async () => {
    await closeAll();
    await pool.query('DROP TABLE hookferry_outbox');
    await pool.end();
    await onRedis((client) => client.flushall());
  });

  it('publishes what is committed, under the id of its row, and nothing of what is rolled back', async () => {
    const relay = startRelay();
    await inTransaction('ROLLBACK', ['gone']);
    await inTransaction('COMMIT', ['kept']);
    expect(await untilQueued(1)).toEqual(['kept']);
    const data = { account_id: 'acme', type: 'order.created', data: { id: 'kept' }, id: 'kept' };
    expect(await jobs()).toMatchObject([{ name: 'order.created', data }]);
    await untilIdle(relay);
    expect(await rows()).toMatchObject([{ event_id: 'kept', batch: '1', error: null }]);
  });

  it('tells a relay at once, whatever it waits for otherwise', async () => {
    startRelay({ pollMs: 600_000 });
    await untilListening();
    await inTransaction('COMMIT', ['first']);
    expect(await untilQueued(1)).toEqual(['first']);
  });

  it('refuses an event that could never be published, before it is in the table', async () => {
    const wrong = { type: 'order.created', data: { id: 'x' }, account_id: 'acme' };
    await expect(enqueue<Events>(pool, wrong as never)).rejects.toMatchObject({ code: 'invalid_event' });
    expect(() => insertOf<Events>({ type: 'order.created', data: { id: 'x' } }, 'a; DROP TABLE b')).toThrow(
      TypeError,
    );
    expect(await rows()).toEqual([]);
  });

  it('keeps a row that is no event, says why, and goes on with the others', async () => {
    await pool.query(
      `INSERT INTO hookferry_outbox (event_id, event) VALUES ('a', 'not json'), ('b', '{"type":"order.created"}')`,
    );
    await inTransaction('COMMIT', ['c']);
    const relay = startRelay();
    expect(await untilQueued(1)).toEqual(['c']);
    await untilIdle(relay);
    expect(await rows()).toMatchObject([
      { event_id: 'a', error: expect.stringContaining('not JSON') },
      { event_id: 'b', error: expect.stringContaining('data must be a JSON value') },
      { event_id: 'c', error: null },
    ]);
    expect(await relay.status()).toMatchObject({ waiting: 0, failed: 2 });
  });

  it('keeps the order in which transactions could see each other, with several relays', async () => {
    for (let i = 0; i < 3; i += 1) startRelay({ pollMs: 5 });
    const ids: string[] = [];
    for (let i = 0; i < 400; i += 1) ids.push(`order-${i}`);
    for (let at = 0; at < ids.length; at += 8) await inTransaction('COMMIT', ids.slice(at, at + 8));
    expect(await untilQueued(ids.length)).toEqual(ids);
  });

  it('has a webhook with an order get events as they were written, whatever their ids', async () => {
    const stack = await Stack.start();
    willClose({ close: () => stack.stop() });
    const receiver = await Receiver.start();
    willClose({ close: () => receiver.stop() });
    const webhook = { url: receiver.url, events: ['*'], ordering: 'strict' };
    await stack.client.expect(201, 'POST', '/v1/webhooks', webhook);
    // So many that they wait for each other, and that batches follow each other.
    const ids = Array.from({ length: 240 }, () => randomUUID());
    await inTransaction('COMMIT', ids.slice(0, 120), quickWin);
    await inTransaction('COMMIT', ids.slice(120), quickWin);
    startRelay({ redisUrl: stack.redis.url });
    await receiver.waitFor(ids.length);
    expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).toEqual(ids);
  });

  it('publishes what Python and plain SQL have written, in their order and under the ids of the rows', async () => {
    await inTransaction('COMMIT', ['first']);
    const fromPython = await enqueueFromPython();
    const [insert = ''] = blocksOf(await readFile(join(PROJECT, 'packages/outbox/README.md'), 'utf8'), 'sql');
    await pool.query(insert);
    startRelay();
    const ids = ['first', ...fromPython, 'order-4711-created'];
    expect(await untilQueued(ids.length)).toEqual(ids);
    const data = { account_id: 'acme', type: 'order.created', data: { id: 'ord_4711', total: 99.5 } };
    expect((await jobs()).map((job) => job.data as unknown)).toEqual(
      expect.arrayContaining(fromPython.map((id) => ({ ...data, id }))),
    );
  });

  it('makes one event of what is published twice, because its relay lost PostgreSQL before the commit', async () => {
    await inTransaction('COMMIT', ['once']);
    const proxy = willClose(await startRedisProxy(redis.url));
    const errors: unknown[] = [];
    const relay = startRelay({ redisUrl: proxy.url, pollMs: 20, onError: (error) => errors.push(error) });
    // The number of the batch goes to Redis behind the events, and before the commit.
    const held = proxy.hold('\r\nmset\r\n');
    await held;
    await database.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'`,
    );
    await untilIdle(relay);
    expect(errors).not.toEqual([]);
    expect(await jobs()).toHaveLength(1);
    expect(await rows()).toMatchObject([{ event_id: 'once', error: null }]);
  });

  it('publishes again what a Redis has forgotten that went back to an earlier state', async () => {
    const rolledBack: number[] = [];
    const relay = startRelay({ pollMs: 20, onRolledBack: (events) => rolledBack.push(events) });
    await inTransaction('COMMIT', ['before']);
    await untilIdle(relay);
    const backup = await onRedis(async (client) => {
      await client.save();
      const [, dir = ''] = await client.config('GET', 'dir');
      return `${dir}/dump.rdb`;
    });
    const folder = await mkdtemp(join(tmpdir(), 'outbox-'));
    willClose({ close: () => rm(folder, { recursive: true }) });
    const kept = join(folder, 'dump.rdb');
    await copyFile(backup, kept);
    await inTransaction('COMMIT', ['lost-1', 'lost-2']);
    await untilIdle(relay);
    expect(rolledBack).toEqual([]);

    await redis.kill();
    await redis.startFromBackup(kept);
    expect(await untilQueued(3)).toEqual(['before', 'lost-1', 'lost-2']);
    await untilIdle(relay);
    expect(rolledBack).toEqual([2]);
    // Later batches have numbers that no earlier one had.
    await inTransaction('COMMIT', ['after']);
    expect(await untilQueued(4)).toEqual(['before', 'lost-1', 'lost-2', 'after']);
    await untilIdle(relay);
    expect(rolledBack).toEqual([2]);
  });

  it('publishes the events of a time again when it is told to', async () => {
    const relay = startRelay({ pollMs: 20 });
    await inTransaction('COMMIT', ['one', 'two']);
    await untilQueued(2);
    await untilIdle(relay);
    await onRedis(async (client) =>
      client.del('bull:events:wait', 'bull:events:acme.one', 'bull:events:acme.two'),
    );
    expect(await relay.republish(new Date(Date.now() - 60_000))).toBe(2);
    expect(await untilQueued(2)).toEqual(['one', 'two']);
  });

  it('waits while Redis or PostgreSQL is away, and loses nothing', async () => {
    const relay = startRelay({ pollMs: 20 });
    await inTransaction('COMMIT', ['first']);
    await untilIdle(relay);
    await redis.kill();
    await inTransaction('COMMIT', ['second']);
    expect((await relay.status()).waiting).toBe(1);
    await database.crash();
    await database.start();
    await redis.start();
    await inTransaction('COMMIT', ['third']);
    expect(await untilQueued(3)).toEqual(['first', 'second', 'third']);
    await untilIdle(relay);
  });

  it('leaves the outbox to others while its own Redis is away, says so, and ends when it is told to', async () => {
    await inTransaction('COMMIT', ['one']);
    const errors: string[] = [];
    const away = await findClosedPort();
    const lost = startRelay({
      redisUrl: `redis://127.0.0.1:${away}`,
      onError: (error) => errors.push(String(error)),
    });
    await until(async () => (errors.length > 0 ? true : undefined));
    expect(new Set(errors)).toEqual(
      new Set([`Error: Redis can't be reached: connect ECONNREFUSED 127.0.0.1:${away}`]),
    );
    const idle = `SELECT count(*) AS held FROM pg_stat_activity WHERE state = 'idle in transaction'`;
    expect((await pool.query(idle)).rows).toEqual([{ held: '0' }]);
    startRelay();
    expect(await untilQueued(1)).toEqual(['one']);
    await lost.stop();
  });

  it('has a program that tells once what it can not reach, and when it publishes again', async () => {
    const program = join(PROJECT, 'packages/outbox/bin/hookferry-outbox.js');
    await inTransaction('COMMIT', ['one']);
    await redis.kill();
    const settings = [`DATABASE_URL=${database.url}`, `REDIS_URL=${redis.url}`];
    const relay = spawn('env', [...settings, process.execPath, program, 'relay']);
    const ended = once(relay, 'exit');
    let told = '';
    relay.stderr.on('data', (text: Buffer) => {
      told += text.toString();
    });
    await until(async () => (told.includes('\n') ? true : undefined));
    await redis.start();
    expect(await untilQueued(1)).toEqual(['one']);
    await until(async () => (told.includes('again') ? true : undefined));
    const { host } = new URL(redis.url);
    expect(told).toBe(`Redis can't be reached: connect ECONNREFUSED ${host}\nThe relay publishes again.\n`);
    await redis.kill();
    relay.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    await redis.start();
  });

  it('has a program that relays, tells how many wait, and ends when it is told to', async () => {
    const port = await findClosedPort();
    const program = join(PROJECT, 'packages/outbox/bin/hookferry-outbox.js');
    const settings = [`DATABASE_URL=${database.url}`, `REDIS_URL=${redis.url}`, `METRICS_PORT=${port}`];
    const command = [...settings, process.execPath, program];
    // None but the relay needs Redis.
    const others = [...settings.filter((text) => !text.startsWith('REDIS')), process.execPath, program];
    const run = (...words: readonly string[]) => runProgram('env', [...others, ...words], PROJECT);
    await pool.query('DROP TABLE hookferry_outbox');
    expect(await run('migrate')).toEqual({ code: 0, output: 'The table hookferry_outbox is there.\n' });
    await inTransaction('COMMIT', ['one', 'two']);
    expect((await run('status')).output).toMatch(
      /^2 events wait, the oldest since .*Z\. 0 can't be published\.\n$/,
    );
    const relay = spawn('env', [...command, 'relay']);
    const ended = once(relay, 'exit');
    expect(await untilQueued(2)).toEqual(['one', 'two']);
    const read = async () => await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    await until(async () => ((await read()).includes('hookferry_outbox_waiting 0\n') ? true : undefined));
    expect((await run('republish', '--since', '1h')).output).toBe('2 events are published again.\n');
    relay.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });

  it('has SQL that can run again, also for a table in a schema', async () => {
    await pool.query('CREATE SCHEMA app');
    const sql = migrationOf('app.outbox');
    await pool.query(sql);
    const comment = `SELECT obj_description('app.outbox'::regclass) AS text`;
    const [first] = (await pool.query(comment)).rows as unknown[];
    await pool.query(sql);
    expect((await pool.query(comment)).rows).toEqual([first]);
    await enqueue<Events>(
      pool,
      { type: 'order.created', data: { id: 'x' }, id: 'x', accountId: 'acme' },
      'app.outbox',
    );
    startRelay({ table: 'app.outbox' });
    expect(await untilQueued(1)).toEqual(['x']);
    await closeAll();
    await pool.query('DROP SCHEMA app CASCADE');
  });
});

function startRelay(options: Partial<Omit<RelayOptions, 'connection'>> = {}): Relay {
  const relay = new Relay({ pool, redisUrl: redis.url, pollMs: 100, ...options });
  relay.start();
  willClose({ close: () => relay.stop() });
  return relay;
}

const orderCreated = (id: string) =>
  ({ type: 'order.created', accountId: 'acme', id, data: { id } }) as const;
/** Of the account and the type that every service has. */
const quickWin = (id: string) => ({ type: QUICK_WIN.type, id, data: QUICK_WIN.data }) as never;

async function inTransaction(
  end: 'COMMIT' | 'ROLLBACK',
  ids: readonly string[],
  eventOf: (id: string) => EventInput<Events> = orderCreated,
): Promise<void> {
  const client = await connected();
  try {
    await client.query('BEGIN');
    for (const id of ids) expect(await enqueue<Events>(client, eventOf(id))).toBe(id);
    await client.query(end);
  } finally {
    client.release();
  }
}

/** By the function of the README. Its cursor is no driver's: it says what that would run. @returns the ids of the events */
async function enqueueFromPython(): Promise<readonly string[]> {
  const [python] = findPythons();
  if (!python) {
    console.warn('SKIPPED: the outbox from Python, because there is no Python 3.9 or newer.');
    return [];
  }
  const readme = blocksOf(await readFile(join(PROJECT, 'clients/python/README.md'), 'utf8'), 'python');
  const example = readme.find((block) => block.includes('hookferry.outbox')) ?? '';
  const { output } = runPython(python.command, ['-c', `${example}${USE_FROM_PYTHON}`], {
    environment: { PYTHONPATH: join(PROJECT, 'clients/python/src') },
  });
  const ids: string[] = [];
  for (const line of output.trim().split('\n')) {
    const [statement, [id, event]] = JSON.parse(line) as [string, [string, string]];
    await pool.query(statement.replace('%s', '$1').replace('%s', '$2'), [id, event]);
    ids.push(id);
  }
  return ids;
}

const USE_FROM_PYTHON = `
import contextlib
import json


class Connection:
    @contextlib.contextmanager
    def cursor(self):
        yield self

    def execute(self, statement, parameters):
        if "hookferry_outbox" in statement:
            print(json.dumps([statement, parameters]))

    def commit(self):
        pass


for _ in range(20):
    create_order(Connection(), {"id": "ord_4711", "total": 99.5})
`;

async function connected() {
  return await until(() => pool.connect().catch(() => undefined));
}

async function onRedis<Result>(work: (client: Redis) => Promise<Result>): Promise<Result> {
  const client = new Redis(redis.url, { maxRetriesPerRequest: null });
  client.on('error', () => {});
  try {
    return await work(client);
  } finally {
    client.disconnect();
  }
}

async function jobs() {
  return await onRedis(async (client) => {
    const queue = new Queue('events', { connection: client });
    const waiting = await queue.getWaiting();
    await queue.close();
    return waiting;
  });
}

/** Their ids, the first one first, once there are so many. */
async function untilQueued(count: number): Promise<readonly string[]> {
  return await onRedis(async (client) => {
    let ids: readonly string[] = [];
    const look = async () => {
      ids = (await client.lrange('bull:events:wait', 0, -1)).toReversed();
      return ids.length >= count ? ids.map((id) => id.replace('acme.', '')) : undefined;
    };
    return await until(look, () => `${ids.length} of ${count} jobs: ${ids.join()}`);
  });
}

async function untilIdle(relay: Relay): Promise<void> {
  let status: unknown;
  const look = async () => {
    const told = await relay.status().catch(String);
    status = told;
    return typeof told === 'object' && told.waiting === 0 ? true : undefined;
  };
  await until(look, () => JSON.stringify(status));
}

async function untilListening(): Promise<void> {
  const listening = `SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN%'`;
  await until(async () => ((await pool.query(listening)).rows.length > 0 ? true : undefined));
}

async function rows(): Promise<readonly unknown[]> {
  return (await pool.query('SELECT event_id, batch, error FROM hookferry_outbox ORDER BY position')).rows;
}

// The compiler takes our declarations as they are, and does not check those of BullMQ.
const COMPILER = { ...STRICT_COMPILER, skipLibCheck: true, lib: ['es2023'], types: ['node'], noEmit: true };

async function versionOf(name: string): Promise<string> {
  const manifest = await readFile(join(PROJECT, 'node_modules', name, 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { readonly version: string }).version;
}

it('makes ids that sort as they were made', () => {
  const ids = Array.from(
    { length: 1_000 },
    () => insertOf<Events>({ type: 'order.created', data: { id: 'x' } }).values[0],
  );
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.toSorted()).toEqual(ids);
});

describe('the packed outbox', () => {
  it('is fine by publint and attw, type-checks as its README shows, and prints its SQL', async () => {
    const producer = await packPackage('producer');
    const outbox = await packPackage('outbox');
    willClose({ close: () => rm(producer.folder, { recursive: true, force: true }) });
    willClose({ close: () => rm(outbox.folder, { recursive: true, force: true }) });
    await runWell(programOf('publint'), ['run', '--strict', outbox.tarball], outbox.folder);
    await runWell(programOf('attw'), ['--no-emoji', '--no-color', outbox.tarball], outbox.folder);
    expect(outbox.files.filter((file) => /test|src\//.test(file))).toEqual([]);
    const consumer = await ConsumerProject.install({
      '@types/node': await versionOf('@types/node'),
      '@types/pg': await versionOf('@types/pg'),
      '@hookferry/producer': producer.tarball,
      '@hookferry/outbox': outbox.tarball,
    });
    willClose({ close: () => consumer.remove() });
    const blocks = blocksOf(await readFile(join(PROJECT, 'packages/outbox/README.md'), 'utf8'), 'ts');
    expect(blocks).toHaveLength(3);
    for (const [i, block] of blocks.entries()) await consumer.write(`readme-${i}.mts`, block);
    await consumer.write('tsconfig.json', JSON.stringify({ compilerOptions: COMPILER, include: ['*.mts'] }));
    expect(await consumer.run(programOf('tsc'), '-p', '.')).toEqual({ code: 0, output: '' });
    expect(await consumer.run('npx', '--no-install', 'hookferry-outbox', 'sql')).toEqual({
      code: 0,
      output: `${migrationOf()}\n`,
    });
    expect(await consumer.run('npx', '--no-install', 'hookferry-outbox', 'republish')).toEqual({
      code: 2,
      output: 'Say how far back: --since 30m, 2h or 1d.\n',
    });
  });
});
