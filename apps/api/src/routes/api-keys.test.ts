import {
  type AccountId,
  type Capability,
  capabilities,
  DEFAULT_ACCOUNT,
  type Scope,
} from '@hookferry/core/domain/account';
import { callApi, signIn } from '../testing/call-route';
import { startTestApi, type TestApi } from '../testing/start-test-api';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ RATE_LIMIT: '500/1s', ACCOUNT_RATE_LIMIT: 'off' });
});
afterAll(() => api.close());

const EVENT = { type: 'brief.created', data: { brief_id: 'brf_1', title: 'Red shoes' } };

/** A key of the operator's account that the API itself has issued. */
async function issue(scopes: readonly Scope[], more: object = {}) {
  const { key: admin } = await api.issueKey({ accountId: DEFAULT_ACCOUNT });
  const issued = await callApi(api, 'post', '/v1/api-keys', admin).send({ name: 'backend', scopes, ...more });
  expect(issued.status).toBe(201);
  return { admin, id: issued.body.id as string, key: issued.body.key as string };
}

describe("a key of a product's backend", () => {
  const BACKEND: readonly Scope[] = ['accounts:act', 'events:write', 'portal:write', 'webhooks:read'];

  it('makes accounts, publishes for them and opens the portal for them, without "admin"', async () => {
    const { key } = await issue(BACKEND);
    const account = await callApi(api, 'post', '/v1/accounts', key).send({ name: 'Acme' });
    expect(account.status).toBe(201);
    const id = account.body.id as AccountId;
    expect((await callApi(api, 'get', `/v1/accounts/${id}`, key)).body).toMatchObject({ id, name: 'Acme' });
    const published = await callApi(api, 'post', '/v1/events', key).set('x-account-id', id).send(EVENT);
    expect(published.status).toBe(202);
    const token = await signIn(api, key, { account_id: id });
    expect((await callApi(api, 'get', '/v1/me', token)).body).toMatchObject({
      account_id: id,
      type: 'portal_session',
    });
    const found = await callApi(api, 'get', '/v1/webhooks', key).set('x-account-id', id);
    expect(found.status).toBe(200);
  });

  it.each([
    ['get', '/v1/events', 'insufficient_scope'],
    ['post', '/v1/api-keys', 'insufficient_scope'],
    ['delete', '/v1/accounts/acme', 'insufficient_scope'],
    ['patch', '/v1/accounts/acme', 'insufficient_scope'],
    ['get', '/v1/operations', 'insufficient_scope'],
  ] as const)('may nothing else: %s %s', async (method, path, code) => {
    const { key } = await issue(BACKEND);
    const { status, body } = await callApi(api, method, path, key)
      .set('x-account-id', DEFAULT_ACCOUNT)
      .send({});
    expect([status, body.code]).toEqual([403, code]);
  });

  it('gives no session what only an operator has', async () => {
    const { key } = await issue(BACKEND);
    const asked = await callApi(api, 'post', '/v1/portal-sessions', key).send({
      capabilities: ['read', 'operate'],
    });
    expect([asked.status, asked.body.code]).toEqual([403, 'operator_only']);
  });

  it('is refused as a key of a customer, and one of a customer acts for nobody', async () => {
    const { admin } = await issue(BACKEND);
    const { key, accountId } = await api.issueKey();
    const { accountId: other } = await api.issueKey();
    const body = { name: 'backend', scopes: ['accounts:act'] };
    for (const asked of [
      callApi(api, 'post', '/v1/api-keys', key).send(body),
      callApi(api, 'post', '/v1/api-keys', admin).set('x-account-id', accountId).send(body),
    ])
      expect(await asked).toMatchObject({ status: 422, body: { errors: [{ pointer: '/scopes' }] } });
    const named = await callApi(api, 'get', '/v1/webhooks', key).set('x-account-id', other);
    expect([named.status, named.body.code]).toEqual([403, 'operator_only']);
    const made = await callApi(api, 'post', '/v1/accounts', key).send({});
    expect([made.status, made.body.code]).toEqual([403, 'operator_only']);
  });
});

describe('a key of some event types', () => {
  const TYPES = ['keyword.*', 'import.completed'];

  it('publishes them alone, one or many', async () => {
    const { key } = await issue(['events:write'], { event_types: TYPES });
    const quickWin = {
      type: 'keyword.quick_win',
      data: { keyword: 'red shoes', position: 11, volume: 2_400 },
    };
    expect((await callApi(api, 'post', '/v1/events', key).send(quickWin)).status).toBe(202);
    const refused = await callApi(api, 'post', '/v1/events', key).send(EVENT);
    expect(refused).toMatchObject({
      status: 403,
      body: { code: 'insufficient_scope', detail: expect.stringContaining('"brief.created"') },
    });
    const batch = await callApi(api, 'post', '/v1/events/batch', key).send({ events: [EVENT, quickWin] });
    expect(batch.body.data).toMatchObject([
      { status_code: 403, error: { code: 'insufficient_scope' } },
      { status_code: 202 },
    ]);
    const cloudEvent = { specversion: '1.0', id: 'ce-1', source: '/a', ...EVENT };
    const ofCloud = await callApi(api, 'post', '/v1/events', key)
      .set('content-type', 'application/cloudevents+json')
      .send(JSON.stringify(cloudEvent));
    expect([ofCloud.status, ofCloud.body.code]).toEqual([403, 'insufficient_scope']);
  });

  it.each([
    ['patch', '/v1/events/evt-1'],
    ['delete', '/v1/events/evt-1'],
    ['delete', '/v1/events/evt-1/payload'],
  ] as const)('does nothing else with "events:write": %s %s', async (method, path) => {
    const { key } = await issue(['events:write'], { event_types: TYPES });
    const { status, body } = await callApi(api, method, path, key).send({});
    expect([status, body.code]).toEqual([403, 'insufficient_scope']);
  });

  it('lets no session publish', async () => {
    const { key } = await issue(['events:write', 'portal:write'], { event_types: TYPES });
    const asked = await callApi(api, 'post', '/v1/portal-sessions', key).send({
      capabilities: ['read', 'publish'],
    });
    expect([asked.status, asked.body.code]).toEqual([403, 'insufficient_scope']);
  });

  it.each([
    [{ scopes: ['webhooks:read'], event_types: TYPES }],
    [{ scopes: ['events:write'], event_types: [] }],
    [{ scopes: ['events:write'], event_types: ['Order'] }],
    [{ scopes: ['events:write'], event_types: ['*'] }],
  ])('is refused as %j', async (body) => {
    const { key: admin } = await api.issueKey();
    const refused = await callApi(api, 'post', '/v1/api-keys', admin).send({ name: 'ci', ...body });
    expect(refused).toMatchObject({ status: 422 });
    expect(refused.body.errors[0].pointer).toMatch(/^\/event_types/);
  });
});

describe('rotating a key', () => {
  it('gives one that may do the same, while the former one works for the overlap', async () => {
    const { admin, id, key } = await issue(['webhooks:read'], { expires_at: null });
    const rotated = await callApi(api, 'post', `/v1/api-keys/${id}/rotate`, admin).send({
      overlap_seconds: 60,
    });
    expect(rotated).toMatchObject({
      status: 201,
      body: { scopes: ['webhooks:read'], expires_at: null, former_expires_at: expect.any(String) },
    });
    for (const good of [key, rotated.body.key])
      expect((await callApi(api, 'get', '/v1/webhooks', good)).status).toBe(200);
    const listed = await callApi(api, 'get', '/v1/api-keys', admin);
    expect(listed.body.data).toContainEqual(
      expect.objectContaining({
        id,
        rotated_to: rotated.body.id,
        expires_at: rotated.body.former_expires_at,
      }),
    );
    const again = await callApi(api, 'post', `/v1/api-keys/${id}/rotate`, admin);
    expect([again.status, again.body.code]).toEqual([409, 'conflict']);
  });

  it('ends the former one at once without an overlap', async () => {
    const { admin, id, key } = await issue(['webhooks:read']);
    await callApi(api, 'post', `/v1/api-keys/${id}/rotate`, admin).send({ overlap_seconds: 0 }).expect(201);
    expect((await callApi(api, 'get', '/v1/webhooks', key)).status).toBe(401);
  });
});

describe('GET /v1/me', () => {
  it('tells a key its account, scopes, end and limits', async () => {
    const { id, key } = await issue(['accounts:act', 'events:write'], { event_types: ['keyword.*'] });
    const { accountId } = await api.issueKey();
    const { body } = await callApi(api, 'get', '/v1/me', key).set('x-account-id', accountId);
    expect(body).toEqual({
      account_id: accountId,
      type: 'api_key',
      id,
      name: 'backend',
      scopes: ['accounts:act', 'events:write'],
      capabilities: [],
      event_types: ['keyword.*'],
      acts_for_accounts: true,
      expires_at: null,
      limits: { key: { requests: 500, window_seconds: 1 }, account: null, max_event_bytes: 1_024 },
    });
  });

  it('tells a customer that its key acts for nobody else', async () => {
    const { key, accountId } = await api.issueKey();
    const { body } = await callApi(api, 'get', '/v1/me', key);
    expect(body).toMatchObject({ account_id: accountId, acts_for_accounts: false, event_types: null });
  });

  it.each<{ scopes: Scope[]; event_types?: string[]; missing: readonly Capability[] }>([
    { scopes: ['portal:write', 'admin'], missing: ['publish', 'transform', 'audit'] },
    { scopes: ['portal:write', 'events:write', 'audit:read', 'webhooks:write'], missing: ['operate'] },
    {
      scopes: ['portal:write', 'events:write'],
      event_types: ['keyword.*'],
      missing: ['schedule', 'publish', 'transform', 'audit', 'operate'],
    },
    { scopes: ['webhooks:read'], missing: capabilities },
  ])('tells what a session that it makes may be used for: %j', async ({ scopes, event_types, missing }) => {
    const { key } = await issue(scopes, { event_types });
    const { body } = await callApi(api, 'get', '/v1/me', key);
    expect(body.capabilities).toEqual(capabilities.filter((one) => !missing.includes(one)));
    const ask = (asked: readonly string[]) =>
      callApi(api, 'post', '/v1/portal-sessions', key).send({ capabilities: asked });
    if (body.capabilities.length > 0) await ask(body.capabilities).expect(201);
    for (const one of missing) await ask([one]).expect(403);
  });
});
