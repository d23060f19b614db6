import { randomUUID } from 'node:crypto';
import { DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import { keys } from '@hookferry/core/domain/keys';
import { keywordQuickWin } from '@hookferry/core/event-types/built-in';
import { uniqueAccountId } from '@hookferry/core/testing/unique-ids';
import request from 'supertest';
import { readProblem } from '../testing/read-problem';
import { startTestApi, type TestApi } from '../testing/start-test-api';

// Room for an API key and a few events, and for no webhook.
const QUOTA_BYTES = 3_000;

let api: TestApi;
let operatorKey: string;
beforeAll(async () => {
  api = await startTestApi({ ACCOUNT_QUOTA_BYTES: String(QUOTA_BYTES) });
  ({ key: operatorKey } = await api.issueKey({ accountId: DEFAULT_ACCOUNT }));
});
afterAll(() => api.close());

const { name: type, example: data } = keywordQuickWin;
const event = { type, data };

function client(key: string) {
  const send = (method: 'get' | 'post' | 'patch', path: string, headers: object = {}) => {
    const sent = request(api.url)[method](path);
    return sent.set({ authorization: `Bearer ${key}`, ...headers });
  };
  return {
    publish: (headers?: object) => send('post', '/v1/events', headers).send(event),
    usage: async () => (await send('get', '/v1/account/usage').expect(200)).body,
    send,
  };
}

/** An account that has published as much as it may. */
async function arrangeFull() {
  const { key, accountId } = await api.issueKey({ accountId: uniqueAccountId() });
  const account = client(key);
  while ((await account.publish()).status === 202);
  return { accountId, ...account };
}

it('publishes until the account stores as much as it may, and then answers 409', async () => {
  const { publish, usage, send } = await arrangeFull();
  const { status, code } = readProblem(await publish());
  expect([status, code]).toEqual([409, 'quota_exceeded']);
  const batch = await send('post', '/v1/events/batch').send({ events: [event, event] });
  expect(readProblem(batch).code).toBe('quota_exceeded');
  const { used_bytes, quota_bytes, bytes, events, api_keys } = await usage();
  expect(used_bytes).toBeGreaterThanOrEqual(QUOTA_BYTES);
  expect(quota_bytes).toBe(QUOTA_BYTES);
  expect([events > 1, api_keys]).toEqual([true, 1]);
  expect(bytes.events).toBeGreaterThan(events * JSON.stringify(event).length);
});

it('stores nothing else either, and lets everything be read', async () => {
  const { send } = await arrangeFull();
  const webhook = { url: 'https://example.com/', events: ['*'] };
  expect(readProblem(await send('post', '/v1/webhooks').send(webhook)).code).toBe('quota_exceeded');
  const key = await send('post', '/v1/api-keys').send({ name: 'one more', scopes: ['events:write'] });
  expect(readProblem(key).code).toBe('quota_exceeded');
  await send('get', '/v1/events').expect(200);
});

it('answers what was accepted before once more, and remembers nothing of what it refuses', async () => {
  const { key, accountId } = await api.issueKey({ accountId: uniqueAccountId() });
  const { publish } = client(key);
  const known = { 'idempotency-key': randomUUID() };
  await publish(known).expect(202);
  while ((await publish()).status === 202);
  const repeated = await publish(known).expect(202);
  expect(repeated.headers['idempotent-replayed']).toBe('true');
  const answers = () => api.redis.client.keys(keys.idempotency(accountId, '*'));
  const before = await answers();
  await publish({ 'idempotency-key': randomUUID() }).expect(409);
  expect(await answers()).toEqual(before);
});

it('lets an account store more as soon as its operator says so, and as much as any when it says so no more', async () => {
  const { accountId, publish, usage } = await arrangeFull();
  const operator = client(operatorKey);
  const change = async (quota_bytes: number | null) =>
    (await operator.send('patch', `/v1/accounts/${accountId}`).send({ quota_bytes }).expect(200)).body;
  expect(await change(1_000_000)).toMatchObject({ quota_bytes: 1_000_000 });
  expect(await usage()).toMatchObject({ quota_bytes: 1_000_000 });
  await publish().expect(202);
  expect(await change(0)).toMatchObject({ quota_bytes: 0 });
  expect(await usage()).toMatchObject({ quota_bytes: null });
  expect(await change(null)).not.toHaveProperty('quota_bytes');
  expect(await usage()).toMatchObject({ quota_bytes: QUOTA_BYTES });
  await publish().expect(409);
});

it('gives an account a quota when it is created, and keeps it when its weight is changed', async () => {
  const operator = client(operatorKey);
  const id = uniqueAccountId();
  const created = await operator.send('post', '/v1/accounts').send({ id, quota_bytes: 5_000 }).expect(201);
  expect(created.body).toMatchObject({ quota_bytes: 5_000 });
  const changed = await operator.send('patch', `/v1/accounts/${id}`).send({ weight: 2 }).expect(200);
  expect(changed.body).toMatchObject({ weight: 2, quota_bytes: 5_000 });
  const { key } = await api.issueKey({ accountId: id });
  expect(await client(key).usage()).toMatchObject({ quota_bytes: 5_000 });
});

it('counts what it refuses, and how many accounts are near their quota', async () => {
  await arrangeFull();
  const { text } = await request(api.url).get('/metrics').expect(200);
  expect(text).toMatch(/webhooks_quota_rejections_total\{door="http"\} [1-9]/);
  expect(text).toMatch(/webhooks_accounts_over_quota [1-9]/);
  expect(text).toMatch(/webhooks_accounts_used_bytes [1-9]/);
});
