import { webcrypto } from 'node:crypto';
import { newSecret } from '@hookferry/core/endpoints/rotate-secret';
import { createClosables } from '@hookferry/core/testing/closables';
import { verify } from '@hookferry/receiver';
import { jwks, publicKeys } from '@hookferry/receiver/public-keys';
import { verify as verifyWithOctokit } from '@octokit/webhooks-methods';
import { createRemoteJWKSet } from 'jose';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import type { ApiClient, Webhook } from '../support/api-client';
import { type ReceivedRequest, Receiver, type Reply } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

interface Key {
  readonly kid: string;
  readonly public_key: string;
  readonly status: 'next' | 'signing' | 'former';
  readonly signing_starts_at: string;
}

const LEAD_MS = 3_000;
const JWKS = '/.well-known/webhooks/default/jwks.json';

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start({
    workers: 2,
    environment: { SIGNING_KEY_LEAD: `${LEAD_MS}ms`, RETRY_SCHEDULE: '100ms' },
  });
});
afterAll(() => stack.stop());

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

async function startReceiver(reply?: (request: ReceivedRequest, count: number) => Reply): Promise<Receiver> {
  const receiver = await Receiver.start(reply);
  willClose({ close: () => receiver.stop() });
  return receiver;
}

/** A webhook of its own, which alone gets what is published to it. */
async function arrange(signing: string, reply?: (request: ReceivedRequest, count: number) => Reply) {
  const receiver = await startReceiver(reply);
  const options = { signing };
  const webhook = await stack.client.register(receiver.url, ['*'], options);
  willClose({ close: async () => void (await stack.client.request('DELETE', `/v1/webhooks/${webhook.id}`)) });
  const publish = async () => {
    const event = { ...QUICK_WIN, webhook_ids: [webhook.id] };
    await stack.client.expect(202, 'POST', '/v1/events', event);
  };
  return { receiver, webhook: webhook as Webhook & { public_key?: string }, publish };
}

async function listKeys(client: ApiClient = stack.client): Promise<readonly Key[]> {
  return (await client.expect<{ data: readonly Key[] }>(200, 'GET', '/v1/signing-keys')).body.data;
}

async function rotate(body: object = {}): Promise<readonly Key[]> {
  const path = '/v1/signing-keys/rotate';
  return (await stack.client.expect<{ data: readonly Key[] }>(201, 'POST', path, body)).body.data;
}

async function publishedKids({ baseUrl }: ApiClient = stack.client): Promise<readonly string[]> {
  const { keys } = (await (await fetch(baseUrl + JWKS)).json()) as { keys: { kid: string }[] };
  return keys.map(({ kid }) => kid);
}

/** A receiver's own set: its URL has TLS in front of it, which the test leaves out. */
const ourJwks = () =>
  jwks(`https://hooks.example.com${JWKS}`, {
    fetch: (_url, init) => fetch(stack.client.baseUrl + JWKS, init),
  });

const kidOf = ({ headers }: ReceivedRequest) => String(headers['webhook-key-id']);
const signaturesOf = ({ headers }: ReceivedRequest) => String(headers['webhook-signature']).split(' ');

/** By a JWKS client that knows nothing of ours, and WebCrypto. */
async function isGoodByJose(request: ReceivedRequest): Promise<boolean> {
  const getKey = createRemoteJWKSet(new URL(stack.client.baseUrl + JWKS));
  const key = await getKey({ alg: 'EdDSA', kid: kidOf(request) });
  const { headers, body } = request;
  const message = Buffer.concat([
    Buffer.from(`${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.`),
    body,
  ]);
  const signature = signaturesOf(request).find((one) => one.startsWith('v1a,')) ?? '';
  return await webcrypto.subtle.verify(
    'Ed25519',
    key,
    Buffer.from(signature.slice('v1a,'.length), 'base64'),
    message,
  );
}

const asText = ({ headers }: ReceivedRequest) => headers as Record<string, string>;

it('signs with the key alone: by its public half, or the published set, anybody can verify', async () => {
  const { receiver, webhook, publish } = await arrange('ed25519');
  await publish();
  const [request] = await receiver.waitFor(1);
  if (!request || webhook.public_key === undefined) throw new Error('nothing came');
  expect(signaturesOf(request)).toEqual([expect.stringMatching(/^v1a,[A-Za-z0-9+/]{86}==$/)]);
  expect(request.headers).not.toHaveProperty('x-service-signature');
  const { headers, body } = request;
  for (const keys of [publicKeys(webhook.public_key), ourJwks()]) {
    expect(await verify({ keys, headers, body })).toMatchObject(QUICK_WIN);
  }
  expect(await isGoodByJose(request)).toBe(true);
  // There is no secret. Who has one all the same has nothing to verify by.
  expect(webhook.secret).toBeNull();
  const secret = newSecret();
  await expect(verify({ secret, headers, body })).rejects.toMatchObject({ code: 'no_match' });
  expect(() => new StandardWebhook(secret).verify(body.toString(), asText(request))).toThrow();
});

it('signs with both: the libraries for the secret go on as ever', async () => {
  const { receiver, webhook, publish } = await arrange('both');
  await publish();
  const [request] = await receiver.waitFor(1);
  if (!request || webhook.public_key === undefined) throw new Error('nothing came');
  const { headers, body } = request;
  const text = body.toString();
  expect(signaturesOf(request).map((one) => one.split(',')[0])).toEqual(['v1', 'v1a']);
  expect(new StandardWebhook(webhook.secret).verify(text, asText(request))).toEqual(QUICK_WIN);
  expect(new SvixWebhook(webhook.secret).verify(text, asText(request))).toEqual(QUICK_WIN);
  expect(await verifyWithOctokit(webhook.secret, text, String(headers['x-service-signature']))).toBe(true);
  expect(await verify({ secret: webhook.secret, headers, body })).toMatchObject(QUICK_WIN);
  expect(await verify({ keys: publicKeys(webhook.public_key), headers, body })).toMatchObject(QUICK_WIN);
  expect(await isGoodByJose(request)).toBe(true);
});

it('makes no key for an account whose webhooks sign with their secrets', async () => {
  const id = 'secrets-only';
  await stack.client.expect(201, 'POST', '/v1/accounts', { id });
  const receiver = await startReceiver();
  const as = { 'x-account-id': id };
  await stack.client.expect(201, 'POST', '/v1/webhooks', { url: receiver.url, events: ['*'] }, as);
  await stack.client.expect(202, 'POST', '/v1/events', QUICK_WIN, as);
  const [request] = await receiver.waitFor(1);
  expect(request?.headers).not.toHaveProperty('webhook-key-id');
  // A delivery that had asked for a key would have made one.
  expect(await stack.redis.client.exists(`signing-keys:{${id}}`)).toBe(0);
});

it('signs with the next key after the lead, in all workers, and nothing is refused meanwhile', async () => {
  const { client: other } = await stack.startApi();
  const { receiver, publish } = await arrange('ed25519');
  await publish();
  const former = kidOf((await receiver.waitFor(1))[0] as ReceivedRequest);
  const [next] = await rotate();
  if (!next) throw new Error('no key');
  expect(next.status).toBe('next');
  expect(await publishedKids(other)).toEqual([next.kid, former]);
  await until(async () => {
    await publish();
    return receiver.requests.some((request) => kidOf(request) === next.kid) || undefined;
  });
  const verdicts = await Promise.all(receiver.requests.map(isGoodByJose));
  expect(new Set(verdicts)).toEqual(new Set([true]));
  const signsFrom = Date.parse(next.signing_starts_at) / 1_000;
  const kidsAt = (isAt: (seconds: number) => boolean) =>
    new Set(receiver.requests.filter(({ headers }) => isAt(Number(headers['webhook-timestamp']))).map(kidOf));
  // In whole seconds; the second of the change may have both.
  expect(kidsAt((at) => at < Math.floor(signsFrom))).toEqual(new Set([former]));
  expect([...kidsAt((at) => at > signsFrom)].filter((kid) => kid !== next.kid)).toEqual([]);
  expect((await listKeys(other)).map(({ status }) => status)).toEqual(['signing', 'former']);
});

it('after a leak signs with the new key alone, retries too, and a request by the leaked one is refused', async () => {
  let made: readonly Key[] = [];
  const { receiver, publish } = await arrange('ed25519', async (_request, count) => {
    if (count > 1) return 204;
    made = await rotate({ immediate: true });
    return 500;
  });
  await publish();
  const requests = await receiver.waitFor(2);
  const [old] = requests;
  const last = await until(async () => requests.find((request) => kidOf(request) === made[0]?.kid));
  if (!old) throw new Error('nothing came');
  expect(kidOf(old)).not.toBe(kidOf(last));
  expect(await publishedKids()).toEqual([kidOf(last)]);
  const keys = ourJwks();
  expect(await verify({ keys, ...last })).toMatchObject(QUICK_WIN);
  await expect(verify({ keys, ...old })).rejects.toMatchObject({ code: 'no_match' });
  await expect(isGoodByJose(old)).rejects.toThrow();
  // Nor under the name of the good key.
  const renamed = { ...old.headers, 'webhook-key-id': kidOf(last) };
  await expect(verify({ keys, headers: renamed, body: old.body })).rejects.toMatchObject({
    code: 'no_match',
  });
});

it('refuses the key of another account, a key in the request, and what was sent before', async () => {
  const { receiver, publish } = await arrange('ed25519');
  const as = { 'x-account-id': 'attacker' };
  await stack.client.expect(201, 'POST', '/v1/accounts', { id: 'attacker', default_signing: 'ed25519' });
  const attackers = await startReceiver();
  await stack.client.expect(201, 'POST', '/v1/webhooks', { url: attackers.url, events: ['*'] }, as);
  await stack.client.expect(202, 'POST', '/v1/events', QUICK_WIN, as);
  await publish();
  const [forged] = await attackers.waitFor(1);
  const [good] = await receiver.waitFor(1);
  if (!forged || !good) throw new Error('nothing came');
  const keys = ourJwks();
  const { headers, body } = forged;
  const names = {
    'their own': kidOf(forged),
    ours: kidOf(good),
    'a URL': `${stack.client.baseUrl}/.well-known/webhooks/attacker/jwks.json`,
  };
  for (const kid of Object.values(names)) {
    const named = {
      ...headers,
      'webhook-key-id': kid,
      'webhook-jwks-url': names['a URL'],
      jku: names['a URL'],
    };
    await expect(verify({ keys, headers: named, body })).rejects.toMatchObject({ code: 'no_match' });
  }
  const now = Number(good.headers['webhook-timestamp']) + 301;
  await expect(verify({ keys, ...good, now })).rejects.toMatchObject({ code: 'timestamp_skew' });
});

it('has a whole set of keys, whenever an API is killed in the middle of a rotation', async () => {
  const { receiver, publish } = await arrange('ed25519');
  for (let i = 0; i < 3; i += 1) {
    const { api, client } = await stack.startApi();
    const asked = client.request('POST', '/v1/signing-keys/rotate', { immediate: true }).catch(() => {});
    if (i > 0) await new Promise((resolve) => setTimeout(resolve, i));
    await api.end('SIGKILL');
    await asked;
    const keys = await listKeys();
    expect(keys.filter(({ status }) => status === 'signing')).toHaveLength(1);
    await publish();
    const request = (await receiver.waitFor(i + 1))[i];
    if (!request) throw new Error('nothing came');
    expect(await isGoodByJose(request)).toBe(true);
  }
});

it('takes the keys of an account away with it', async () => {
  const id = 'leaving';
  const as = { 'x-account-id': id };
  await stack.client.expect(201, 'POST', '/v1/accounts', { id, default_signing: 'both' });
  const receiver = await startReceiver();
  await stack.client.expect(201, 'POST', '/v1/webhooks', { url: receiver.url, events: ['*'] }, as);
  const path = `${stack.client.baseUrl}/.well-known/webhooks/${id}/jwks.json`;
  const read = async () => (await (await fetch(path)).json()) as { keys: unknown[] };
  expect((await read()).keys).toHaveLength(1);
  await stack.client.expect(202, 'DELETE', `/v1/accounts/${id}`);
  expect(await read()).toEqual({ keys: [] });
  await until(
    async () => (await stack.client.request('GET', `/v1/accounts/${id}`)).status === 404 || undefined,
  );
  expect(await stack.redis.client.exists(`signing-keys:{${id}}`)).toBe(0);
});
