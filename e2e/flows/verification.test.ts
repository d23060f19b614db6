import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { createClosables } from '@hookferry/core/testing/closables';
import { webhooks as handlerOf } from '@hookferry/receiver/express';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import type { ApiClient, Webhook } from '../support/api-client';
import { type ReceivedRequest, Receiver, type Reply } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

interface Verification {
  readonly status: string;
  readonly method: string | null;
  readonly error: string | null;
  readonly verified_at: string | null;
}
type Verified = Webhook & { readonly verification: Verification; readonly rate_limit: number | null };

let stack: Stack;
beforeAll(async () => {
  const environment = { ENDPOINT_VERIFICATION: 'required', WEBHOOK_REQUEST_ORIGIN: 'hooks.example.com' };
  stack = await Stack.start({ workers: 2, environment });
});
afterAll(() => stack.stop());

const { willClose, closeAll } = createClosables();
afterEach(closeAll);
// All receivers are at one host, which bounds how often they are asked.
beforeEach(async () => {
  for (const counted of ['requested-verifications:*', 'unproven-requests:*']) {
    for (const key of await stack.redis.client.keys(counted)) await stack.redis.client.del(key);
  }
});

const challengeOf = ({ body }: ReceivedRequest) =>
  (JSON.parse(body.toString()) as { data: { challenge: string } }).data.challenge;
const typeOf = ({ body }: ReceivedRequest) => (JSON.parse(body.toString()) as { type: string }).type;
const isChallenge = (request: ReceivedRequest) =>
  request.method === 'POST' && typeOf(request) === 'webhook.verification';
const right: (request: ReceivedRequest) => Reply = (request) => {
  if (!isChallenge(request)) return 204;
  return { status: 200, body: JSON.stringify({ challenge: challengeOf(request) }) };
};
const wrong: () => Reply = () => ({ status: 200, body: JSON.stringify({ challenge: 'guessed' }) });

async function startReceiver(reply: (request: ReceivedRequest, count: number) => Reply): Promise<Receiver> {
  const receiver = await Receiver.start(reply);
  willClose({ close: () => receiver.stop() });
  return receiver;
}

async function register(url: string, options: object = {}, client: ApiClient = stack.client) {
  const webhook = (await client.register(url, ['*'], options)) as Verified;
  willClose({ close: async () => void (await client.request('DELETE', `/v1/webhooks/${webhook.id}`)) });
  return webhook;
}

const read = async (id: string) =>
  (await stack.client.expect<Verified>(200, 'GET', `/v1/webhooks/${id}`)).body;

async function waitFor(id: string, isWished: (verification: Verification) => boolean): Promise<Verified> {
  return await until(async () => {
    const webhook = await read(id);
    return isWished(webhook.verification) ? webhook : undefined;
  });
}
const waitForStatus = (id: string, status: string) => waitFor(id, (each) => each.status === status);
const waitForError = (id: string) => waitFor(id, ({ error }) => error !== null);

/** To this webhook alone. */
async function publish(id: string): Promise<string> {
  const event = { ...QUICK_WIN, webhook_ids: [id] };
  return (await stack.client.expect<{ id: string }>(202, 'POST', '/v1/events', event)).body.id;
}

const askAgain = (id: string) => stack.client.request('POST', `/v1/webhooks/${id}/verify`);

/** The time of the next automatic try comes now. */
/** The try has ended, and the next one is due in a while: a try that is under way is claimed for twenty seconds. */
async function waitForNextTry(id: string): Promise<void> {
  await until(async () => {
    const dueAt = await stack.redis.client.zscore('verifications-due:{all}', `default/${id}`);
    return Number(dueAt) > Date.now() + 30_000 ? true : undefined;
  });
}

async function bringForward(id: string): Promise<void> {
  const { client } = stack.redis;
  const raw = (await client.hget('endpoints:{default}', id)) ?? '{}';
  const record = JSON.parse(raw) as { verification: object };
  record.verification = { ...record.verification, nextTryAt: 0 };
  await client.hset('endpoints:{default}', id, JSON.stringify(record));
  await client.zadd('verifications-due:{all}', 0, `default/${id}`);
}

it('holds deliveries, tests and redeliveries until the receiver has responded to a signed challenge', async () => {
  let isReady = false;
  const receiver = await startReceiver((request) => (isReady ? right(request) : 503));
  const webhook = await register(receiver.url);
  expect(webhook.verification).toMatchObject({ status: 'unverified', method: 'challenge' });
  const eventId = await publish(webhook.id);
  const held = await stack.client.waitForStatus(webhook.id, eventId, 'held');
  expect(held).toMatchObject({ hold: { reason: 'unverified', until: null }, attempt_count: 0 });
  const test = await stack.client.expect<{ event_id: string }>(
    202,
    'POST',
    `/v1/webhooks/${webhook.id}/test`,
  );
  await stack.client.waitForStatus(webhook.id, test.body.event_id, 'held');
  await stack.client.expect(202, 'POST', `/v1/deliveries/${held.id}/redeliver`);
  const { verification } = await waitForError(webhook.id);
  expect(verification).toMatchObject({ status: 'pending', method: 'challenge', error: 'http_error' });
  expect(receiver.requests.filter((request) => !isChallenge(request))).toEqual([]);

  isReady = true;
  expect((await askAgain(webhook.id)).status).toBe(202);
  const after = await waitForStatus(webhook.id, 'verified');
  expect(after.verification).toMatchObject({ method: 'challenge', verified_at: expect.any(String) });
  const delivered = await stack.client.waitForStatus(webhook.id, eventId, 'delivered');
  expect(delivered.attempts.map(({ outcome }) => outcome)).toEqual(['delivered']);
  await stack.client.waitForStatus(webhook.id, test.body.event_id, 'delivered');
  expect((await askAgain(webhook.id)).status).toBe(409);
});

it('is verified by the receiver package by itself, whose handlers get the events alone', async () => {
  const received: unknown[] = [];
  const secret = `whsec_${randomBytes(24).toString('base64')}`;
  const handle = handlerOf({ secret, on: { [QUICK_WIN.type]: ({ id }) => void received.push(id) } });
  const server = createServer((request, response) => void handle(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  willClose({ close: () => server.close().closeAllConnections() });
  const { port } = server.address() as AddressInfo;
  const webhook = await register(`http://127.0.0.1:${port}/hook`, { secret });
  const eventId = await publish(webhook.id);
  await waitForStatus(webhook.id, 'verified');
  await stack.client.waitForStatus(webhook.id, eventId, 'delivered');
  expect(received).toEqual([eventId]);
});

it('sends a challenge that a library of Standard Webhooks verifies, another one each time', async () => {
  const receiver = await startReceiver(wrong);
  const webhook = await register(receiver.url, { headers: { authorization: 'Bearer theirs' } });
  await waitForError(webhook.id);
  await askAgain(webhook.id);
  const requests = await receiver.waitFor(2);
  for (const { body, headers } of requests) {
    const names = { ...headers } as Record<string, string>;
    const payload = new StandardWebhook(webhook.secret).verify(body.toString(), names);
    expect(payload).toEqual({
      type: 'webhook.verification',
      data: { challenge: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/) },
    });
    expect(headers.authorization).toBe('Bearer theirs');
  }
  expect(new Set(requests.map(challengeOf)).size).toBe(2);
});

it('is not verified by anything else, and never says what came back', async () => {
  const long = (request: ReceivedRequest) =>
    JSON.stringify({ padding: 'x'.repeat(5_000), challenge: challengeOf(request) });
  const responses: Readonly<Record<string, [(request: ReceivedRequest) => Reply, string]>> = {
    'an open echo server': [({ body }) => ({ status: 200, body: body.toString() }), 'challenge_mismatch'],
    'a header': [(r) => ({ status: 200, headers: { challenge: challengeOf(r) } }), 'challenge_mismatch'],
    'another challenge': [wrong, 'challenge_mismatch'],
    'the text alone': [(r) => ({ status: 200, body: challengeOf(r) }), 'challenge_mismatch'],
    'a list of it': [
      (r) => ({ status: 200, body: JSON.stringify([{ challenge: challengeOf(r) }]) }),
      'challenge_mismatch',
    ],
    'a page': [
      (r) => ({ status: 200, body: `<html>SECRET-OF-THEIRS ${challengeOf(r)}</html>` }),
      'challenge_mismatch',
    ],
    'a long response': [(r) => ({ status: 200, body: long(r) }), 'challenge_mismatch'],
    'an error': [(r) => ({ status: 500, body: JSON.stringify({ challenge: challengeOf(r) }) }), 'http_error'],
    'a redirect': [() => ({ status: 307, headers: { location: '/elsewhere' } }), 'http_error'],
    'a late response': [async (r) => await wait(10_500).then(() => right(r)), 'response_timeout'],
  };
  const found = await Promise.all(
    Object.entries(responses).map(async ([name, [reply]]) => {
      const receiver = await startReceiver(reply);
      const webhook = await register(receiver.url);
      const { verification } = await waitForError(webhook.id);
      return [name, verification] as const;
    }),
  );
  expect(Object.fromEntries(found)).toEqual(
    Object.fromEntries(
      Object.entries(responses).map(([name, [, error]]) => [
        name,
        { status: 'pending', method: 'challenge', error, verified_at: null },
      ]),
    ),
  );
  const written = stack.workers.map(({ output }) => output).join('');
  expect(written).not.toContain('SECRET-OF-THEIRS');
});

it('tries three times by itself, and then when it is asked, five times an hour for a host', async () => {
  const receiver = await startReceiver(wrong);
  const webhook = await register(receiver.url);
  for (const tries of [1, 2]) {
    await receiver.waitFor(tries);
    await waitForNextTry(webhook.id);
    await bringForward(webhook.id);
  }
  await receiver.waitFor(3);
  await waitForStatus(webhook.id, 'failed');
  for (let i = 0; i < 5; i += 1) expect((await askAgain(webhook.id)).status).toBe(202);
  const refused = await askAgain(webhook.id);
  expect(refused.body).toMatchObject({ code: 'rate_limited' });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_000);
  const other = await startReceiver(wrong);
  const neighbour = await register(other.url);
  await waitForError(neighbour.id);
  expect((await askAgain(neighbour.id)).status).toBe(429);
});

it('sends a host no flood of challenges, however many webhooks are registered there or their URLs change', async () => {
  const receiver = await startReceiver(wrong);
  const webhooks = await Promise.all(
    Array.from({ length: 14 }, (_, i) => register(`${receiver.url}/${i}`, { ordering: 'none' })),
  );
  await until(async () => (receiver.requests.length >= 10 ? true : undefined));
  for (const { id } of webhooks) {
    await stack.client.expect(200, 'PATCH', `/v1/webhooks/${id}`, { url: `${receiver.url}/changed/${id}` });
  }
  // Each of them is due, and is looked at.
  await until(async () => {
    const due = await stack.redis.client.zcount('verifications-due:{all}', '-inf', Date.now() + 30_000);
    return due === 0 ? true : undefined;
  });
  expect(receiver.requests.length).toBe(10);
});

it('begins anew with another URL or secret, for which the proof of before counts nothing', async () => {
  const first = await startReceiver(right);
  const webhook = await register(first.url);
  await waitForStatus(webhook.id, 'verified');
  const second = await startReceiver(wrong);
  const path = `/v1/webhooks/${webhook.id}`;
  const { body } = await stack.client.expect<Verified>(200, 'PATCH', path, { url: second.url });
  expect(body.verification).toMatchObject({ status: 'unverified', method: 'challenge', verified_at: null });
  const eventId = await publish(webhook.id);
  await stack.client.waitForStatus(webhook.id, eventId, 'held');
  await waitForError(webhook.id);
  await stack.client.expect(200, 'PATCH', path, { url: first.url });
  await stack.client.waitForStatus(webhook.id, eventId, 'delivered');

  const rotation = { 'idempotency-key': 'rotate-once' };
  await stack.client.expect(201, 'POST', `${path}/rotate-secret`, {}, rotation);
  expect((await read(webhook.id)).verification.status).not.toBe('failed');
  await waitForStatus(webhook.id, 'verified');
  const verifiedAt = (await read(webhook.id)).verification.verified_at;
  await stack.client.expect(201, 'POST', `${path}/rotate-secret`, {}, rotation);
  await stack.client.expect(200, 'PATCH', path, { description: 'the same receiver' });
  expect((await read(webhook.id)).verification).toMatchObject({
    status: 'verified',
    verified_at: verifiedAt,
  });
  expect(second.requests.every(isChallenge)).toBe(true);
});

it('does not take a right response of the former URL for one of the present URL', async () => {
  let respond = () => {};
  const response = new Promise<void>((resolve) => {
    respond = resolve;
  });
  const former = await startReceiver(async (request) => await response.then(() => right(request)));
  const webhook = await register(former.url);
  await former.waitFor(1);
  const present = await startReceiver(wrong);
  await stack.client.expect(200, 'PATCH', `/v1/webhooks/${webhook.id}`, { url: present.url });
  respond();
  // The try of the former URL has ended when that of the present one begins: there are never two at once.
  await present.waitFor(1);
  const { verification } = await waitForError(webhook.id);
  expect(verification).toMatchObject({ status: 'pending', error: 'challenge_mismatch' });
});

it('sends nothing more to one that is disabled or deleted meanwhile, and goes on when it is enabled', async () => {
  const receiver = await startReceiver((request, count) => (count === 1 ? 500 : right(request)));
  const webhook = await register(receiver.url);
  await waitForError(webhook.id);
  await stack.client.expect(200, 'POST', `/v1/webhooks/${webhook.id}/disable`);
  expect((await askAgain(webhook.id)).status).toBe(409);
  await bringForward(webhook.id);
  await until(async () =>
    (await stack.redis.client.zscore('verifications-due:{all}', `default/${webhook.id}`)) === null
      ? true
      : undefined,
  );
  expect(receiver.requests).toHaveLength(1);
  await stack.client.expect(200, 'POST', `/v1/webhooks/${webhook.id}/enable`);
  await waitForStatus(webhook.id, 'verified');

  const other = await register((await startReceiver(wrong)).url);
  await waitForError(other.id);
  await stack.client.expect(204, 'DELETE', `/v1/webhooks/${other.id}`);
  expect(await stack.redis.client.zscore('verifications-due:{all}', `default/${other.id}`)).toBeNull();
});

it('asks for permission as CloudEvents has it, and keeps to the rate that it is granted', async () => {
  const headers = { 'WebHook-Allowed-Origin': 'Hooks.Example.com', 'WebHook-Allowed-Rate': '120' };
  const receiver = await startReceiver(({ method }) =>
    method === 'OPTIONS' ? { status: 200, headers } : 204,
  );
  const webhook = await register(receiver.url, { verification: 'cloudevents', rate_limit: 50 });
  const verified = await waitForStatus(webhook.id, 'verified');
  expect(verified).toMatchObject({ verification: { method: 'cloudevents' }, rate_limit: 2 });
  expect(receiver.requests[0]).toMatchObject({
    method: 'OPTIONS',
    headers: { 'webhook-request-origin': 'hooks.example.com' },
  });
  const path = `/v1/webhooks/${webhook.id}`;
  const raised = await stack.client.expect<Verified>(200, 'PATCH', path, { rate_limit: null });
  expect(raised.body.rate_limit).toBe(2);
  const lowered = await stack.client.expect<Verified>(200, 'PATCH', path, { rate_limit: 1 });
  expect(lowered.body.rate_limit).toBe(1);

  const responses = [{}, { 'WebHook-Allowed-Origin': 'other.example.com' }];
  for (const each of responses) {
    const refusing = await startReceiver(() => ({ status: 200, headers: each }));
    const { id } = await register(refusing.url, { verification: 'cloudevents' });
    expect((await waitForError(id)).verification.error).toBe('not_allowed');
  }
  const slow = { 'WebHook-Allowed-Origin': '*', 'WebHook-Allowed-Rate': '59' };
  const tooSlow = await startReceiver(() => ({ status: 200, headers: slow }));
  const refused = await register(tooSlow.url, { verification: 'cloudevents' });
  expect((await waitForError(refused.id)).verification.error).toBe('rate_too_low');
  const open = await startReceiver(() => ({ status: 204, headers: { 'WebHook-Allowed-Origin': '*' } }));
  const { id } = await register(open.url, { verification: 'cloudevents' });
  expect((await waitForStatus(id, 'verified')).rate_limit).toBeNull();
});

it('has the tries of a worker that is killed made by another one', async () => {
  const receiver = await startReceiver((request, count) => (count === 1 ? 'never' : right(request)));
  const webhook = await register(receiver.url);
  await receiver.waitFor(1);
  const killed = stack.workers.splice(0);
  await Promise.all(killed.map((worker) => worker.end('SIGKILL')));
  await Promise.all([stack.startWorker(), stack.startWorker()]);
  await waitForStatus(webhook.id, 'verified');
  expect(receiver.requests).toHaveLength(2);
});

it('requires it of some accounts alone, and lets what is held go when it is required no more', async () => {
  const { client } = stack;
  const id = 'lenient';
  const as = { 'x-account-id': id };
  await client.expect(201, 'POST', '/v1/accounts', { id, endpoint_verification: 'off' });
  const receiver = await startReceiver(wrong);
  const input = { url: receiver.url, events: ['*'] };
  const free = await client.expect<Verified>(201, 'POST', '/v1/webhooks', input, as);
  expect(free.body.verification).toMatchObject({ status: 'not_required', method: null });
  await client.expect(202, 'POST', '/v1/events', QUICK_WIN, as);
  await receiver.waitFor(1);

  await client.expect(200, 'PATCH', `/v1/accounts/${id}`, { endpoint_verification: null });
  const kept = await client.expect<Verified>(200, 'GET', `/v1/webhooks/${free.body.id}`, undefined, as);
  expect(kept.body.verification.method).toBeNull();
  const strict = await client.expect<Verified>(201, 'POST', '/v1/webhooks', input, as);
  const event = { ...QUICK_WIN, webhook_ids: [strict.body.id] };
  await client.expect(202, 'POST', '/v1/events', event, as);
  const held = async () => {
    const path = `/v1/webhooks/${strict.body.id}/deliveries`;
    const { body } = await client.expect<{ data: { status: string }[] }>(200, 'GET', path, undefined, as);
    return body.data[0]?.status;
  };
  await until(async () => ((await held()) === 'held' ? true : undefined));
  await client.expect(200, 'PATCH', `/v1/accounts/${id}`, { endpoint_verification: 'off' });
  await until(async () => ((await held()) === 'delivered' ? true : undefined));
});

it('is what a webhook that names its method waits for, also where none is required', async () => {
  const { client } = stack;
  const id = 'lenient-too';
  const as = { 'x-account-id': id };
  await client.expect(201, 'POST', '/v1/accounts', { id, endpoint_verification: 'off' });
  let reply = wrong as (request: ReceivedRequest) => Reply;
  const receiver = await startReceiver((request) => reply(request));
  const input = { url: receiver.url, events: ['*'], verification: 'challenge' };
  const { body } = await client.expect<Verified>(201, 'POST', '/v1/webhooks', input, as);
  await client.expect(202, 'POST', '/v1/events', QUICK_WIN, as);
  const deliveryIs = async (status: string) => {
    const path = `/v1/webhooks/${body.id}/deliveries`;
    const { body: page } = await client.expect<{ data: { status: string }[] }>(
      200,
      'GET',
      path,
      undefined,
      as,
    );
    return page.data[0]?.status === status || undefined;
  };
  await until(() => deliveryIs('held'));
  await receiver.waitFor(1);
  expect(receiver.requests.every(isChallenge)).toBe(true);
  reply = right;
  await until(
    async () =>
      (await client.request('POST', `/v1/webhooks/${body.id}/verify`, undefined, as)).status === 202 ||
      undefined,
  );
  await until(() => deliveryIs('delivered'));
});
