import { randomUUID } from 'node:crypto';
import { keywordQuickWin } from '@hookferry/core/accounts/event-types/built-in';
import { scopes as allScopes, DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import { keys } from '@hookferry/core/domain/keys';
import { uniqueAccountId } from '@hookferry/core/testing/unique-ids';
import request, { type Test } from 'supertest';
import { readProblem } from '../testing/read-problem';
import { startTestApi, type TestApi } from '../testing/start-test-api';

/** All that a key of a customer may have. */
const scopes = allScopes.filter((scope) => scope !== 'accounts:act');

describe('API keys', () => {
  const DAY_MS = 86_400_000;
  const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

  let api: TestApi;
  let key: string;
  beforeAll(async () => {
    api = await startTestApi();
  });
  beforeEach(async () => {
    ({ key } = await api.issueKey());
  });
  afterAll(() => api.close());

  type Method = 'get' | 'post' | 'delete' | 'patch';

  function call(method: Method, path: string, as = key): Test {
    return request(api.url)[method](path).set('authorization', `Bearer ${as}`);
  }

  async function create(body: object = {}, as = key) {
    const response = await call('post', '/v1/api-keys', as).send({ name: 'ci', scopes: ['admin'], ...body });
    expect(response.status).toBe(201);
    return response.body as Record<string, string> & { readonly id: string; readonly key: string };
  }

  async function statusFor(as: string): Promise<number> {
    return (await call('get', '/v1/api-keys', as)).status;
  }

  describe('POST /v1/api-keys', () => {
    it('issues a key that is good at once, for the scopes it names', async () => {
      const issued = await create({ scopes: ['webhooks:read'] });
      expect(issued).toEqual({
        id: issued.key.slice(4, 20),
        key: expect.stringMatching(/^whk_[0-9a-z]{16}_[0-9A-Za-z]{52}$/),
        name: 'ci',
        scopes: ['webhooks:read'],
        created_at: expect.stringMatching(TIME),
        expires_at: null,
        last_used_at: null,
        event_types: null,
        rotated_to: null,
      });
      expect((await call('get', '/v1/webhooks', issued.key)).status).toBe(200);
      expect(await statusFor(issued.key)).toBe(403);
    });

    it('issues one that ends when it is to', async () => {
      const expiresAt = new Date(Date.now() + DAY_MS).toISOString();
      expect(await create({ expires_at: expiresAt })).toMatchObject({ expires_at: expiresAt });
      const past = { name: 'ci', scopes: ['admin'], expires_at: new Date().toISOString() };
      expect(readProblem(await call('post', '/v1/api-keys').send(past))).toEqual({
        status: 422,
        code: 'invalid_request',
        pointers: ['/expires_at'],
      });
    });

    it('lets an admin grant a scope that its own key has not, within its account', async () => {
      const { key: adminOnly } = await api.issueKey({ scopes: ['admin'] });
      expect(await create({ scopes }, adminOnly)).toMatchObject({ scopes });
    });

    it("issues the first key of another account to an operator who acts for it: it is that account's", async () => {
      const { key: operatorKey } = await api.issueKey({ accountId: DEFAULT_ACCOUNT });
      const { body: account } = await call('post', '/v1/accounts', operatorKey).send({});
      const response = await call('post', '/v1/api-keys', operatorKey)
        .set('x-account-id', account.id)
        .send({ name: 'first', scopes });
      const { body: own } = await call('get', '/v1/api-keys', response.body.key);
      expect(own.data.map(({ id }: { id: string }) => id)).toEqual([response.body.id]);
      expect((await call('get', '/v1/accounts', response.body.key)).status).toBe(403);
    });
  });

  describe('GET /v1/api-keys', () => {
    it("lists the account's keys page by page, newest first, and never a secret", async () => {
      const { key: own } = await api.issueKey({ createdAt: 1_000 });
      const created = [await create({ name: 'a' }, own), await create({ name: 'b' }, own)];
      const first = await call('get', '/v1/api-keys?limit=2', own);
      const second = await call('get', `/v1/api-keys?limit=2&cursor=${first.body.next_cursor}`, own);
      expect([first.body.has_more, second.body.has_more]).toEqual([true, false]);
      const listed = [...first.body.data, ...second.body.data];
      expect(listed.length).toBe(3);
      expect(new Set(listed.slice(0, 2).map(({ id }) => id))).toEqual(new Set(created.map(({ id }) => id)));
      for (const apiKey of listed) {
        expect(Object.keys(apiKey).sort()).toEqual([
          'created_at',
          'event_types',
          'expires_at',
          'id',
          'last_used_at',
          'name',
          'rotated_to',
          'scopes',
        ]);
      }
    });

    it('tells when a key was last used', async () => {
      const { id, key: used } = await create({ scopes: ['webhooks:read'] });
      await call('get', '/v1/webhooks', used);
      for (;;) {
        const { body } = await call('get', '/v1/api-keys');
        const { last_used_at: lastUsedAt } = body.data.find((listed: { id: string }) => listed.id === id);
        if (lastUsedAt === null) continue;
        expect(lastUsedAt).toMatch(TIME);
        break;
      }
    });
  });

  describe('DELETE /v1/api-keys/:id', () => {
    it('ends a key with the next request, and only that one', async () => {
      const [leaked, kept] = [await create(), await create()];
      expect(await statusFor(leaked.key)).toBe(200);
      expect((await call('delete', `/v1/api-keys/${leaked.id}`)).status).toBe(204);
      expect([await statusFor(leaked.key), await statusFor(kept.key)]).toEqual([401, 200]);
      expect(readProblem(await call('delete', `/v1/api-keys/${leaked.id}`))).toMatchObject({ status: 404 });
    });

    const own = (query = '') => `/v1/api-keys/${key.slice(4, 20)}${query}`;

    it('ends also the key that asks for it', async () => {
      await create();
      expect((await call('delete', own())).status).toBe(204);
      expect(await statusFor(key)).toBe(401);
    });

    it('has to be asked twice for the last one of an account that can issue others', async () => {
      await create({ scopes: ['webhooks:read'] });
      for (const query of ['', '?last=false']) {
        expect(readProblem(await call('delete', own(query)))).toEqual({
          status: 409,
          code: 'last_admin_key',
        });
      }
      expect(readProblem(await call('delete', own('?last=yes')))).toMatchObject({
        status: 422,
        pointers: ['?/last'],
      });
      expect((await call('delete', own('?last=true'))).status).toBe(204);
      expect(await statusFor(key)).toBe(401);
    });

    it('has to be by the operator too; who can let an account in again that has no key left', async () => {
      const { key: operatorKey, accountId } = await lockedOut();
      const issued = await call('post', '/v1/api-keys', operatorKey)
        .set('x-account-id', accountId)
        .send({ name: 'back', scopes });
      expect(issued.status).toBe(201);
      expect((await call('get', '/v1/webhooks', issued.body.key)).status).toBe(200);
    });

    async function lockedOut() {
      const { key: operatorKey } = await api.issueKey({ accountId: DEFAULT_ACCOUNT });
      const { body: account } = await call('post', '/v1/accounts', operatorKey).send({});
      const asIt = (test: Test) => test.set('x-account-id', account.id);
      const { body } = await asIt(call('post', '/v1/api-keys', operatorKey)).send({ name: 'only', scopes });
      expect((await asIt(call('delete', `/v1/api-keys/${body.id}`, operatorKey))).status).toBe(409);
      expect((await asIt(call('delete', `/v1/api-keys/${body.id}?last=true`, operatorKey))).status).toBe(204);
      expect(await statusFor(body.key)).toBe(401);
      return { key: operatorKey, accountId: account.id as string };
    }

    it("leaves another account's key alone", async () => {
      const unknownEndpoint = await api.issueKey();
      expect((await call('delete', `/v1/api-keys/${key.slice(4, 20)}`, unknownEndpoint.key)).status).toBe(
        404,
      );
      expect(await statusFor(key)).toBe(200);
    });
  });

  it('a key that has expired is refused, and says so', async () => {
    const { key: expired } = await api.issueKey({ expiresAt: Date.now() - 1 });
    const response = await call('get', '/v1/api-keys', expired);
    expect(readProblem(response)).toEqual({ status: 401, code: 'unauthenticated' });
    expect(response.headers['www-authenticate']).toBe('Bearer');
    expect(response.body.detail).toMatch(/^The API key expired at /);
  });

  describe('accounts', () => {
    it('are created with an id of their own or one that is made, are read, and never twice', async () => {
      const { key: operatorKey } = await api.issueKey({ accountId: DEFAULT_ACCOUNT });
      const id = uniqueAccountId();
      const created = await call('post', '/v1/accounts', operatorKey).send({ id, name: 'Acme' });
      expect(created.status).toBe(201);
      expect(created.headers.location).toBe(`/v1/accounts/${id}`);
      expect(created.body).toEqual({
        id,
        name: 'Acme',
        weight: 1,
        cloudevents_source: null,
        endpoint_verification: null,
        erasure: null,
        pause: null,
        history_retention: null,
        quota_bytes: null,
        default_signing: 'hmac',
        status: 'active',
        created_at: expect.stringMatching(TIME),
      });
      expect((await call('get', `/v1/accounts/${id}`, operatorKey)).body).toEqual(created.body);
      const again = await call('post', '/v1/accounts', operatorKey).send({ id });
      expect(readProblem(again)).toEqual({ status: 409, code: 'conflict' });
      const { body: list } = await call('get', '/v1/accounts', operatorKey);
      expect(list.data[0]).toEqual(created.body);
    });

    it.each(['', 'a b', 'a/b', 'a:b', '{a}', 'ü', 'a'.repeat(65)])(
      'are not given the id "%s"',
      async (id) => {
        const { key: operatorKey } = await api.issueKey({ accountId: DEFAULT_ACCOUNT });
        const response = await call('post', '/v1/accounts', operatorKey).send({ id });
        expect(readProblem(response)).toMatchObject({ status: 422, pointers: ['/id'] });
      },
    );

    it('have a weight, given at first or later', async () => {
      const { key: operatorKey } = await api.issueKey({ accountId: DEFAULT_ACCOUNT });
      const id = uniqueAccountId();
      const created = await call('post', '/v1/accounts', operatorKey).send({ id, weight: 3 });
      expect(created.body).toMatchObject({ id, weight: 3 });
      const path = `/v1/accounts/${id}`;
      const changed = await call('patch', path, operatorKey).send({ weight: 5 });
      expect({ status: changed.status, body: changed.body }).toEqual({
        status: 200,
        body: { ...created.body, weight: 5 },
      });
      expect((await call('patch', path, operatorKey).send({})).body).toEqual(changed.body);
      expect((await call('get', path, operatorKey)).body).toEqual(changed.body);
    });

    it('have a weight that only an operator changes, between 1 and 100', async () => {
      const { key: operatorKey } = await api.issueKey({ accountId: DEFAULT_ACCOUNT });
      const id = uniqueAccountId();
      const created = await call('post', '/v1/accounts', operatorKey).send({ id });
      const path = `/v1/accounts/${id}`;
      const { key: ownKey } = await api.issueKey({ accountId: id });
      expect((await call('patch', path, ownKey).send({ weight: 5 })).status).toBe(403);
      for (const weight of [0, 101, 1.5, '5', null]) {
        expect(readProblem(await call('patch', path, operatorKey).send({ weight }))).toEqual({
          status: 422,
          code: 'invalid_request',
          pointers: ['/weight'],
        });
      }
      expect((await call('get', path, operatorKey)).body).toEqual(created.body);
      const unknown = `/v1/accounts/${uniqueAccountId()}`;
      expect((await call('patch', unknown, operatorKey).send({ weight: 5 })).status).toBe(404);
    });

    it('keep their weight while they are being erased', async () => {
      const { key: operatorKey } = await api.issueKey({ accountId: DEFAULT_ACCOUNT });
      const id = uniqueAccountId();
      await call('post', '/v1/accounts', operatorKey).send({ id, weight: 3 });
      const path = `/v1/accounts/${id}`;
      await call('delete', path, operatorKey);
      expect((await call('patch', path, operatorKey).send({ weight: 5 })).status).toBe(404);
      expect((await call('get', path, operatorKey)).body).toMatchObject({ weight: 3, status: 'erasing' });
    });

    it('have the default one from the start', async () => {
      const { key: operatorKey } = await api.issueKey({ accountId: DEFAULT_ACCOUNT });
      const { body } = await call('get', '/v1/accounts/default', operatorKey);
      expect(body).toEqual({
        id: 'default',
        name: null,
        weight: 1,
        cloudevents_source: null,
        endpoint_verification: null,
        erasure: null,
        pause: null,
        history_retention: null,
        quota_bytes: null,
        default_signing: 'hmac',
        status: 'active',
        created_at: expect.stringMatching(TIME),
      });
    });

    it('are erased: at once for clients with a key of theirs or acting for them, and visibly until all is gone', async () => {
      const { key: operatorKey } = await api.issueKey({ accountId: DEFAULT_ACCOUNT });
      const { key: other, accountId } = await api.issueKey();
      await call('post', '/v1/accounts', operatorKey).send({ id: accountId });
      const webhook = { url: 'https://receiver.example.com/hooks', events: ['*'] };
      await call('post', '/v1/webhooks', other).send(webhook);

      const erased = await call('delete', `/v1/accounts/${accountId}`, operatorKey);
      const erasure = { requested_at: expect.stringMatching(TIME) };
      expect(erased).toMatchObject({ status: 202, body: { id: accountId, status: 'erasing', erasure } });
      expect(await statusFor(other)).toBe(401);
      const acting = await call('post', '/v1/webhooks', operatorKey)
        .set('x-account-id', accountId)
        .send(webhook);
      expect(readProblem(acting)).toEqual({ status: 404, code: 'not_found' });
      expect((await call('get', `/v1/accounts/${accountId}`, operatorKey)).body).toEqual({
        ...erased.body,
        erasure: { ...erased.body.erasure, webhooks_left: 1, events_left: 0 },
      });
      const again = await call('delete', `/v1/accounts/${accountId}`, operatorKey);
      expect(again).toMatchObject({ status: 202, body: erased.body });
      const anew = await call('post', '/v1/accounts', operatorKey).send({ id: accountId });
      expect(readProblem(anew)).toEqual({ status: 409, code: 'conflict' });
    });

    it('are paused and resumed by an operator, and say by whom, since when, and why', async () => {
      const { key: operatorKey } = await api.issueKey({ accountId: DEFAULT_ACCOUNT });
      const { key: own, accountId } = await api.issueKey();
      const path = `/v1/accounts/${accountId}`;
      const webhook = { url: 'https://receiver.example.com/hooks', events: ['*'] };
      const { body: created } = await call('post', '/v1/webhooks', own).send(webhook);
      const statusOfWebhook = async () => {
        const { body } = await call('get', `/v1/webhooks/${created.id}`, own);
        return [body.status, body.disabled_reason];
      };

      const paused = await call('post', `${path}/pause`, operatorKey).send({ reason: ' too loud ' });
      const by = { type: 'api_key', id: operatorKey.slice(4, 20) };
      const pause = { paused_at: expect.stringMatching(TIME), reason: 'too loud', by };
      expect(paused).toMatchObject({ status: 200, body: { id: accountId, pause, webhooks_changed: 1 } });
      expect(await statusOfWebhook()).toEqual(['disabled', 'operator']);
      const again = await call('post', `${path}/pause`, operatorKey);
      expect(again.body).toEqual({ ...paused.body, webhooks_changed: 0 });
      expect((await call('get', path, operatorKey)).body.pause).toEqual(paused.body.pause);
      const { body: list } = await call('get', '/v1/accounts', operatorKey);
      expect(list.data.find(({ id }: { id: string }) => id === accountId).pause).toEqual(paused.body.pause);
      const { body: operations } = await call('get', '/v1/operations', operatorKey);
      expect(operations.paused_accounts).toContainEqual({ account_id: accountId, pause: paused.body.pause });

      const resumed = await call('post', `${path}/resume`, operatorKey);
      expect(resumed).toMatchObject({ status: 200, body: { pause: null, webhooks_changed: 1 } });
      expect(await statusOfWebhook()).toEqual(['enabled', null]);
      const { body: log } = await call('get', `/v1/audit-log?target=${accountId}`, operatorKey);
      expect(
        log.data.map(({ action, changes }: { action: string; changes: object[] }) => [action, changes]),
      ).toEqual([
        ['account.resume', []],
        ['account.pause', [{ field: 'reason', to: 'too loud' }]],
      ]);
    });

    it('are paused by no other key, for no reason that is too long, and not while they are erased', async () => {
      const { key: operatorKey } = await api.issueKey({ accountId: DEFAULT_ACCOUNT });
      const { key: own, accountId } = await api.issueKey();
      const { key: narrow } = await api.issueKey({ accountId: DEFAULT_ACCOUNT, scopes: ['accounts:act'] });
      const path = `/v1/accounts/${accountId}`;
      for (const act of ['pause', 'resume']) {
        const foreign = await call('post', `${path}/${act}`, own);
        expect(readProblem(foreign)).toMatchObject({ status: 403, code: 'operator_only' });
        const refused = await call('post', `${path}/${act}`, narrow);
        expect(refused.status).toBe(403);
        expect(refused.body.detail).toContain('admin');
      }
      for (const reason of ['', '  ', 'x'.repeat(301), 5]) {
        const bad = await call('post', `${path}/pause`, operatorKey).send({ reason });
        expect(readProblem(bad)).toMatchObject({ status: 422, pointers: ['/reason'] });
      }
      expect((await call('get', path, operatorKey)).body.pause).toBeNull();
      await call('post', `${path}/pause`, operatorKey);
      const erased = await call('delete', path, operatorKey);
      expect(erased.status).toBe(202);
      expect((await call('post', `${path}/pause`, operatorKey)).status).toBe(404);
      expect((await call('post', `${path}/resume`, operatorKey)).status).toBe(404);
    });

    it('see nothing of what an operator did for another one', async () => {
      const { key: operatorKey } = await api.issueKey({ accountId: DEFAULT_ACCOUNT });
      const { key: other, accountId } = await api.issueKey();
      await call('post', '/v1/accounts', operatorKey).send({ id: accountId });
      const created = await call('post', '/v1/webhooks', operatorKey)
        .set('x-account-id', accountId)
        .send({ url: 'https://receiver.example.com/hooks', events: ['*'] });
      expect((await call('get', `/v1/webhooks/${created.body.id}`, other)).status).toBe(200);
      expect((await call('get', `/v1/webhooks/${created.body.id}`, operatorKey)).status).toBe(404);
    });
  });
});

describe('the quota of an account', () => {
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
    expect(await change(null)).toMatchObject({ quota_bytes: null });
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

  it('keeps the history of an account for as long as its operator says, and as that of any when it says so no more', async () => {
    const operator = client(operatorKey);
    const id = uniqueAccountId();
    const created = await operator.send('post', '/v1/accounts').send({ id, history_retention: '30d' });
    expect([created.status, created.body.history_retention]).toEqual([201, '30d']);
    const change = async (patch: object) =>
      (await operator.send('patch', `/v1/accounts/${id}`).send(patch).expect(200)).body;
    expect(await change({ weight: 2 })).toMatchObject({ weight: 2, history_retention: '30d' });
    expect(await change({ history_retention: '9600h' })).toMatchObject({ history_retention: '400d' });
    expect((await operator.send('get', `/v1/accounts/${id}`)).body).toMatchObject({
      history_retention: '400d',
    });
    expect(await change({ history_retention: null })).toMatchObject({ history_retention: null });
    expect(await change({})).toMatchObject({ weight: 2 });
  });

  it.each(['36h', '0d', '10001d', '30', 'P30D', ' 30d', 30, {}])(
    'refuses %p as the retention of a history',
    async (history_retention) => {
      const patch = client(operatorKey).send('patch', '/v1/accounts/default').send({ history_retention });
      const { body } = await patch.expect(422);
      expect(body.errors).toMatchObject([{ pointer: '/history_retention' }]);
    },
  );

  it('has no bytes of a history in the usage where there is none', async () => {
    const usage = await client(operatorKey).usage();
    expect(usage).toMatchObject({ redis_bytes: usage.used_bytes });
    expect(usage).toMatchObject({ history_bytes: null });
  });

  it('counts what it refuses, and how many accounts are near their quota', async () => {
    await arrangeFull();
    const { text } = await request(api.url).get('/metrics').expect(200);
    expect(text).toMatch(/webhooks_quota_rejections_total\{door="http"\} [1-9]/);
    expect(text).toMatch(/webhooks_accounts_over_quota [1-9]/);
    expect(text).toMatch(/webhooks_accounts_used_bytes [1-9]/);
  });
});
