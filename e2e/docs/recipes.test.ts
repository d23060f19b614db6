import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { newSecret } from '@hookferry/core/endpoints/rotate-secret';
import { createClosables } from '@hookferry/core/testing/closables';
import { hasPostgres, NO_POSTGRES, PostgresServer } from '@hookferry/core/testing/postgres-server';
import { openTestRedis } from '@hookferry/core/testing/test-redis';
import { webhooks } from '@hookferry/receiver/express';
import { Queue } from 'bullmq';
import { addTypes } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';
import { blocksOf, readPage } from './read-page';
import { Reader } from './reader';
import { RecipeProgram } from './recipe-program';

const ROOT = join(__dirname, '../..');
const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const start = async (page: string, environment: Readonly<Record<string, string>>) => {
  const program = await RecipeProgram.start(page, environment);
  willClose({ close: () => program.stop() });
  return program;
};

if (!hasPostgres) console.warn(`SKIPPED: the recipe of an idempotent receiver, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

describePostgres('the idempotent receiver', () => {
  it('has each effect once, whatever breaks off', async () => {
    const postgres = willClose(await PostgresServer.start());
    const [tables = ''] = blocksOf(await readPage('recipes/idempotent-receiver.md'), 'sql');
    await postgres.query(tables);
    const receiver = await start('idempotent-receiver', { DATABASE_URL: postgres.url });
    const post = (id: string, total: unknown = 1) => receiver.post(id, 'order.created', { id, total });
    const rowsOf = async (id: string) => {
      const effects = await postgres.query('SELECT FROM invoices WHERE order_id = $1', [id]);
      const notes = await postgres.query('SELECT FROM handled_events WHERE id = $1', [id]);
      return [effects.length, notes.length];
    };

    expect(await Promise.all(Array.from({ length: 8 }, () => post('evt_1')))).toEqual(Array(8).fill(204));
    expect(await rowsOf('evt_1')).toEqual([1, 1]);

    expect(await post('evt_2', null)).toBe(500);
    expect(await rowsOf('evt_2')).toEqual([0, 0]);
    expect(await post('evt_2')).toBe(204);
    expect(await rowsOf('evt_2')).toEqual([1, 1]);

    await postgres.kill();
    expect(await post('evt_3')).toBe(500);
    await postgres.start();
    expect(await post('evt_3')).toBe(204);
    expect(await rowsOf('evt_3')).toEqual([1, 1]);
  });
});

it('the queue behind the receiver has each event once, and it is worked on', async () => {
  const redis = willClose(await openTestRedis());
  const receiver = await start('queue-behind-receiver', { REDIS_URL: redis.url });
  const post = (id: string) => receiver.post(id, 'order.created', { id: 'ord_1' });
  expect([await post('17'), await post('17'), await post('evt_2')]).toEqual([204, 204, 204]);
  await receiver.waitFor(/worked on evt_2: order.created/);
  expect(receiver.output.match(/worked on 17: order.created/g)).toHaveLength(1);
  const queue = willClose(new Queue('webhook-inbox', { connection: redis.client }));
  await until(async () => ((await queue.getCompletedCount()) === 2 ? true : undefined));
});

describe('tried as their pages say', () => {
  let reader: Reader;
  beforeAll(async () => {
    reader = await Reader.start();
  });
  afterAll(() => reader.stop());

  /** The blocks of commands of a recipe, whose program the reader has saved. psql is not everywhere. */
  async function open(name: string): Promise<string[]> {
    const page = await readPage(`recipes/${name}.md`);
    const [program = ''] = blocksOf(page, 'js');
    await writeFile(join(reader.folder, '.data/receiver.mjs'), reader.adapt(program));
    return blocksOf(page, 'sh').map((block) => reader.adapt(block).replace(/^psql .*$/gm, ':'));
  }

  it('the queue behind the receiver works on what is triggered', async () => {
    const [run, cleanUp, ...rest] = await open('queue-behind-receiver');
    expect(rest).toEqual([]);
    await reader.terminal.paste(run);
    await reader.terminal.waitFor(/worked on evt_\w+: order\.created/);
    expect(await reader.terminal.paste(cleanUp)).toContain('Deleted the webhook inbox');
  });

  describePostgres('with a database', () => {
    it('the idempotent receiver has one row for an event that is sent twice', async () => {
      const postgres = willClose(await PostgresServer.start());
      const [tables = ''] = blocksOf(await readPage('recipes/idempotent-receiver.md'), 'sql');
      await postgres.query(tables);
      const [run = '', send, cleanUp, ...rest] = await open('idempotent-receiver');
      expect(rest).toEqual([]);
      await reader.terminal.paste(run.replace('postgresql://…', postgres.url));
      await reader.terminal.waitFor(/listening on \d+/);
      await reader.terminal.paste(send);
      await reader.terminal.waitFor(/204 +\d+ +manual/, 'hookferry deliveries show $DELIVERY');
      expect(await postgres.query('SELECT FROM invoices')).toHaveLength(1);
      expect(await reader.terminal.paste(cleanUp)).toContain('Deleted the webhook once');
    });
  });
});

describe('the script that checks a receiver in CI', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await Stack.start();
    await addTypes(stack.client);
  });
  afterAll(() => stack.stop());

  const secret = newSecret();
  const types = ['order.created', 'order.paid'];

  /** A build under test, which responds by what it was made with. */
  async function listen(handler: Parameters<typeof createServer>[1]): Promise<string> {
    const server = createServer(handler).listen(0, '127.0.0.1');
    await until(async () => server.listening || undefined);
    willClose({ close: async () => void server.close() });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  }

  /** What the page says, for this service and this receiver. */
  async function run(url: string, apiKey = stack.bootstrapKey) {
    const [block = ''] = blocksOf(await readPage('recipes/receiver-in-ci.md'), 'sh');
    const commands = block
      .replace('https://webhooks.example.com', stack.client.baseUrl)
      .replace('https://build-17.example.com/webhooks', url)
      .replace('whk_…', apiKey)
      .replace('whsec_…', secret);
    const PATH = [join(ROOT, 'node_modules/.bin'), process.env.PATH].join(delimiter);
    const options = { cwd: join(ROOT, 'examples/ci-with-cli'), env: { PATH } };
    return await new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      execFile('bash', ['-c', commands], options, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      });
    });
  }

  const webhooksLeft = async () =>
    (await stack.client.request<{ data: unknown[] }>('GET', '/v1/webhooks')).body.data;

  it('is content with one that verifies', async () => {
    const receive = webhooks({ secret, on: {}, onError: () => {} });
    const url = await listen((request, response) => void receive(request, response));
    const refused = 'refused: a forged request, with 401\n';
    expect(await run(url)).toMatchObject({
      code: 0,
      stdout: `${refused}${types.map((type) => `delivered: ${type}\n`).join('')}`,
    });
    expect(await webhooksLeft()).toEqual([]);
  });

  it('ends with 5 for one that takes what anybody sends, and for one that has another secret', async () => {
    const open = await listen((_request, response) => void response.writeHead(204).end());
    expect(await run(open)).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('a forged request got 204'),
    });
    const receive = webhooks({ secret: newSecret(), on: {}, onError: () => {} });
    const other = await listen((request, response) => void receive(request, response));
    expect(await run(other)).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(/http_4xx[^]*order\.created is exhausted/),
    });
    expect(await webhooksLeft()).toEqual([]);
  });

  it('ends with 4 for a key that is none', async () => {
    const url = await listen((_request, response) => void response.writeHead(401).end());
    expect(await run(url, 'whk_0000000000000000_wrong')).toMatchObject({ code: 4 });
  });
});
