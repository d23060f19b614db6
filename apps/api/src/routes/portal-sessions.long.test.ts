import { PortalSessionStore } from '@hookferry/core/accounts/redis-portal-session-store';
import { type AccountId, DEFAULT_ACCOUNT, hashKey } from '@hookferry/core/domain/account';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { buildPortalSession } from '@hookferry/core/testing/build-portal-session';
import { createClosables } from '@hookferry/core/testing/closables';
import request from 'supertest';
import { saveBelongings } from '../testing/belongings';
import { callApi, callRoute, signIn as signInTo } from '../testing/call-route';
import { readProblem } from '../testing/read-problem';
import { type RouteCase, routeCases } from '../testing/route-cases';
import { startTestApi, type TestApi } from '../testing/start-test-api';

let api: TestApi;
let key: string;
let accountId: AccountId;
let operatorKey: string;
beforeAll(async () => {
  api = await startTestApi({ PUBLIC_URL: '' });
  ({ key: operatorKey } = await api.issueKey({ accountId: DEFAULT_ACCOUNT }));
});
beforeEach(async () => {
  ({ key, accountId } = await api.issueKey());
});
afterAll(() => api.close());

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

type Method = RouteCase['method'];
type Input = Readonly<Record<string, unknown>>;

const call = (method: Method, path: string, as?: string, to: Pick<TestApi, 'url'> = api) =>
  callApi(to, method, path, as);

async function link(input: Input = {}, as = key) {
  const { status, body } = await call('post', '/v1/portal-sessions', as).send(input);
  expect(status).toBe(201);
  return { ...body, code: new URL(body.url).hash.replace('#code=', '') } as Record<
    'id' | 'url' | 'code',
    string
  >;
}

const exchange = (code: string, to?: Pick<TestApi, 'url'>) =>
  call('post', '/v1/portal-sessions/exchange', undefined, to).send({ code });

const signIn = (input: Input = {}, as = key) => signInTo(api, as, input);

const UNAUTHENTICATED = { status: 401, code: 'unauthenticated' };

describe('a link to the portal', () => {
  it('opens a session that is good for what it names', async () => {
    const theme = { name: 'Acme', color: '#1f6feb' };
    const { url, code, id } = await link({ return_url: 'https://app.example.com/hooks', theme });
    expect(url).toBe(`${api.url}/portal/#code=${code}`);
    const opened = await exchange(code);
    expect(opened.headers['cache-control']).toBe('no-store');
    expect(opened.body).toEqual({
      token: expect.stringMatching(/^whp_[0-9a-z]{16}_[0-9a-z]{52}$/),
      id,
      account_id: accountId,
      capabilities: ['read', 'webhooks', 'redeliver'],
      expires_at: expect.any(String),
      return_url: 'https://app.example.com/hooks',
      theme,
    });
    const made = await call('post', '/v1/webhooks', opened.body.token).send({
      url: 'https://receiver.example.com',
      events: ['*'],
    });
    expect(made.status).toBe(201);
    expect((await call('get', `/v1/webhooks/${made.body.id}`, key)).status).toBe(200);
  });

  it('is good for one time, also for twenty at once', async () => {
    const { code } = await link();
    const answers = await Promise.all(Array.from({ length: 20 }, () => exchange(code)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const late = await exchange(code);
    expect(readProblem(late)).toEqual(UNAUTHENTICATED);
    expect(late.body.detail).toBe('The link was used already. Each link works once: ask for a new one.');
    expect(late.headers['www-authenticate']).toBe('Bearer');
  });

  it('is the same again for a repeated request, and leads to one session', async () => {
    const again = () => call('post', '/v1/portal-sessions', key).set('idempotency-key', accountId);
    const [first, second] = [await again(), await again()];
    expect(second.body).toEqual(first.body);
    expect((await call('get', '/v1/portal-sessions', key)).body.data).toHaveLength(1);
  });

  it('begins with PUBLIC_URL, or with what the request was sent to, through proxies that are believed', async () => {
    const over = async (environment: Record<string, string>, headers: Record<string, string>) => {
      const other = willClose(
        await startTestApi({ REDIS_URL: api.redis.url, PUBLIC_URL: '', ...environment }),
      );
      const made = await call('post', '/v1/portal-sessions', key, other).set(headers);
      return String(made.body.url).split('#')[0];
    };
    const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'hooks.example.com' };
    expect(await over({ PUBLIC_URL: 'https://hooks.example.com/' }, {})).toBe(
      'https://hooks.example.com/portal/',
    );
    expect(await over({ TRUST_PROXY: '1' }, forwarded)).toBe('https://hooks.example.com/portal/');
    expect(await over({}, { host: 'internal:3000', ...forwarded })).toBe('http://internal:3000/portal/');
  });

  it('is refused, and no session made, for an invalid host; PUBLIC_URL makes up for it', async () => {
    const named = (host: string, at = api) => call('post', '/v1/portal-sessions', key, at).set('host', host);
    const answers = await Promise.all(
      ['a b', 'a"><script>', 'x/y#z', 'u@example.com'].map((host) => named(host)),
    );
    for (const answer of answers) {
      expect(readProblem(answer)).toMatchObject({ status: 400, code: 'malformed_request' });
    }
    expect((await call('get', '/v1/portal-sessions', key)).body.data).toEqual([]);
    const settings = { REDIS_URL: api.redis.url, PUBLIC_URL: 'https://hooks.example.com' };
    const other = willClose(await startTestApi(settings));
    expect((await named('a b', other)).body.url).toMatch(/^https:\/\/hooks\.example\.com\/portal\/#/);
  });

  it('is warned of at start where any host may name itself', async () => {
    const warned = async (environment: Record<string, string>) => {
      const other = willClose(await startTestApi({ PUBLIC_URL: '', ...environment }));
      return other.signals.named('public_url.unset').length;
    };
    expect(await warned({ API_HOST: '0.0.0.0' })).toBe(1);
    expect(await warned({ API_HOST: '0.0.0.0', PUBLIC_URL: 'https://hooks.example.com' })).toBe(0);
    expect(await warned({ API_HOST: '0.0.0.0', PORTAL: 'false' })).toBe(0);
    expect(await warned({ API_HOST: '127.0.0.1' })).toBe(0);
  });

  it('carries the language that it was asked for', async () => {
    const { url, code } = await link({ language: 'en' });
    expect(url).toBe(`${api.url}/portal/?language=en#code=${code}`);
    expect((await exchange(code)).status).toBe(200);
  });

  it('names the languages that there are where another one is asked for', async () => {
    const response = await call('post', '/v1/portal-sessions', key).send({ language: 'xx' });
    expect(response.body.errors).toEqual([
      { pointer: '/language', detail: expect.stringMatching(/^must be a language of the portal: en/) },
    ]);
  });

  it.each([
    ['/expires_in_seconds', { expires_in_seconds: 59 }],
    ['/capabilities/0', { capabilities: ['admin'] }],
    ['/capabilities', { capabilities: ['secrets'] }],
    ['/capabilities', { account_id: 'acme', capabilities: ['operate'] }],
    ['/return_url', { return_url: 'javascript:alert(1)' }],
    ['/theme/logo', { theme: { logo: 'https://example.com/logo.png' } }],
    ['/theme/color', { theme: { color: 'red' } }],
    ['/language', { language: 'xx' }],
  ])('is refused for a fault at %s: %j', async (pointer, input) => {
    const response = await call('post', '/v1/portal-sessions', operatorKey).send(input);
    expect(readProblem(response)).toEqual({ status: 422, code: 'invalid_request', pointers: [pointer] });
  });

  it('has failures that count for the address as those of wrong keys do', async () => {
    const guarded = willClose(await startTestApi({ AUTH_FAILURE_LIMIT: '3/1m' }));
    const { code } = buildPortalSession();
    for (let i = 0; i < 2; i += 1) expect((await exchange(code, guarded)).status).toBe(401);
    expect((await call('get', '/v1/webhooks', buildApiKey().key, guarded)).status).toBe(401);
    const blocked = await exchange(code, guarded);
    expect(readProblem(blocked)).toEqual({ status: 429, code: 'rate_limited' });
    expect(Number(blocked.headers['retry-after'])).toBeGreaterThan(0);
  });
});

describe('a session', () => {
  it('is listed with what it is for, and whether it was opened, and never with what opens it', async () => {
    const { id, code } = await link({ capabilities: [] });
    const read = () => call('get', '/v1/portal-sessions', key);
    expect((await read()).body).toEqual({
      data: [
        {
          id,
          account_id: accountId,
          capabilities: ['read'],
          label: null,
          created_at: expect.any(String),
          expires_at: expect.any(String),
          exchanged_at: null,
        },
      ],
      next_cursor: null,
      has_more: false,
    });
    const { body } = await exchange(code);
    const { text } = await read();
    expect(JSON.parse(text).data[0].exchanged_at).not.toBeNull();
    for (const secret of [code, body.token]) expect(text).not.toContain(secret.slice(-30));
  });

  it('ends at once when it is revoked, and when its key or its account goes', async () => {
    const endings = {
      revoked: async (id: string) => call('delete', `/v1/portal-sessions/${id}`, key),
      'its key revoked': async () => call('delete', `/v1/api-keys/${key.slice(4, 20)}?last=true`, key),
      'its account erased': async () => call('delete', `/v1/accounts/${accountId}`, operatorKey),
    };
    for (const end of Object.values(endings)) {
      ({ key, accountId } = await api.issueKey());
      const { id, code } = await link();
      const { token } = (await exchange(code)).body;
      const unopened = await link();
      expect((await call('get', '/v1/webhooks', token)).status).toBe(200);
      expect((await end(id)).status).toBeLessThan(300);
      expect(readProblem(await call('get', '/v1/webhooks', token))).toEqual(UNAUTHENTICATED);
      // A session that was revoked is not the one of the other link.
      const afterwards = await exchange(unopened.code);
      expect(afterwards.status).toBe(end === endings.revoked ? 200 : 401);
    }
  });

  it('of an operator for another account is revoked by the key that made it, and by no other of that operator', async () => {
    const { id, code } = await link({ account_id: accountId }, operatorKey);
    const { token } = (await exchange(code)).body;
    const another = (await api.issueKey({ accountId: DEFAULT_ACCOUNT })).key;
    expect((await call('delete', `/v1/portal-sessions/${id}`, another)).status).toBe(404);
    expect((await call('get', '/v1/webhooks', token)).status).toBe(200);
    expect((await call('delete', `/v1/portal-sessions/${id}`, operatorKey)).status).toBe(204);
    expect(readProblem(await call('get', '/v1/webhooks', token))).toEqual(UNAUTHENTICATED);
  });

  it('of an operator for another account ends when that is erased', async () => {
    const token = await signIn({ account_id: accountId }, operatorKey);
    expect((await call('get', '/v1/webhooks', token)).status).toBe(200);
    await call('delete', `/v1/accounts/${accountId}`, operatorKey);
    expect(readProblem(await call('get', '/v1/webhooks', token))).toEqual(UNAUTHENTICATED);
  });

  it('is refused once its time is over, and its code is refused before that', async () => {
    const now = Date.now();
    const apiKeyId = key.slice(4, 20);
    const store = new PortalSessionStore(api.redis.client);
    const late = buildPortalSession({ accountId, apiKeyId, codeExpiresAt: now });
    await store.save(late.record, {}, 10, now);
    expect((await exchange(late.code)).body).toMatchObject({
      ...UNAUTHENTICATED,
      detail: 'The link was not used in time. Ask for a new one.',
    });
    // Redis lets go of what has expired by itself; here it is as if its clock were behind.
    const over = buildPortalSession({ accountId, apiKeyId });
    const token = over.code.replace('whc_', 'whp_');
    await store.save(over.record, {}, 10, now);
    await store.exchange(over.record, { tokenSha256: hashKey(token), exchangedAt: now });
    expect((await call('get', '/v1/webhooks', token)).status).toBe(200);
    const record = JSON.stringify({ ...over.record, expiresAt: now });
    await api.redis.client.hset(`portal-session:{${over.record.id}}`, 'session', record);
    expect(readProblem(await call('get', '/v1/webhooks', token))).toEqual(UNAUTHENTICATED);
  });

  it('counts for the rate limit, its own and that of its account', async () => {
    const limited = willClose(await startTestApi({ RATE_LIMIT: '3/1h' }));
    const { key: maker } = await limited.issueKey();
    const made = await call('post', '/v1/portal-sessions', maker, limited);
    const { body } = await exchange(new URL(made.body.url).hash.replace('#code=', ''), limited);
    const ask = async (as: string) => (await call('get', '/v1/webhooks', as, limited)).status;
    expect([await ask(body.token), await ask(body.token)]).toEqual([200, 200]);
    expect([await ask(body.token), await ask(maker)]).toEqual([429, 429]);
  });

  it('is named in the log, without its code and its token', async () => {
    const { id, code } = await link();
    const { token } = (await exchange(code)).body;
    await call('get', '/v1/webhooks', token);
    await exchange(code);
    const said = api.signals.named('request.completed').filter(({ sessionId }) => sessionId === id);
    expect(said).toEqual([expect.objectContaining({ accountId, route: '/v1/webhooks', status: 200 })]);
    expect(said[0]?.keyId).toBeUndefined();
    const everything = JSON.stringify(api.signals.all());
    for (const secret of [code, token]) expect(everything).not.toContain(secret.slice(-30));
  });
});

describe('what a session may do', () => {
  it('is told by name', async () => {
    const token = await signIn({ capabilities: ['webhooks'] });
    const detailOf = async (method: Method, path: string) => (await call(method, path, token)).body.detail;
    expect(await detailOf('get', '/v1/webhooks/wh_1/secret')).toBe(
      'This portal session lacks the capability "secrets".',
    );
    expect(await detailOf('get', '/v1/api-keys')).toBe('This portal session lacks the scope "admin".');
  });

  it('makes an operator act for any account, with the capability for it alone', async () => {
    const operate = await signIn({ capabilities: ['operate'] }, operatorKey);
    const plain = await signIn({}, operatorKey);
    const act = (token: string) => call('get', '/v1/webhooks', token).set('x-account-id', accountId);
    expect((await act(operate)).status).toBe(200);
    expect(readProblem(await act(plain))).toEqual({ status: 403, code: 'operator_only' });
  });
});

describe("another site's page", () => {
  it('has nothing of a session: no cookie is set, and none is taken', async () => {
    const token = await signIn({ capabilities: ['webhooks', 'redeliver', 'secrets'] });
    const own = await saveBelongings(api.redis, accountId);
    const cookie = ['token', 'session', 'authorization'].map((name) => `${name}=${token}`).join('; ');
    for (const route of routeCases.filter(({ scope }) => scope !== 'none')) {
      const response = await callRoute(api, route, undefined, own).set({
        cookie,
        origin: 'https://evil.example',
      });
      expect(readProblem(response)).toEqual(UNAUTHENTICATED);
      expect(response.headers['set-cookie']).toBeUndefined();
    }
  });

  it('may not read answers, nor send what a browser asks about first', async () => {
    const { code } = await link();
    const origin = 'https://evil.example';
    const preflight = await request(api.url)
      .options('/v1/portal-sessions/exchange')
      .set({ origin, 'access-control-request-method': 'POST' });
    expect(preflight.status).toBe(405);
    const form = await call('post', '/v1/portal-sessions/exchange')
      .set({ origin, 'content-type': 'text/plain' })
      .send(JSON.stringify({ code }));
    expect(form.status).toBe(415);
    const opened = await exchange(code).set({ origin });
    expect(opened.status).toBe(200);
    for (const { headers } of [preflight, form, opened]) {
      expect(headers['access-control-allow-origin']).toBeUndefined();
      expect(headers['set-cookie']).toBeUndefined();
    }
  });

  it('may read answers if it is listed, to requests with a session', async () => {
    const origin = 'https://app.example.com';
    const other = willClose(await startTestApi({ PORTAL_ALLOWED_ORIGINS: origin }));
    const { key: otherKey } = await other.issueKey();
    const token = await signInTo(other, otherKey, {});
    const asked = await request(other.url).options('/v1/webhooks').set({
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
    });
    expect(asked.status).toBe(204);
    expect(asked.headers).toMatchObject({
      vary: 'Origin',
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': expect.stringContaining('authorization, content-type'),
      'access-control-max-age': '600',
    });
    const list = (as: string | undefined, from: string) =>
      call('get', '/v1/webhooks', as, other).set({ origin: from });
    const listed = await list(token, origin);
    expect(listed.status).toBe(200);
    expect(listed.headers).toMatchObject({ vary: 'Origin', 'access-control-allow-origin': origin });
    expect(listed.headers['access-control-expose-headers']).toContain('Retry-After');
    expect(readProblem(await list(otherKey, origin))).toEqual({ status: 403, code: 'insufficient_scope' });
    expect(readProblem(await list(undefined, origin))).toEqual(UNAUTHENTICATED);
    for (const from of ['https://evil.example', 'null', `${origin}.evil.example`, 'http://app.example.com']) {
      const kept = await list(token, from);
      expect(kept.headers['access-control-allow-origin']).toBeUndefined();
      expect(kept.headers['vary']).toBe('Origin');
      // A server may send any Origin: only a browser keeps the response from its page.
      expect((await list(otherKey, from)).status).toBe(200);
    }
    for (const { headers } of [asked, listed])
      expect(headers['access-control-allow-credentials']).toBeUndefined();
  });

  it('may not frame the portal unless it is named', async () => {
    const policyOf = async (environment: Record<string, string>) => {
      const other = willClose(await startTestApi(environment));
      const { headers } = await call('get', '/portal/', undefined, other);
      return [headers['content-security-policy']?.split('frame-ancestors ')[1], headers['x-frame-options']];
    };
    expect(await policyOf({})).toEqual(["'none'", 'DENY']);
    const named = { PORTAL_FRAME_ANCESTORS: 'https://app.example.com, https://other.example.com' };
    expect(await policyOf(named)).toEqual(['https://app.example.com https://other.example.com', undefined]);
  });
});

it('serves no portal where it is not wanted', async () => {
  const other = willClose(await startTestApi({ PORTAL: 'false' }));
  const response = await call('get', '/portal/', undefined, other);
  expect(readProblem(response)).toEqual({ status: 404, code: 'route_not_found' });
  expect(response.body.detail).toBe('There is no GET /portal/.');
});
