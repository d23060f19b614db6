import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { signBody } from '@hookferry/core/deliver/prepare-request';
import { DELIVERIES_QUEUE } from '@hookferry/core/domain/queues';
import { clientCertificate, clientKey } from '@hookferry/core/testing/certificates';
import { createClosables } from '@hookferry/core/testing/closables';
import { Queue } from 'bullmq';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import type { Webhook } from '../support/api-client';
import { readDatabase } from '../support/read-database';
import { type ReceivedRequest, Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack, type StackOptions } from '../support/stack';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

async function startReceiver(status = 204): Promise<Receiver> {
  const receiver = await Receiver.start(() => status);
  willClose({ close: () => receiver.stop() });
  return receiver;
}

async function startStack(options: StackOptions = {}): Promise<Stack> {
  const stack = await Stack.start(options);
  willClose({ close: () => stack.stop() });
  return stack;
}

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;
const publish = ({ client }: Stack) => client.publish(QUICK_WIN.type, QUICK_WIN.data);

it('leaves no secret and no key readable in Redis or in a log, whatever happens to a webhook', async () => {
  const receiver = await startReceiver(410);
  const { client, redis, api, workers } = await startStack();
  const [first, second] = [newSecret(), newSecret()];
  const input = {
    url: receiver.url,
    events: ['*'],
    secret: first,
    headers: { authorization: 'Bearer receiver-token' },
    tls: { ca: clientCertificate, client_certificate: clientCertificate, client_key: clientKey },
  };
  // With a key, so that the responses are kept as well.
  const once = { 'idempotency-key': 'once' };
  const { body: webhook } = await client.expect<Webhook>(201, 'POST', '/v1/webhooks', input, once);
  await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  // The worker writes the record as well: it disables a webhook whose receiver responds with 410.
  await workers[0]?.waitForLine(({ message }) => message === 'webhook.disabled');
  const rotation = `/v1/webhooks/${webhook.id}/rotate-secret`;
  await client.expect(201, 'POST', rotation, { secret: second }, once);
  const { body: made } = await client.expect<{ secret: string }>(
    201,
    'POST',
    rotation,
    {},
    { 'idempotency-key': 'made' },
  );
  await client.expect(200, 'PATCH', `/v1/webhooks/${webhook.id}`, { description: 'new' });

  const dumped = await readDatabase(redis.client);
  expect(dumped).toContain(webhook.id);
  const secrets = [first, second, made.secret].map((secret) => secret.slice('whsec_'.length));
  const hidden = [...secrets, 'receiver-token'];
  const pemLines = [clientKey, clientCertificate].flatMap((pem) => pem.trim().split('\n'));
  for (const place of [dumped, api.output, ...workers.map(({ output }) => output)]) {
    expect([...hidden, ...pemLines].filter((text) => place.includes(text))).toEqual([]);
  }
});

it('signs with the secret before as well while a rotation lasts, and then with the new one alone', async () => {
  const receiver = await startReceiver();
  const stack = await startStack();
  const { id, secret: former } = await stack.client.register(receiver.url);
  const rotate = async (overlap_seconds: number) => {
    const path = `/v1/webhooks/${id}/rotate-secret`;
    return (await stack.client.expect<{ secret: string }>(201, 'POST', path, { overlap_seconds })).body
      .secret;
  };

  const fresh = await rotate(3_600);
  await publish(stack);
  const [during] = (await receiver.waitFor(1)).slice(-1);
  expect([fresh, former].map((secret) => verifies(secret, during))).toEqual([true, true]);
  expect(during?.headers['x-service-signature']).toBe(signBody(fresh, String(during?.body)));

  const last = await rotate(0);
  await publish(stack);
  const [after] = (await receiver.waitFor(2)).slice(-1);
  expect([last, fresh, former].map((secret) => verifies(secret, after))).toEqual([true, false, false]);
});

it('keeps a delivery, and burns no attempt of it, while a worker lacks the key', async () => {
  const receiver = await startReceiver();
  const stack = await startStack({ workers: 0 });
  const webhook = await stack.client.register(receiver.url);
  const eventId = await publish(stack);
  const unknownEndpoint = await stack.startWorker({
    SECRETS_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  });
  const line = await unknownEndpoint.waitForLine(({ message }) => message === 'job.interrupted');
  expect(line).toMatchObject({
    level: 'warn',
    queue: 'deliveries',
    reason: 'secret_unreadable',
    error: expect.stringMatching(/SECRETS_ENCRYPTION_KEY/),
  });
  await unknownEndpoint.end();
  expect(receiver.requests).toEqual([]);
  expect(await stack.client.listDeliveries(webhook.id)).toMatchObject([
    { status: 'pending', attempt_count: 0 },
  ]);

  // It waits for a minute; the test does not.
  const queue = willClose(new Queue(DELIVERIES_QUEUE, { connection: stack.redis.client }));
  await queue.promoteJobs();
  await stack.startWorker();
  expect(await stack.client.waitForStatus(webhook.id, eventId, 'delivered')).toMatchObject({
    attempt_count: 1,
  });
});

it.each(['api', 'worker'])('does not start the %s without a key, and says why', (app) => {
  const script = join(__dirname, `../../apps/${app}/dist/main.js`);
  const env = { PATH: process.env.PATH };
  const { status, stderr } = spawnSync(process.execPath, [script], {
    env,
    encoding: 'utf8',
    timeout: 30_000,
  });
  expect(status).toBe(1);
  expect(stderr.trim().split('\n')).toEqual([
    'The configuration is not valid:',
    expect.stringMatching(/^ {2}SECRETS_ENCRYPTION_KEY: must be set; .*openssl rand -base64 32/),
  ]);
});

it.each(['api', 'worker'])('says so as a line of the log of the %s where the log is JSON', (app) => {
  const script = join(__dirname, `../../apps/${app}/dist/main.js`);
  const env = { PATH: process.env.PATH, LOG_FORMAT: 'json' };
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], {
    env,
    encoding: 'utf8',
    timeout: 30_000,
  });
  expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
  expect(JSON.parse(stdout)).toMatchObject({
    level: 'error',
    service: app,
    message: 'process.not_started',
    detail: expect.stringContaining('SECRETS_ENCRYPTION_KEY: must be set'),
  });
});

function verifies(secret: string, request: ReceivedRequest | undefined): boolean {
  try {
    new StandardWebhook(secret).verify(
      request?.body.toString() ?? '',
      request?.headers as Record<string, string>,
    );
    return true;
  } catch {
    return false;
  }
}

describe('a portal session without the capability "secrets"', () => {
  const TOKEN = 'Bearer only-for-the-receiver';

  async function openSession({ client }: Stack, capabilities: readonly string[]) {
    const sessions = '/v1/portal-sessions';
    const { body: link } = await client.expect<{ url: string }>(201, 'POST', sessions, { capabilities });
    const code = new URL(link.url).hash.split('=')[1];
    const exchange = `${sessions}/exchange`;
    const { body } = await client.expect<{ token: string }>(
      200,
      'POST',
      exchange,
      { code },
      { authorization: '' },
    );
    return { authorization: `Bearer ${body.token}` };
  }

  async function setUp() {
    const [stack, receiver, attacker] = [await startStack(), await startReceiver(), await startReceiver()];
    const input = { url: receiver.url, events: ['*'], headers: { authorization: TOKEN, 'x-team': 'blue' } };
    const { body } = await stack.client.expect<Webhook>(201, 'POST', '/v1/webhooks', input);
    return { stack, client: stack.client, receiver, attacker, path: `/v1/webhooks/${body.id}` };
  }

  it('can not bring the values of headers to an address of its own', async () => {
    const { stack, client, receiver, attacker, path } = await setUp();
    const session = await openSession(stack, ['webhooks']);
    const refused = await client.request<{ code: string; errors: { pointer: string }[] }>(
      'PATCH',
      path,
      { url: attacker.url },
      session,
    );
    await client.expect(202, 'POST', `${path}/test`, undefined, session);
    await Promise.race([receiver.waitFor(1), attacker.waitFor(1)]);
    expect(attacker.requests.map(({ headers }) => headers.authorization)).toEqual([]);
    expect(receiver.requests[0]?.headers.authorization).toBe(TOKEN);
    expect(refused).toMatchObject({ status: 422, body: { code: 'invalid_request' } });
    expect(refused.body.errors.map(({ pointer }) => pointer)).toEqual([
      '/headers/authorization',
      '/headers/x-team',
    ]);
  });

  it('may move the webhook with headers that it gives anew', async () => {
    const { stack, client, attacker: other, path } = await setUp();
    const session = await openSession(stack, ['webhooks']);
    const headers = { authorization: 'Bearer mine', 'x-team': null };
    await client.expect(200, 'PATCH', path, { url: other.url, headers }, session);
    await client.expect(202, 'POST', `${path}/test`, undefined, session);
    const [request] = await other.waitFor(1);
    expect(request?.headers.authorization).toBe('Bearer mine');
    expect(request?.headers).not.toHaveProperty('x-team');
  });

  it('can not listen in place of a listener, whose deliveries have all headers', async () => {
    const { stack, client } = await setUp();
    const { body } = await client.expect<{ id: string }>(201, 'POST', '/v1/listeners', { name: 'laptop' });
    await client.expect(200, 'PATCH', `/v1/webhooks/${body.id}`, { headers: { authorization: TOKEN } });
    const session = await openSession(stack, ['webhooks']);
    const stream = `/v1/listeners/${body.id}/stream?max_seconds=1`;
    const { status, body: problem } = await client.request<{ code: string }>(
      'GET',
      stream,
      undefined,
      session,
    );
    expect([status, problem.code]).toEqual([403, 'insufficient_scope']);
  });

  it('leaves them to who may see secrets, be it a session or an API key', async () => {
    const { stack, client, receiver, attacker: other, path } = await setUp();
    const session = await openSession(stack, ['webhooks', 'secrets']);
    await client.expect(200, 'PATCH', path, { url: other.url }, session);
    await client.expect(200, 'PATCH', path, { url: receiver.url });
    await client.expect(202, 'POST', `${path}/test`);
    const [request] = await receiver.waitFor(1);
    expect(request?.headers.authorization).toBe(TOKEN);
  });
});
