import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { ApiClient } from '../support/api-client';
import { readDatabase } from '../support/read-database';
import { runCli } from '../support/run-cli';
import { BRIEF } from '../support/samples';
import { Stack } from '../support/stack';

interface Issued {
  readonly id: string;
  readonly key: string;
}

let stack: Stack;
/** The addresses of two API processes beside each other. */
let addresses: readonly [string, string];
beforeAll(async () => {
  stack = await Stack.start();
  addresses = [stack.client.baseUrl, (await stack.startApi()).client.baseUrl];
});
afterAll(() => stack.stop());

function listWith(key: string, address = stack.client.baseUrl) {
  return new ApiClient(address, key).request<{ data: unknown[] }>('GET', '/v1/webhooks');
}

async function issue(scopes: readonly string[]): Promise<Issued> {
  // With a key, so that the response is kept as well.
  const headers = { 'idempotency-key': randomUUID() };
  const body = { name: 'ci', scopes };
  return (await stack.client.expect<Issued>(201, 'POST', '/v1/api-keys', body, headers)).body;
}

it('a key that is revoked at one API process is refused by the next request at the other', async () => {
  const [first, second] = addresses;
  for (const [revokedAt, usedAt] of [
    [first, second],
    [second, first],
  ] as const) {
    const { id, key } = await issue(['webhooks:read', 'admin']);
    expect((await listWith(key, usedAt)).status).toBe(200);
    const elsewhere = new ApiClient(revokedAt, key);
    await elsewhere.expect(204, 'DELETE', `/v1/api-keys/${id}`);
    expect((await listWith(key, usedAt)).status).toBe(401);
  }
});

it('a key can be replaced without a request being refused', async () => {
  const old = await issue(['webhooks:read']);
  const successor = await issue(['webhooks:read']);
  expect([(await listWith(old.key)).status, (await listWith(successor.key)).status]).toEqual([200, 200]);
  await stack.client.expect(204, 'DELETE', `/v1/api-keys/${old.id}`);
  expect([(await listWith(old.key)).status, (await listWith(successor.key)).status]).toEqual([401, 200]);
});

it('the command line issues a key that the API knows, and revokes it again', async () => {
  const created = await runCli(
    stack.redis.url,
    'keys',
    'create',
    '--name',
    'ci',
    '--scopes',
    'webhooks:read',
  );
  expect(created.exitCode).toBe(0);
  const key = created.stdout.trimEnd();
  expect((await listWith(key)).status).toBe(200);
  expect((await new ApiClient(stack.client.baseUrl, key).request('GET', '/v1/api-keys')).status).toBe(403);

  const listed = await runCli(stack.redis.url, 'keys', 'list', '--json');
  const known = JSON.parse(listed.stdout) as { id: string; name: string }[];
  expect(known).toContainEqual(expect.objectContaining({ id: key.slice(4, 20), name: 'ci' }));

  expect((await runCli(stack.redis.url, 'keys', 'revoke', key.slice(4, 20))).exitCode).toBe(0);
  expect((await listWith(key)).status).toBe(401);
  expect((await runCli(stack.redis.url, 'keys', 'revoke', key.slice(4, 20))).exitCode).toBe(1);
});

it('an account that has no key left gets another one by the command line, and has all that it had', async () => {
  const cli = async (...args: string[]) => await runCli(stack.redis.url, ...args, '--account', account);
  const account = 'locked-out';
  expect((await runCli(stack.redis.url, 'accounts', 'create', '--id', account)).exitCode).toBe(0);
  const create = async () =>
    (
      await cli('keys', 'create', '--name', 'only', '--scopes', 'admin,webhooks:read,webhooks:write')
    ).stdout.trim();
  const only = await create();
  const webhook = await new ApiClient(stack.client.baseUrl, only).register('https://receiver.example.com/');
  const refused = await cli('keys', 'revoke', only.slice(4, 20));
  expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('add --last') });
  expect((await listWith(only)).status).toBe(200);
  expect((await cli('keys', 'revoke', only.slice(4, 20), '--last')).exitCode).toBe(0);
  expect((await listWith(only)).status).toBe(401);
  const { body } = await listWith(await create());
  expect(body).toMatchObject({ data: [{ id: webhook.id }] });
});

it('an account of its own sees what is done for it, and nothing else', async () => {
  expect((await runCli(stack.redis.url, 'accounts', 'create', '--id', 'acme')).exitCode).toBe(0);
  const scopes = 'webhooks:read,webhooks:write,events:write,deliveries:read,admin';
  const command = ['keys', 'create', '--account', 'acme', '--name', 'acme', '--scopes', scopes];
  const { stdout: key } = await runCli(stack.redis.url, ...command);
  const acme = new ApiClient(stack.client.baseUrl, key.trimEnd());
  const mine = await stack.client.register('http://127.0.0.1:4000/hook', ['keyword.*']);
  const theirs = await acme.register('http://127.0.0.1:4000/hook', ['keyword.*']);
  expect((await listWith(key.trimEnd())).body.data).toEqual([expect.objectContaining({ id: theirs.id })]);
  expect((await acme.request('GET', `/v1/webhooks/${mine.id}`)).status).toBe(404);
  expect((await acme.request('GET', '/v1/accounts')).status).toBe(403);
});

it('the expression that the docs give for secret scanners finds an issued key', async () => {
  const docs = await readFile(join(__dirname, '..', '..', 'docs', 'security.md'), 'utf8');
  const [, expression = ''] = /^regex = '''(.+)'''$/m.exec(docs) ?? [];
  const { key } = await issue(['webhooks:read']);
  expect(new RegExp(expression).exec(`HOOKFERRY_API_KEY="${key}" # secret`)?.[0]).toBe(key);
});

it('nothing in Redis or in a log would let anybody use a key', async () => {
  const issued = await issue(['webhooks:read', 'events:write']);
  const client = new ApiClient(stack.client.baseUrl, issued.key);
  await listWith(issued.key);
  await client.publish(BRIEF.type, BRIEF.data);
  const { stdout } = await runCli(stack.redis.url, 'keys', 'create', '--name', 'ci', '--scopes', 'admin');
  await listWith(buildApiKey().key);

  const database = await readDatabase(stack.redis.client);
  const written = [stack.api, ...stack.workers].map(({ output }) => output).join('\n');
  for (const key of [issued.key, stdout.trimEnd()]) {
    expect(database).toContain(key.slice(4, 20));
    expect(database).not.toContain(key.slice(21));
    expect(written).not.toContain(key.slice(21));
  }
});
