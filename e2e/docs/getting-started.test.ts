import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port';
import { newApiKey, Stack } from '../support/stack';
import { until } from '../support/until';
import { blocksOf, readPage } from './read-page';
import { Terminal } from './terminal';

const API_ON_PAGE = 'http://127.0.0.1:3000';
const RECEIVER_PORT_ON_PAGE = '4000';
const ROOT = join(__dirname, '..', '..');

describe('the page Getting started', () => {
  const apiKey = newApiKey();
  let folder: string;
  let receiverPort: number;
  let stack: Stack;
  let terminal: Terminal;

  beforeAll(async () => {
    receiverPort = await freePort();
    stack = await Stack.start({ environment: { BOOTSTRAP_API_KEY: apiKey, RETRY_SCHEDULE: '1s,1s' } });
    folder = await mkdtemp(join(tmpdir(), 'webhooks-getting-started-'));
    await mkdir(join(folder, '.data'));
    await writeFile(join(folder, '.data', 'api-key'), apiKey);
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    terminal = new Terminal(folder);
  });
  afterAll(async () => {
    await terminal.close();
    await stack.stop();
    await rm(folder, { recursive: true });
  });

  it('leads to verified deliveries, a retry and a rotated secret by what can be pasted from it', async () => {
    const [start, talk, register, receive, publish, fail, look, rotate, restart, publishAgain, cleanUp, ...rest] =
      await commands();
    expect(start).toBe('npm start');
    expect(rest).toEqual([]);

    expect(await terminal.paste(talk)).toContain('"data":[]');
    expect(await terminal.paste(register)).toContain('"secret":"whsec_');
    await terminal.paste(receive);
    await receiverListens();

    await terminal.paste(publish);
    await terminal.waitFor(/attempt 1: 204\n/);
    await terminal.paste(fail);
    await terminal.waitFor(/attempt 1: 500\nreceiver: \S+, attempt 2: 204\n/);
    await terminal.waitFor(/"status":"delivered","attempt_count":2/, look);

    await terminal.paste(rotate);
    await terminal.waitFor(/(attempt 1: 204[^]*){2}/);
    await terminal.paste(restart);
    await receiverListens();
    await terminal.paste(publishAgain);
    await terminal.waitFor(/(attempt 1: 204[^]*){3}/);

    await terminal.paste(cleanUp);
    expect(await terminal.paste('api webhooks')).toContain('"data":[]');
  });

  /** Those of the page, with the ports of this test. */
  async function commands(): Promise<string[]> {
    const page = await readPage('getting-started.md');
    return blocksOf(page, 'sh').map((block) =>
      block.replace(API_ON_PAGE, stack.client.baseUrl).replaceAll(RECEIVER_PORT_ON_PAGE, String(receiverPort)),
    );
  }

  async function receiverListens(): Promise<void> {
    const look = async () => await fetch(`http://127.0.0.1:${receiverPort}`).catch(() => undefined);
    await until(look);
  }
});
