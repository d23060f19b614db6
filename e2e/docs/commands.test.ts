import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import { type ContactId, linkTokenOf } from '@hookferry/core/domain/contact';
import { ContactStore } from '@hookferry/core/notifications/redis-contact-store';
import { TEST_ENCRYPTION_KEY, testSealer } from '@hookferry/core/testing/test-sealer';
import { Queue } from 'bullmq';
import type { ApiClient } from '../support/api-client';
import { type ReceivedRequest, Receiver } from '../support/receiver';
import { addTypes } from '../support/samples';
import { until } from '../support/until';
import { NOT_PASTED, PASTED_BY } from './command-list';
import { Reader } from './reader';

const ROOT = join(__dirname, '../..');
const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((page) => page !== '' && blocksIn(page).length > 0);

/** Commands that run until somebody stops them. */
const ENDLESS = /^(hookferry listen|hookferry deliveries tail|curl -N) /;

/** So that contacts may be made; nobody takes the mail. */
const SETTINGS = {
  PUBLIC_URL: 'https://hooks.example.com',
  SMTP_URL: 'smtp://127.0.0.1:1',
  MAIL_FROM: 'hooks@example.com',
};

/** A response of 4xx or 5xx is a failure of the command that asked. */
const PREPARE = `
export HOME="$PWD" PATH="$PWD:$PWD/node_modules/.bin:$PATH"
curl() { [[ " $* " == *" -sSf "* ]] || set -- --fail-with-body "$@"; command curl "$@"; }
api() { curl -sS "$HOOKFERRY_URL/v1/$1" -H "Authorization: Bearer $HOOKFERRY_API_KEY" -H 'Content-Type: application/json' "\${@:2}"; }
set -E -o pipefail
trap 'echo "It ended with $? : $BASH_COMMAND"' ERR`;

describe('commands on the pages', () => {
  let reader: Reader;
  let receiver: Receiver;
  let client: ApiClient;
  let echo: Receiver;
  let apiKey: string;
  let contactId: string;
  let folder: string;

  beforeAll(async () => {
    reader = await Reader.start(SETTINGS);
    ({ apiKey, folder, client } = reader);
    await addTypes(client);
    receiver = await Receiver.start((request) => {
      if (request.path === '/crm') writeFileSync(join(folder, 'request.http'), rawRequest(request));
      return 204;
    });
    echo = await Receiver.start(() => ({ status: 200, body: '127.0.0.1' }));
    await reader.installRedisCli();
    await writeFile(join(folder, 'order.json'), '{"id":"ord_4711","total":99.5}');
    await reader.terminal.paste(PREPARE);
    const contact = { type: 'email', address: 'night@example.com' };
    const { body } = await client.expect<{ id: string }>(201, 'POST', '/v1/contacts', contact);
    contactId = body.id;
    await confirm(contactId);
  });
  afterAll(async () => {
    await Promise.all([reader.stop(), receiver.stop(), echo.stop()]);
  });

  it.each(pages.filter((page) => !(page in PASTED_BY)))('succeed: all of %s', async (page) => {
    const places = await arrange(page);
    for (const block of blocksIn(page)) {
      const commands = withoutNotPasted(block).map(endSoon).join('\n');
      const adapted = Object.entries(places).reduce(
        (text, [place, value]) => text.replaceAll(place, value),
        reader.adapt(commands),
      );
      expect(await reader.terminal.paste(`{ ${adapted}\n:\n} 2>&1`)).not.toContain('It ended with ');
    }
  });

  /** As its owner does, by the link that nobody else gets. */
  async function confirm(id: string): Promise<void> {
    const store = new ContactStore(reader.stack.redis.client, testSealer);
    const made = await store.find(DEFAULT_ACCOUNT, id as ContactId);
    if (made === undefined) throw new Error(`There is no contact ${id}.`);
    const link = `${client.baseUrl}/contacts/${linkTokenOf(made, 'confirm')}/confirm`;
    expect((await fetch(link, { method: 'POST' })).status).toBe(200);
  }

  /** Makes what the pages take for given. @returns names and addresses that stand on pages, and those here. */
  async function arrange(page: string): Promise<Readonly<Record<string, string>>> {
    const { redis } = reader.stack;
    const account = `acme-${pages.indexOf(page)}`;
    const makesIt = readFileSync(join(ROOT, page), 'utf8').includes('{"id":"acme"');
    if (!makesIt) await client.expect(201, 'POST', '/v1/accounts', { id: account });
    await client.request('DELETE', '/v1/event-types/invoice.paid');
    const webhook = await client.register(receiver.url);
    const unverified = await client.register(receiver.url, ['order.*'], { verification: 'challenge' });
    const event = await client.publish('order.created', { id: 'ord_1' });
    const { id: delivery } = await client.waitForStatus(webhook.id, event, 'delivered');
    const key = await client.expect<{ id: string }>(201, 'POST', '/v1/api-keys', {
      name: 'ci',
      scopes: ['admin'],
    });
    await reader.terminal.paste(`
export REDIS_URL=${redis.url} REDIS_ADMIN_URL=${redis.url} SECRETS_ENCRYPTION_KEY=${TEST_ENCRYPTION_KEY}
export HOOKFERRY_URL=${client.baseUrl} HOOKFERRY_API_KEY=${apiKey}
export WEBHOOK_ID=${webhook.id} EVENT_ID=${event} DELIVERY_ID=${delivery} BUILD_ID=${key.body.id} CONTACT_ID=${contactId} URL=${client.baseUrl}
rm -rf attempts.ndjson more.ndjson docker && mkdir docker`);
    return {
      'http://localhost:4000/hook': receiver.url,
      'https://example.com/hook': receiver.url.replace('/hook', '/crm'),
      '--uid crm': '--uid crm --signing both',
      'hookferry webhooks secret crm':
        'until [ -s request.http ]; do sleep 0.1; done; hookferry webhooks secret crm',
      acme: account,
      globex: account.replace('acme', 'globex'),
      '$WEBHOOK_ID/verify': `${unverified.id}/verify`,
      '$(cat docker/secrets/bootstrap-api-key)': apiKey,
      'http://localhost:3000': client.baseUrl,
      'https://hooks.example.com': client.baseUrl,
      'https://webhooks.example.com': client.baseUrl,
      'https://echo.example.com/': echo.url,
      '203.0.113.0/28': '127.0.0.0/8',
      'node apps/admin/dist/main.js': 'hookferry-admin',
      'vault read -field=key secret/webhooks': 'cat .data/api-key',
      'events-dead-letters.1767225600000-17': await makeDeadLetter(),
      '51wne3srxh2b4xcn': key.body.id,
      'whk_…': apiKey,
    };
  }

  async function makeDeadLetter(): Promise<string> {
    const queue = new Queue('events', { connection: { url: reader.stack.redis.url } });
    await queue.add('order.created', { type: 'order.created', data: {} });
    await queue.close();
    return await until(async () => {
      const { body } = await client.request<{ data: { id: string }[] }>('GET', '/v1/dead-letters');
      return body.data[0]?.id;
    });
  }
});

describe('commands that no test pastes', () => {
  const all = pages.flatMap((page) => blocksIn(page).flatMap(commandsOf));

  it.each(NOT_PASTED)('still stand on a page: $command ($why)', ({ command }) => {
    expect(all.filter((line) => command.test(line))).not.toEqual([]);
  });

  it.each(Object.entries(PASTED_BY))('%s has %s', (page, test) => {
    const name = page.replace(/^.*\/|\.md$/g, '');
    expect(readFileSync(join(ROOT, test), 'utf8')).toContain(name);
  });

  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const npm = all
    .map((line) => line.replace(/ +#.*$/, ''))
    .filter((line) => /^npm (run|test|start)\b/.test(line));

  it('name scripts that exist', () => {
    const missing = npm.filter((line) => {
      const [, script = ''] = /^npm (?:run )?(\S+)/.exec(line) ?? [];
      return !(script in scripts);
    });
    expect(missing).toEqual([]);
  });

  it.each(['bench', 'faults'])('give npm run %s flags and names that its --help has', (script) => {
    const help = execFileSync('npm', ['run', '--silent', script, '--', '--help'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    const lines = npm.filter((line) => line.startsWith(`npm run ${script} -- `) && !line.endsWith('--help'));
    expect(lines).not.toEqual([]);
    const unknown = lines.filter((line) =>
      (line.match(/ --[a-z-]+/g) ?? []).some((flag) => !help.includes(flag.trim())),
    );
    expect(unknown).toEqual([]);
  });

  it('name tests that exist', () => {
    const files = execFileSync('git', ['ls-files', '*.test.ts'], { cwd: ROOT, encoding: 'utf8' });
    const named = npm.flatMap((line) => /^npm run test:one -- (.*)$/.exec(line)?.[1]?.split(' ') ?? []);
    expect(named).not.toEqual([]);
    expect(named.filter((name) => !files.includes(name))).toEqual([]);
  });
});

/** All blocks of commands of a page, those within lists too. */
function blocksIn(page: string): string[] {
  if (!existsSync(join(ROOT, page))) return [];
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...text.matchAll(/^( *)```(?:sh|bash)\n([^]*?)\n *```$/gm)].map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

/** Lines that begin a command, with those that go on from them. */
function commandsOf(block: string): string[] {
  return block.split(/(?<!\\)\n/);
}

function withoutNotPasted(block: string): string[] {
  return commandsOf(block).filter((line) => !NOT_PASTED.some(({ command }) => command.test(line)));
}

/** A command that would never end, stopped once it has shown something. */
function endSoon(command: string): string {
  if (!ENDLESS.test(command)) return command;
  const plain = command.replace(/ +#.*$/, '');
  return `( trap - ERR; ${plain} ) > .data/shown 2>&1 & ENDLESS=$!
until [ -s .data/shown ]; do sleep 0.1; done; kill $ENDLESS; cat .data/shown`;
}

function rawRequest({ headers, body }: ReceivedRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}\n`);
  return `${lines.join('')}\n${body.toString()}`;
}
