import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import type { ApiClient } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { addTypes } from '../support/samples';
import { until } from '../support/until';
import { NO_PROGRAMS, PROGRAMS } from './command-list';
import { blocksOf, readPage } from './read-page';
import { Reader } from './reader';

const ROOT = join(__dirname, '../..');
const ORDER = { id: 'ord_1', total: 99.5 };
const CLIENT = `import { createClient } from '@hookferry/client';
const client = createClient({ baseUrl: process.env.HOOKFERRY_URL, apiKey: process.env.HOOKFERRY_API_KEY });
`;

it('has a test for every program on a page', async () => {
  const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
  const found = pages.flatMap((page) =>
    languagesOf(readFileSync(join(ROOT, page), 'utf8')).map((language) => `${page} ${language}`),
  );
  expect([...new Set(found)].sort()).toEqual(Object.keys(PROGRAMS).sort());
  for (const [program, test] of Object.entries(PROGRAMS)) {
    const name = program.replace(/^packages\/|^clients\/|\/README\.md.*$|^.*\/|\.md .*$/g, '');
    expect(await readFile(join(ROOT, test), 'utf8')).toMatch(new RegExp(name, 'i'));
  }
});

describe('a program on a page', () => {
  let reader: Reader;
  let client: ApiClient;
  let receiver: Receiver;
  let folder: string;

  beforeAll(async () => {
    reader = await Reader.start();
    client = reader.client;
    await addTypes(client);
    receiver = await Receiver.start();
    folder = reader.folder;
    await reader.terminal.paste(
      `export HOOKFERRY_URL=${client.baseUrl} HOOKFERRY_API_KEY=$(cat .data/api-key)`,
    );
  });
  afterAll(async () => {
    await Promise.all([reader.stop(), receiver.stop()]);
  });

  const url = () => `http://127.0.0.1:${reader.receiverPort}/`;

  /** Runs the program in the background, and waits until it has printed this, or until its server responds. */
  async function run(program: string, shows: RegExp | 'listens'): Promise<void> {
    await writeFile(join(folder, 'program.mjs'), program);
    await reader.terminal.paste('node program.mjs & PROGRAM=$!');
    if (shows === 'listens') await until(async () => await fetch(url()).catch(() => undefined));
    else await reader.terminal.waitFor(shows);
  }
  afterEach(() => reader.terminal.paste('kill $PROGRAM; wait $PROGRAM'));

  it('takes a batch of events (batches)', async () => {
    const [program = ''] = blocksOf(await readPage('batches.md'), 'js');
    await run(`${program.replace('4000', String(reader.receiverPort))}\nconsole.log('runs');`, /runs/);
    const data = [{ id: 'evt_1', type: 'order.created', data: ORDER }];
    const post = () => fetch(url(), { method: 'POST', body: JSON.stringify({ data }) });
    const response = await until(async () => await post().catch(() => undefined));
    expect(await response.json()).toEqual({ failed: [] });
  });

  it('responds to the challenge (endpoint-verification)', async () => {
    const [program = ''] = blocksOf(await readPage('endpoint-verification.md'), 'js');
    const { id, secret } = await client.register(`${url()}webhooks`, ['*'], { verification: 'challenge' });
    const head = `import express from 'express'; import { Webhook } from 'standardwebhooks';
const app = express(); const secret = '${secret}';`;
    await run(`${head}\n${program}\napp.listen(${reader.receiverPort});`, 'listens');
    const read = () => client.request<{ verification: { status: string } }>('GET', `/v1/webhooks/${id}`);
    const status = await until(async () => {
      const { verification } = (await read()).body;
      if (verification.status === 'verified') return verification.status;
      await client.request('POST', `/v1/webhooks/${id}/verify`);
      return undefined;
    });
    expect(status).toBe('verified');
  });

  it('publishes (publishing)', async () => {
    const [program = ''] = blocksOf(await readPage('publishing.md'), 'ts');
    await run(`${reader.adapt(program)}\nconsole.log('published it');`, /published it/);
    const event = await until(async () => {
      const response = await client.request('GET', '/v1/events/order-4712');
      return response.status === 200 ? response.body : undefined;
    });
    expect(event).toMatchObject({ type: 'order.created' });
  });

  it.each(['ts', 'js'])('follows what happens (stream, %s)', async (language) => {
    const [program = ''] = blocksOf(await readPage('stream.md'), language);
    const browser = `const token = process.env.HOOKFERRY_API_KEY; const show = (...all) => console.log(...all);
const fetch = (path, options) => globalThis.fetch(process.env.HOOKFERRY_URL + path, options);`;
    await client.register(receiver.url);
    await writeFile(join(folder, 'program.mjs'), `${language === 'ts' ? CLIENT : browser}\n${program}`);
    await reader.terminal.paste(`node program.mjs > shown-${language} & PROGRAM=$!`);
    const shown = await until(async () => {
      await client.publish('order.created', ORDER);
      const text = await readFile(join(folder, `shown-${language}`), 'utf8');
      return text.includes('evt_') ? text : undefined;
    });
    expect(shown).toMatch(/accepted|attempted|delivered|created/);
  });

  it('reads counts over time (finding)', async () => {
    const [program = ''] = blocksOf(await readPage('finding.md'), 'ts');
    await expect(
      run(`${CLIENT}${program}\nconsole.log('counts:', data.length);`, /counts: \d+/),
    ).resolves.toBeUndefined();
  });

  it('makes the body of a request (transformations)', async () => {
    const [code = ''] = blocksOf(await readPage('transformations.md'), 'js');
    expect(await transform(code, 'order.created', ORDER)).toMatchObject({
      body: '{"text":"order.created: ord_1"}',
    });
  });

  it('makes the same request as the one for Svix beside it (migrating)', async () => {
    const [theirs = '', ours = ''] = blocksOf(await readPage('migrating.md'), 'js');
    const event = { webhook: { payload: { amount: 9 }, eventType: 'order.created' } };
    const made = runInNewContext(`${theirs}; handler(webhook)`, event) as {
      payload: unknown;
      headers: unknown;
    };
    expect(await transform(ours, 'order.created', { amount: 9 })).toMatchObject({
      body: JSON.stringify(made.payload),
      headers: made.headers,
    });
    expect(await transform(ours, 'order.created', { amount: 0 })).toMatchObject({ outcome: 'cancelled' });
  });

  async function transform(code: string, type: string, data: unknown): Promise<unknown> {
    const wish = { code, event: { type, data } };
    return (await client.expect(200, 'POST', '/v1/transformations/try', wish)).body;
  }
});

/** Of all blocks of a page that are programs. */
function languagesOf(page: string): string[] {
  let isOpen = false;
  return [...page.matchAll(/^ *```(\w*)/gm)].flatMap(([, language = '']) => {
    isOpen = !isOpen;
    return isOpen && !NO_PROGRAMS.includes(language) ? [language] : [];
  });
}
