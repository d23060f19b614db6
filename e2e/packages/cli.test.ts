import { once } from 'node:events';
import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { scopes } from '@hookferry/core/domain/account';
import { Receiver } from '../support/receiver';
import { Stack } from '../support/stack';
import { until } from '../support/until';
import { type CliResult, InstalledCli } from './cli/installed-cli';
import { CTRL_C, hasTerminals, type Terminal } from './cli/terminal';

const TYPE = 'keyword.quick_win';
const EXACT = '{"keyword":"red \\u0073hoes", "position":3.0,"volume":10}';

const PUBLIC_URL = 'https://hooks.example.com';
// The package is built, packed and installed: on a busy machine that takes longer than a test may.
const INSTALL_TIMEOUT_MS = 240_000;

let stack: Stack;
let cli: InstalledCli;
let receiver: Receiver;
let environment: Record<string, string>;

beforeAll(async () => {
  stack = await Stack.start({
    environment: { PUBLIC_URL, MAIL_FROM: 'hooks@example.com' },
  });
  receiver = await Receiver.start();
  cli = await InstalledCli.install();
  environment = { HOOKFERRY_URL: stack.client.baseUrl, HOOKFERRY_API_KEY: stack.bootstrapKey };
}, INSTALL_TIMEOUT_MS);
afterAll(async () => {
  await Promise.all([stack?.stop(), cli?.remove(), receiver?.stop()]);
});

/** @throws Error with what it said, unless it ends well. */
async function succeed(args: readonly string[], input?: string): Promise<CliResult> {
  const result = await cli.run(args, environment, input);
  if (result.exitCode === 0) return result;
  throw new Error(`${args.join(' ')} ended with ${result.exitCode}:\n${result.stdout}${result.stderr}`);
}

async function json<T>(args: readonly string[], input?: string): Promise<T> {
  return JSON.parse((await succeed([...args, '--json'], input)).stdout) as T;
}

async function lines<T>(args: readonly string[]): Promise<readonly T[]> {
  const { stdout } = await succeed([...args, '--json']);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

interface Version {
  readonly version: number;
  readonly saved_by: string;
  readonly saved_by_name: string;
}

interface Endpoint {
  readonly id: string;
  readonly status: string;
  readonly secret: string;
}

/** A line of a document: its name, and its value behind at least two spaces. */
function readPair(line: string): readonly [string, string] {
  const [name = '', value = ''] = line.split(/ {2,}/);
  return [name, value];
}

interface MetricsLine {
  readonly group: { readonly webhook_id?: string };
  readonly attempts: number;
}

async function createEndpoint(url = receiver.url): Promise<Endpoint> {
  return await json<Endpoint>(['webhooks', 'create', url, '--events', TYPE]);
}

async function publish(count: number, to: string): Promise<void> {
  const event = { type: TYPE, data: JSON.parse(EXACT) as object, webhook_ids: [to] };
  const events = Array.from({ length: count }, () => event);
  await stack.client.expect(207, 'POST', '/v1/events/batch', { events });
}

/** Resolves once so many deliveries of the endpoint have been delivered. */
async function delivered(count: number, to: string): Promise<void> {
  await until(async () => {
    const deliveries = await stack.client.listDeliveries(to);
    return deliveries.filter(({ status }) => status === 'delivered').length === count ? true : undefined;
  });
}

it('needs no other package of this repository, and brings one program', async () => {
  const scope = join(cli.folder, 'node_modules/@hookferry');
  expect(await readdir(scope)).toEqual(['cli']);
  const folder = join(scope, 'cli');
  expect(await readdir(join(folder, 'templates'))).toEqual(['express', 'fastify', 'flask', 'go']);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && !entry.parentPath.startsWith(join(folder, 'templates')))
    .map(({ name }) => name);
  expect(files.sort()).toEqual(['LICENSE', 'README.md', 'hookferry.js', 'hookferry.js', 'package.json']);
});

describe('as a script runs it', () => {
  it('takes an endpoint through its life', async () => {
    const { id, secret } = await createEndpoint();
    expect(await json(['webhooks', 'secret', id])).toEqual({ secret });
    const updated = await json([
      'webhooks',
      'update',
      id,
      '--uid',
      'crm',
      '--rate-limit',
      '20',
      '--max-concurrency',
      '4',
      '--batch-max-wait-ms',
      '0',
      '--header',
      'X-A: b',
    ]);
    expect(updated).toMatchObject({
      id,
      uid: 'crm',
      rate_limit: 20,
      max_concurrency: 4,
      batch: { max_wait_ms: 0 },
    });
    expect(await json(['webhooks', 'update', id, '--data', '{"rate_limit":null}'])).toMatchObject({
      rate_limit: null,
    });
    expect(await json(['webhooks', 'disable', 'crm'])).toMatchObject({ id, status: 'disabled' });
    expect(await lines(['webhooks', 'list', '--status', 'disabled'])).toMatchObject([{ id }]);
    expect(await json(['webhooks', 'enable', 'crm'])).toMatchObject({ id, status: 'enabled' });
    const rotated = await json<{ secret: string }>([
      'webhooks',
      'rotate-secret',
      id,
      '--overlap',
      '1h',
      '--yes',
    ]);
    expect(rotated.secret).not.toBe(secret);
    expect(await json(['webhooks', 'delete', id, '--yes'])).toEqual({ id, deleted: true });
    expect(await cli.run(['webhooks', 'show', id], environment)).toMatchObject({ exitCode: 1, stdout: '' });
  });

  it('speaks of webhooks in its help, and of the event type that a misspelt one means', async () => {
    for (const words of [['webhooks', 'list'], ['deliveries', 'show'], ['listen'], ['replay'], []])
      expect((await succeed([...words, '--help'])).stdout).not.toMatch(/endpoint/i);
    expect((await succeed(['deliveries', 'show', '--help'])).stdout).toContain('EVENT.WEBHOOK');
    expect(await cli.run(['trigger', 'keyword.quick_wni'], environment)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(`Did you mean ${TYPE}?`),
    });
  });

  it('prints what a new webhook has, its secret, and what to try next', async () => {
    const flags = ['--uid', 'printed', '--rate-limit', '20', '--disabled'];
    const printed = await succeed(['webhooks', 'create', receiver.url, '--events', TYPE, ...flags]);
    const shown = new Map(printed.stdout.trimEnd().split('\n').map(readPair));
    const id = shown.get('id') ?? '';
    const { secret } = await json<Endpoint>(['webhooks', 'secret', id]);
    const { created_at: time } = await json<{ created_at: string }>(['webhooks', 'show', id]);
    // What it has no value of, such as a filter, is left out.
    expect(Object.fromEntries(shown)).toEqual({
      id,
      uid: 'printed',
      url: receiver.url,
      events: TYPE,
      status: 'disabled',
      verification: 'not_required',
      'disabled because': 'client',
      ordering: 'none',
      'rate limit': '20',
      'rate limit unit': 'requests',
      signing: 'hmac',
      format: 'native',
      'while disabled': 'hold',
      created: time,
      updated: time,
      secret,
    });
    expect(printed.stderr).toBe('Try it out: hookferry webhooks test printed\n');
  });

  it('tries a filter, and gives it to an endpoint', async () => {
    const filter = { keyword: { starts_with: 'red' } };
    const given = ['--filter', JSON.stringify(filter)];
    const { id } = await json<Endpoint>(['webhooks', 'create', receiver.url, '--events', TYPE, ...given]);
    expect(await json(['webhooks', 'show', id])).toMatchObject({ filter });
    const file = join(cli.folder, 'filter.json');
    await writeFile(file, JSON.stringify(filter));
    const tried = ['filters', 'try', '--filter', `@${file}`];
    expect(await json([...tried, '--data', EXACT])).toMatchObject({ tried: 1, matched: 1 });
    const { stdout } = await succeed([...tried, '--data', '-'], '{"keyword":"blue"}');
    expect(stdout).toBe(
      'the data: does not pass\n  fails: keyword starts_with "red", there is "blue"\n0 of 1 events pass.\n',
    );
    const wrong = await succeed(['webhooks', 'update', id, '--filter', '{"keywrd":"red"}']);
    expect(wrong.stderr).toMatch(/^Warning: "keywrd" is not in the schema .* did you mean "keyword"\?/m);
    expect(await json(['webhooks', 'update', id, '--filter', 'null'])).toMatchObject({ filter: null });
  });

  it('tries code, gives it to a webhook, and goes back to an earlier version', async () => {
    const { id } = await json<Endpoint>(['webhooks', 'create', receiver.url, '--events', TYPE]);
    const file = join(cli.folder, 'code.js');
    const shout =
      'export default ({ data }) => { console.log("seen"); return { body: data.keyword.toUpperCase() }; };';
    await writeFile(file, shout);
    const on = ['--type', TYPE, '--data', '{"keyword":"red"}'];
    const tried = await succeed(['transform', 'try', '--code', file, ...on]);
    expect(tried).toMatchObject({ stdout: '"RED"\n', stderr: expect.stringContaining('console.log: seen') });
    const broken = await cli.run(
      ['transform', 'try', '--code', '-', ...on],
      environment,
      'export default () => {\n  nothing(); };',
    );
    expect(broken).toMatchObject({
      exitCode: 5,
      stdout: expect.stringMatching(/^Failed at line 2, column \d+: /),
    });
    expect((await succeed(['transform', 'put', id, '--code', file])).stdout).toBe('Version 1.\n');
    await succeed(['transform', 'put', id, '--code', '-'], 'export default () => ({ cancel: true });');
    expect((await succeed(['transform', 'try', '--webhook', id, '--type', TYPE])).stdout).toContain(
      'Cancelled',
    );
    expect(await json(['transform', 'restore', id, '1'])).toMatchObject({ version: 3, code: shout });
    const versions = await lines<Version>(['transform', 'history', id]);
    expect(versions.map(({ version }) => version)).toEqual([3, 2, 1]);
    const { stdout: table } = await succeed(['transform', 'history', id]);
    const [{ saved_by, saved_by_name }] = versions as [Version];
    expect([table.includes(saved_by_name), table.includes(saved_by)]).toEqual([true, false]);
    await succeed(['webhooks', 'delete', id, '--yes']);
  });

  it('asks a receiver once more for its proof, and says when there is nothing to prove', async () => {
    const proving = await Receiver.start();
    const { id } = await stack.client.register(proving.url, ['*'], { verification: 'challenge' });
    await proving.waitFor(1);
    expect(await succeed(['webhooks', 'verify', id])).toMatchObject({
      stdout: `The receiver of ${id} gets a request to verify.\n`,
      stderr: expect.stringContaining(`hookferry webhooks show ${id}`),
    });
    await proving.waitFor(2);
    const { id: unasked } = await stack.client.register(proving.url);
    const refused = await cli.run(['webhooks', 'verify', unasked], environment);
    expect(refused).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringContaining('verified') });
    for (const one of [id, unasked]) await succeed(['webhooks', 'delete', one, '--yes']);
    await proving.stop();
  });

  it('gives an endpoint what its requests carry, from a file, and shows no secret', async () => {
    const auth = { type: 'basic', username: 'hooks', password: 'a-secret-of-the-receiver' };
    const file = join(cli.folder, 'auth.json');
    await writeFile(file, JSON.stringify(auth));
    const { stdout } = await succeed([
      'webhooks',
      'create',
      receiver.url,
      '--events',
      TYPE,
      '--auth',
      `@${file}`,
    ]);
    expect(stdout).toContain('hooks');
    expect(stdout).not.toContain(auth.password);
    const [{ id } = { id: '' }] = await lines<Endpoint>(['webhooks', 'list']);
    expect(await json(['webhooks', 'show', id])).toMatchObject({
      auth: { type: 'basic', username: 'hooks' },
    });
    const bearer = ['--auth', '{"type":"bearer","token":"t"}'];
    expect(await json(['webhooks', 'update', id, ...bearer])).toMatchObject({ auth: { type: 'bearer' } });
    expect(await json(['webhooks', 'update', id, '--auth', 'null'])).toMatchObject({ auth: null });
    await json(['webhooks', 'delete', id, '--yes']);
  });

  it('finds events and deliveries by their data', async () => {
    const { id } = await createEndpoint();
    const data = '{"keyword":"searched","position":9007199254740993.0,"volume":10}';
    const words = ['events', 'publish', TYPE, '--data', data, '--to', id, '--group', 'order 1'];
    const event = await json<{ id: string }>(words);
    expect(await json(['events', 'show', event.id])).toMatchObject({ group: 'order 1' });
    await publish(1, id);
    await stack.client.waitForStatus(id, event.id, 'delivered');
    const exact = '{ "position": 9007199254740993, "keyword": "searched" }';
    expect(await lines(['events', 'list', '--data', exact])).toMatchObject([{ id: event.id }]);
    expect(await lines(['events', 'list', '--data', '{"position":9007199254740992}'])).toEqual([]);
    const file = join(cli.folder, 'searched.json');
    await writeFile(file, `${exact}\n`);
    const found = [{ id: `${event.id}.${id}`, status: 'delivered' }];
    expect(await lines(['deliveries', 'list', '--data', `@${file}`])).toMatchObject(found);
    expect(await lines(['deliveries', 'list', '--data', exact, '--status', 'held'])).toEqual([]);
  });

  it('publishes the bytes that were written, and shows what became of them', async () => {
    const { id } = await createEndpoint();
    const before = receiver.requests.length;
    const event = await json<{ id: string }>(['events', 'publish', TYPE, '--data', '-', '--to', id], EXACT);
    await receiver.waitFor(before + 1);
    expect(receiver.requests[before]?.body.toString()).toBe(`{"type":"${TYPE}","data":${EXACT}}`);

    const delivery = `${event.id}.${id}`;
    await stack.client.waitForStatus(id, event.id, 'delivered');
    expect(await lines(['deliveries', 'list', '--event', event.id])).toMatchObject([
      { id: delivery, status: 'delivered' },
    ]);
    expect(await lines(['deliveries', 'list', '--webhook', id, '--since', '1h'])).toHaveLength(1);
    const uid = `uid-${before}`;
    await stack.client.expect(200, 'PATCH', `/v1/webhooks/${id}`, { uid });
    const named = await Promise.all([
      succeed(['deliveries', 'list', '--webhook', uid]),
      succeed(['deliveries', 'show', `${event.id}.${uid}`]),
    ]);
    for (const { stdout } of named) {
      expect(stdout).toContain(`${event.id}.${uid}`);
      expect(stdout).not.toContain(id);
    }
    expect(await json(['deliveries', 'redeliver', delivery])).toMatchObject({ id: delivery });
    await receiver.waitFor(before + 2);
    await until(async () => {
      const { attempts } = await json<{ attempts: readonly object[] }>(['deliveries', 'show', delivery]);
      return attempts.length === 2 ? true : undefined;
    });
    expect(await json(['events', 'show', event.id])).toMatchObject({
      id: event.id,
      deliveries: { delivered: 1 },
    });
    expect((await succeed(['events', 'show', event.id])).stdout).toMatch(/^deliveries +1: 1 delivered$/m);
    const counted = await lines<MetricsLine>(['metrics', 'deliveries', '--by', 'webhook', '--since', '2h']);
    const own = counted.filter(({ group }) => group.webhook_id === id);
    expect(own.reduce((sum, { attempts }) => sum + attempts, 0)).toBe(2);
    expect((await succeed(['metrics', 'deliveries'])).stdout).toMatch(/^START +ATTEMPTS +DELIVERED +FAILED/);
    expect(await json(['webhooks', 'test', id])).toMatchObject({ event_id: expect.any(String) });
  });

  it('shows what holds a delivery, and what held it before an attempt', async () => {
    const { id } = await createEndpoint();
    await succeed(['webhooks', 'disable', id]);
    const event = await json<{ id: string }>(['events', 'publish', TYPE, '--data', '-', '--to', id], EXACT);
    const { hold, id: delivery } = await stack.client.waitForStatus(id, event.id, 'held');
    await succeed(['webhooks', 'update', id, '--uid', 'held.one']);
    const named = await json(['deliveries', 'show', `${event.id}.held.one`]);
    expect(named).toEqual(await json(['deliveries', 'show', delivery]));
    expect(await json(['deliveries', 'redeliver', `${event.id}.held.one`])).toMatchObject({ id: delivery });
    const wrong = await cli.run(['deliveries', 'show', event.id], environment);
    expect(wrong).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(`explain ${event.id}`) });
    const held = await succeed(['deliveries', 'show', delivery]);
    expect(held.stdout).toMatch(/held because +disabled/);
    expect(held.stdout).toMatch(new RegExp(`held since +${hold?.since}\nheld until +-`));

    await until(async () => Date.now() - Date.parse(hold?.since ?? '') > 1_100 || undefined);
    await succeed(['webhooks', 'enable', id]);
    await stack.client.waitForStatus(id, event.id, 'delivered');
    const { stdout } = await succeed(['deliveries', 'show', delivery]);
    expect(stdout).toMatch(new RegExp(`BEFORE # +HELD BECAUSE +SINCE.*\n1 +disabled +${hold?.since} `));
    expect(stdout).not.toContain('held since');
  });

  it('explains which webhooks did not get an event, and why', async () => {
    const given = ['--filter', '{"position":{"gte":100}}'];
    const [got, filtered] = [
      await createEndpoint(),
      await json<Endpoint>(['webhooks', 'create', receiver.url, '--events', TYPE, '--uid', 'far', ...given]),
    ];
    const event = await json<{ id: string }>(['events', 'publish', TYPE, '--data', '-'], EXACT);
    const unsent = await lines(['explain', event.id, '--unsent', '--all']);
    expect(unsent).toContainEqual(expect.objectContaining({ webhook_id: filtered.id, reason: 'filtered' }));
    expect(unsent).not.toContainEqual(expect.objectContaining({ webhook_id: got.id }));
    const { stdout } = await succeed(['explain', event.id, 'far']);
    expect(stdout).toMatch(/delivery +none\nreason +filtered\nwhy +.*position ≥ 100, found 3\./);
    await succeed(['webhooks', 'delete', 'far', '--yes']);
    expect(await cli.run(['explain', event.id, 'far'], environment)).toMatchObject({ exitCode: 1 });
  });

  it('shows what the receiver last responded, with its body', async () => {
    const failing = await Receiver.start(() => ({ status: 401, body: 'no_match: no signature matches' }));
    try {
      const { id } = await createEndpoint(failing.url);
      const event = await json<{ id: string }>(['events', 'publish', TYPE, '--data', '-', '--to', id], EXACT);
      await until(async () => {
        const [delivery] = await stack.client.listDeliveries(id);
        return delivery?.attempt_count ? delivery : undefined;
      });
      const { stdout } = await succeed(['deliveries', 'show', `${event.id}.${id}`]);
      expect(stdout).toContain('\nResponse to attempt 1 (HTTP 401):\n  no_match: no signature matches\n');
      // Health is counted a moment later.
      const row = new RegExp(`^ID .* LAST ATTEMPT\\n${id} .* enabled +failed: http_4xx 401\\n$`);
      await until(async () => {
        const { stdout: list } = await succeed(['webhooks', 'list', '--failing']);
        return row.test(list) || undefined;
      });
      expect((await succeed(['webhooks', 'list'])).stdout).toMatch(/ enabled +(delivered|none yet)\n/);
      await succeed(['webhooks', 'delete', id, '--yes']);
    } finally {
      await failing.stop();
    }
  });

  it('exports to a file of its own, and overwrites none', async () => {
    const { id } = await createEndpoint();
    await publish(2, id);
    await delivered(2, id);
    const file = join(cli.folder, 'attempts.ndjson');
    await succeed(['export', '--webhook', id, '-o', file]);
    const written = await readFile(file, 'utf8');
    expect(written.trim().split('\n')).toHaveLength(2);
    expect((await succeed(['export', '--webhook', id])).stdout).toBe(written);
    expect(await cli.run(['export', '-o', file], environment)).toMatchObject({ exitCode: 2 });
  });

  it('replays, counting first', async () => {
    const { id } = await createEndpoint();
    await publish(2, id);
    await delivered(2, id);
    const range = ['replay', id, '--since', '1h', '--mode', 'all'];
    // Those of other tests are for other endpoints alone.
    expect(await json([...range, '--dry-run'])).toMatchObject({ dry_run: true, status: 'done' });
    const replay = await json<{ id: string; enqueued: number }>([...range, '--yes']);
    expect(replay).toMatchObject({ dry_run: false, status: 'done' });
    expect(replay.enqueued).toBeGreaterThanOrEqual(2);
    expect(await json(['replays', 'show', replay.id])).toMatchObject({
      status: 'done',
      results: { counted: replay.enqueued },
    });
    expect(await lines(['replays', 'deliveries', replay.id])).toHaveLength(replay.enqueued);
    expect(await lines(['replays', 'list', id])).toHaveLength(2);
  });

  it('makes a link that opens the portal, for another account too', async () => {
    const { stdout } = await succeed(['portal', '--expires-in', '10m']);
    const { origin, hash } = new URL(stdout.trim());
    expect(origin).toBe(PUBLIC_URL);
    const exchange = await fetch(`${stack.client.baseUrl}/v1/portal-sessions/exchange`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code: hash.replace('#code=', '') }),
    });
    expect(await exchange.json()).toMatchObject({ capabilities: ['read', 'webhooks', 'redeliver'] });
    const { id } = await json<{ id: string }>(['accounts', 'create', 'portal-user']);
    const made = await json<{ id: string }>(['portal', '--account', id, '--capabilities', 'read']);
    const act = { 'x-account-id': id };
    const { body } = await stack.client.expect(200, 'GET', '/v1/portal-sessions', undefined, act);
    expect(body).toMatchObject({ data: [{ id: made.id, account_id: id, capabilities: ['read'] }] });
    const refused = await cli.run(['portal', '--capabilities', 'all'], environment);
    expect(refused.exitCode).not.toBe(0);
    expect(refused.stderr).toContain('/capabilities/0');
  });

  it('handles keys, accounts, event types and usage', async () => {
    const { id } = await json<{ id: string }>(['accounts', 'create', 'acme', '--name', 'Acme']);
    expect(await json(['accounts', 'update', id, '--weight', '4'])).toMatchObject({ weight: 4 });
    const mayStore = ['accounts', 'update', id, '--quota-bytes'];
    expect(await json([...mayStore, '5000'])).toMatchObject({ quota_bytes: 5_000 });
    expect(await json([...mayStore, 'none'])).toMatchObject({ quota_bytes: null });
    const kept = ['accounts', 'update', id, '--history-retention'];
    expect(await json([...kept, '30d'])).toMatchObject({ weight: 4, history_retention: '30d' });
    expect(await json([...kept, 'none'])).toMatchObject({ history_retention: null });
    const key = await json<{ id: string; key: string }>([
      'keys',
      'create',
      '--name',
      'ci',
      '--scopes',
      'events:write',
      '--expires',
      '1d',
      '--account',
      'acme',
    ]);
    expect(await lines(['keys', 'list', '--account', 'acme'])).toMatchObject([{ id: key.id }]);
    const narrow = ['keys', 'create', '--name', 'backend', '--scopes', 'accounts:act,events:write'];
    expect(await json([...narrow, '--event-types', 'order.*,invoice.paid'])).toMatchObject({
      scopes: ['accounts:act', 'events:write'],
      event_types: ['order.*', 'invoice.paid'],
    });
    const { stdout: help } = await succeed(['keys', 'create', '--help']);
    for (const scope of scopes) expect(help.replaceAll(/\s+/g, ' ')).toContain(scope);
    const theirs = { ...environment, HOOKFERRY_API_KEY: key.key };
    expect(await cli.run(['webhooks', 'list'], theirs)).toMatchObject({ exitCode: 4 });
    const usage = JSON.parse((await cli.run(['usage', '--json'], theirs)).stdout);
    expect(usage).toMatchObject({ webhooks: 0 });
    const { stdout: table } = await cli.run(['usage'], theirs);
    expect(table).toMatch(usage.history_bytes === null ? /^history +none$/m : /^history +0 B$/m);
    const same = ['keys', 'create', '--name', 'ci', '--scopes', 'events:write', '--account', 'acme'];
    const twin = await json<{ id: string }>(same);
    const ofAcme = ['--account', 'acme', '--yes'];
    const both = await cli.run(['keys', 'revoke', 'ci', ...ofAcme], environment);
    expect(both).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(twin.id) });
    expect(await json(['keys', 'revoke', key.id, ...ofAcme])).toEqual({ id: key.id, revoked: true });
    expect(await json(['keys', 'revoke', 'ci', ...ofAcme])).toEqual({ id: twin.id, revoked: true });
    expect(await cli.run(['keys', 'revoke', 'ci', ...ofAcme], environment)).toMatchObject({ exitCode: 1 });
    expect(await cli.run(['usage'], theirs)).toMatchObject({ exitCode: 4 });
    const type = '{"description":"Paid.","schema":{"type":"object"},"example":{"id":1.0}}';
    expect(await json(['types', 'put', 'invoice.paid', '--data', '-'], type)).toMatchObject({ version: 1 });
    expect(await lines(['types', 'list'])).toContainEqual(expect.objectContaining({ name: 'invoice.paid' }));
    const removal = ['types', 'delete', 'invoice.paid'];
    expect(await cli.run([...removal, '--no-input'], environment)).toMatchObject({ exitCode: 2 });
    expect(await json([...removal, '--yes'])).toEqual({ name: 'invoice.paid', deleted: true });
    expect(await cli.run(['types', 'show', 'invoice.paid'], environment)).toMatchObject({ exitCode: 1 });
    expect(await lines(['dead-letters', 'list'])).toEqual([]);
    expect(await json(['dead-letters', 'retry', '--all', '--yes'])).toEqual({ retried: 0 });
    expect(await json(['accounts', 'delete', id, '--yes'])).toMatchObject({ id, status: 'erasing' });
  });

  it('verifies a request that was saved, and names what is wrong', async () => {
    const { id, secret } = await createEndpoint();
    const before = receiver.requests.length;
    await publish(1, id);
    const request = (await receiver.waitFor(before + 1))[before];
    const head = Object.entries(request?.headers ?? {}).map(([name, value]) => `${name}: ${String(value)}`);
    const file = join(cli.folder, 'request.http');
    await writeFile(file, `${head.join('\r\n')}\r\n\r\n${String(request?.body)}`);
    const verify = ['verify', '--delivery', file, '--secret-stdin'];
    expect(await json(verify, `${secret}\n`)).toEqual({ is_genuine: true });
    const withAt = ['verify', '--delivery', `@${file}`, '--secret-stdin'];
    expect(await json(withAt, secret)).toEqual({ is_genuine: true });
    expect(await cli.run(['verify', '--delivery', '-', '--secret-stdin'], environment, secret)).toMatchObject(
      {
        exitCode: 2,
        stderr: expect.stringContaining('stdin, which is for the secret'),
      },
    );
    await writeFile(file, `${head.join('\r\n')}\r\n\r\n${String(request?.body)} `);
    const changed = await cli.run(verify, environment, secret);
    expect(changed).toMatchObject({ exitCode: 5, stderr: expect.stringContaining('no_match') });
  });

  it('signs by a key pair, rotates it, and verifies by its public half', async () => {
    const create = ['webhooks', 'create', receiver.url, '--events', TYPE, '--signing', 'ed25519'];
    const { id } = await json<Endpoint>(create);
    const { public_key: publicKey } = await json<{ public_key: string }>(['webhooks', 'show', id]);
    const [listed] = await lines<{ public_key: string; status: string }>(['signing-keys', 'list']);
    expect(listed).toMatchObject({ public_key: publicKey, status: 'signing' });
    const before = receiver.requests.length;
    await publish(1, id);
    const request = (await receiver.waitFor(before + 1))[before];
    const head = Object.entries(request?.headers ?? {}).map(([name, value]) => `${name}: ${String(value)}`);
    const file = join(cli.folder, 'by-key.http');
    await writeFile(file, `${head.join('\r\n')}\r\n\r\n${String(request?.body)}`);
    const verify = ['verify', '--delivery', file, '--public-key'];
    expect(await json([...verify, publicKey])).toEqual({ is_genuine: true });
    const [next] = await lines<{ public_key: string; status: string }>(['signing-keys', 'rotate', '--yes']);
    expect(next?.status).toBe('next');
    const other = await cli.run([...verify, String(next?.public_key)], environment);
    expect(other).toMatchObject({ exitCode: 5, stderr: expect.stringContaining('no_match') });
    const both = await cli.run([...verify, publicKey, '--secret-stdin'], environment, 'whsec_');
    expect(both.exitCode).toBe(2);
    const noKey = await cli.run([...verify, 'null'], environment);
    expect(noKey).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('does not begin with whpk_'),
    });
    expect(noKey.stderr).not.toContain('    at ');
  });

  it('examines what is between here and the API', async () => {
    const { findings } = await json<{
      findings: readonly { check: string; state: string; detail: string }[];
    }>(['doctor']);
    expect(findings.map(({ check }) => check)).toEqual([
      'reachable',
      'TLS',
      'ready',
      'clock',
      'version',
      'key',
      'scopes',
      'history',
      'queues',
      'workers',
      'settings',
    ]);
    expect(findings.filter(({ state }) => state !== 'good')).toEqual([]);
    expect(findings.find(({ check }) => check === 'scopes')?.detail).toContain('deliveries:write, admin');
  });
});

describe('exit codes', () => {
  it('1: refused by the API, with what to do and the id of the request', async () => {
    const { exitCode, stderr, stdout } = await cli.run(
      ['webhooks', 'create', 'nowhere', '--events', '*'],
      environment,
    );
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/invalid_request[^]*\/url: [^]*Correct[^]*Request id: req_/);
  });

  it.each([
    ['an unknown flag', ['webhooks', 'list', '--nonsense']],
    ['a number that is none', ['webhooks', 'list', '--limit', 'many']],
    ['data that are no JSON', ['events', 'publish', TYPE, '--data', '{']],
    ['data to look for that are no JSON', ['events', 'list', '--data', '{order:1}']],
    ['data to look for that are no object', ['deliveries', 'list', '--data', '[1]']],
    ['nobody to ask', ['dead-letters', 'drop', '--all', '--no-input']],
    ['an id that is none', ['webhooks', 'show', '']],
  ])('2: %s', async (_what, args) => {
    expect(await cli.run(args, environment)).toMatchObject({ exitCode: 2, stdout: '' });
  });

  it('2: nobody is logged in', async () => {
    const { exitCode, stderr } = await cli.run(['webhooks', 'list'], {
      XDG_CONFIG_HOME: join(cli.folder, 'empty'),
    });
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('hookferry login'),
    });
  });

  it('3 and 5: nothing listens there', async () => {
    const gone = await Receiver.start();
    const nowhere = { ...environment, HOOKFERRY_URL: new URL(gone.url).origin };
    await gone.stop();
    expect(await cli.run(['usage'], nowhere)).toMatchObject({ exitCode: 3, stdout: '' });
    const doctor = await cli.run(['doctor'], nowhere);
    expect(doctor).toMatchObject({ exitCode: 5, stdout: expect.stringContaining('ECONNREFUSED') });
  });

  it('4: the key is not valid', async () => {
    const wrong = { ...environment, HOOKFERRY_API_KEY: 'whk_0000000000000000_wrong' };
    expect(await cli.run(['usage'], wrong)).toMatchObject({
      exitCode: 4,
      stderr: expect.stringContaining('login'),
    });
  });

  it('130: a signal', async () => {
    const { id } = await createEndpoint();
    const tail = cli.start(['deliveries', 'tail', '--webhook', id, '--json'], environment);
    let said = '';
    tail.stderr?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    await until(async () => (said.includes('Watching') ? true : undefined));
    tail.kill('SIGINT');
    expect((await once(tail, 'close'))[0]).toBe(130);
  });
});

it('reads a key from stdin, and refuses a file of keys that others can read', async () => {
  const home = { XDG_CONFIG_HOME: join(cli.folder, 'of-script') };
  const login = ['login', '--profile', 'ci', '--url', stack.client.baseUrl, '--key-stdin'];
  expect(await cli.run(login, home, `${stack.bootstrapKey}\n`)).toMatchObject({ exitCode: 0 });
  const file = join(home.XDG_CONFIG_HOME, 'hookferry/config.json');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(dirname(file))).mode & 0o777).toBe(0o700);
  const listed = await cli.run(['profiles', 'list'], home);
  expect(listed.stdout).toContain('ci');
  expect(listed.stdout + listed.stderr).not.toContain(stack.bootstrapKey);
  await chmod(file, 0o644);
  expect(await cli.run(['usage'], home)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('chmod 600'),
  });
  await chmod(file, 0o600);
  expect(await cli.run(['logout'], home)).toMatchObject({ exitCode: 0 });
  expect(await readFile(file, 'utf8')).not.toContain(stack.bootstrapKey);
});

const canType = hasTerminals();
if (!canType)
  process.stderr.write('SKIPPED: the command line in a terminal. There is no python3 with pty here.\n');

(canType ? describe : describe.skip)('as a person runs it', () => {
  async function ends(terminal: Terminal, exitCode: number): Promise<string> {
    const code = await terminal.end();
    if (code !== exitCode) throw new Error(`It ended with ${code}, not ${exitCode}:\n${terminal.shown}`);
    return terminal.shown;
  }

  it('goes from the login to a delivery, and tidies up', async () => {
    const login = cli.open(['login', '--url', stack.client.baseUrl]);
    await login.waitFor('not shown');
    login.type(`${stack.bootstrapKey}\r`);
    const said = await ends(login, 0);
    expect(said).toContain('Logged in');
    expect(said).not.toContain(stack.bootstrapKey);

    const id = /wh_\w+/.exec(
      await ends(cli.open(['webhooks', 'create', receiver.url, '--events', TYPE]), 0),
    )?.[0];
    if (id === undefined) throw new Error('No id was shown.');
    const tail = cli.open(['deliveries', 'tail', '--webhook', id]);
    await tail.waitFor('Watching');
    const triggered = await ends(cli.open(['trigger', TYPE, '--to', id]), 0);
    await tail.waitFor(/delivered.* 204 /);
    const event = /evt_\w+/.exec(triggered)?.[0];
    await ends(cli.open(['deliveries', 'redeliver', `${event}.${id}`]), 0);
    await tail.waitFor('attempt 2 of');
    tail.type(CTRL_C);
    await ends(tail, 130);

    const kept = cli.open(['webhooks', 'delete', id]);
    await kept.waitFor('[y/N]');
    kept.type('n\r');
    expect(await ends(kept, 2)).toContain('Nothing was done');
    const removal = cli.open(['webhooks', 'delete', id]);
    await removal.waitFor('[y/N]');
    removal.type('y\r');
    expect(await ends(removal, 0)).toContain(`Deleted the webhook ${id}`);
  });

  it('shows how far a replay is, and asks at Ctrl-C whether to cancel it', async () => {
    const { id } = await createEndpoint();
    await publish(60, id);
    await delivered(60, id);
    const command = ['replay', id, '--since', '1h', '--mode', 'all'];
    const whole = cli.open([...command, '--rate', '1000'], environment);
    await whole.waitFor(/Replay \d+ events/);
    whole.type('y\r');
    expect(await ends(whole, 0)).toMatch(/░|█/);

    const broken = cli.open([...command, '--rate', '1', '--yes'], environment);
    await broken.waitFor(/[1-9]\d* of \d+ events/);
    broken.type(CTRL_C);
    await broken.waitFor('[y/N]');
    broken.type('y\r');
    expect(await ends(broken, 130)).toContain('Cancelled');
    expect((await lines<{ status: string }>(['replays', 'list', id]))[0]).toMatchObject({
      status: 'cancelled',
    });
  });

  it('types nothing that it is asked for in secret, also when it is interrupted', async () => {
    const login = cli.open(['login', '--url', stack.client.baseUrl]);
    await login.waitFor('not shown');
    login.type(`secret${CTRL_C}`);
    expect(await ends(login, 130)).not.toContain('secret');
  });
});

describe('contacts', () => {
  it('are added, listed, changed, asked again and removed, and their messages are listed', async () => {
    const { stdout } = await succeed([
      'contacts',
      'add',
      '--email',
      'ops@example.com',
      '--occasions',
      'failing,disabled',
    ]);
    const id = stdout.trim();
    const [contact] = await lines<{ id: string; status: string; occasions: readonly string[] }>([
      'contacts',
      'list',
    ]);
    expect(contact).toMatchObject({ id, status: 'unconfirmed', occasions: ['failing', 'disabled'] });
    await succeed(['contacts', 'update', id, '--occasions', 'all', '--digest', 'daily']);
    expect((await lines(['contacts', 'list']))[0]).toMatchObject({ occasions: null, digest: 'daily' });
    expect((await succeed(['contacts', 'ask-again', id])).stdout).toBe(
      'ops@example.com gets another link.\n',
    );
    const [message] = await until(async () => {
      const found = await lines(['notifications', 'list', '--contact', id, '--topic', 'confirmation']);
      return found.length > 0 ? found : undefined;
    });
    expect(message).toMatchObject({ contact_id: id, contact_type: 'email', topic: 'confirmation' });
    expect(await lines(['notifications', 'list', '--status', 'cancelled'])).toEqual([]);
    await succeed(['contacts', 'remove', id, '--yes']);
    expect(await lines(['contacts', 'list'])).toEqual([]);
  });

  it.each([
    ['nobody', ['contacts', 'add']],
    ['two at once', ['contacts', 'add', '--email', 'a@example.com', '--url', 'https://example.com']],
  ])('are not added for %s', async (_who, args) => {
    const { exitCode, stderr } = await cli.run(args, environment);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('--email, --slack')]);
  });
});
