import type { AccountId } from '@hookferry/core/domain/account';
import { createLocalJWKSet } from 'jose';
import request from 'supertest';
import { startTestApi, type TestApi } from '../testing/start-test-api';

let api: TestApi;
let key: string;
let accountId: AccountId;
beforeAll(async () => {
  api = await startTestApi({ SIGNING_KEY_LEAD: '1h' });
});
beforeEach(async () => {
  ({ key, accountId } = await api.issueKey());
});
afterAll(() => api.close());

const WEBHOOK = { url: 'https://receiver.example.com/hooks', events: ['*'] };

function call(method: 'get' | 'post' | 'patch', path: string, body?: object, authorization = key) {
  const sending = request(api.url)[method](path).auth(authorization, { type: 'bearer' });
  return body === undefined ? sending : sending.send(body);
}

const jwks = (account: string = accountId) =>
  request(api.url).get(`/.well-known/webhooks/${account}/jwks.json`);
const list = async () => (await call('get', '/v1/signing-keys')).body;
const rotate = (body: object = {}) => call('post', '/v1/signing-keys/rotate', body);

describe("a webhook's signing", () => {
  it('is by its secret unless it says otherwise, and then no key is made', async () => {
    const { body } = await call('post', '/v1/webhooks', WEBHOOK);
    expect(body).toMatchObject({ signing: 'hmac' });
    expect(body).toMatchObject({ public_key: null });
    expect((await call('get', `/v1/webhooks/${body.id}`)).body).toMatchObject({ public_key: null });
    expect((await list()).data).toEqual([]);
  });

  it.each(['ed25519', 'both'])('shows the public key of its account where it is %s', async (signing) => {
    const { body: created } = await call('post', '/v1/webhooks', { ...WEBHOOK, signing });
    expect(created).toMatchObject({
      signing,
      public_key: expect.stringMatching(/^whpk_[A-Za-z0-9+/]{43}=$/),
    });
    const { body: read } = await call('get', `/v1/webhooks/${created.id}`);
    expect(read).toMatchObject({ signing, public_key: created.public_key });
    const { data } = await list();
    expect(data).toMatchObject([
      { public_key: created.public_key, status: 'signing', signing_ends_at: null },
    ]);
  });

  it('changes, and goes back to the secret with null', async () => {
    const { body } = await call('post', '/v1/webhooks', WEBHOOK);
    const path = `/v1/webhooks/${body.id}`;
    expect((await call('patch', path, { signing: 'both' })).body).toMatchObject({ signing: 'both' });
    expect((await call('get', path)).body).toHaveProperty('public_key');
    expect((await call('patch', path, { signing: null })).body).toMatchObject({ signing: 'hmac' });
    expect((await call('patch', path, { signing: 'rsa' })).body).toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: '/signing' }],
    });
  });

  it("is the account's default for new webhooks, until it says otherwise itself", async () => {
    const operator = (await api.issueKey({ accountId: 'default' as AccountId })).key;
    const { body: old } = await call('post', '/v1/webhooks', WEBHOOK);
    const path = `/v1/accounts/${accountId}`;
    expect((await call('get', path, undefined, operator)).body).toMatchObject({ default_signing: 'hmac' });
    const changed = await call('patch', path, { default_signing: 'ed25519' }, operator);
    expect(changed.body).toMatchObject({ default_signing: 'ed25519' });
    const { body: created } = await call('post', '/v1/webhooks', WEBHOOK);
    expect(created).toMatchObject({ signing: 'ed25519', public_key: expect.any(String) });
    const { body: other } = await call('post', '/v1/webhooks', { ...WEBHOOK, signing: 'hmac' });
    expect(other).toMatchObject({ signing: 'hmac' });
    expect((await call('get', `/v1/webhooks/${old.id}`)).body).toMatchObject({ signing: 'hmac' });
    // `hookferry listen` verifies by the secret.
    const { body: listener } = await call('post', '/v1/listeners', { name: 'laptop' });
    expect((await call('get', `/v1/webhooks/${listener.id}`)).body).toMatchObject({ signing: 'hmac' });
  });
});

describe('the published keys', () => {
  it('are there for anybody, in a form that jose reads', async () => {
    await call('post', '/v1/webhooks', { ...WEBHOOK, signing: 'ed25519' });
    const { status, headers, body } = await jwks();
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'public, max-age=300',
      etag: expect.stringMatching(/^".+"$/),
    });
    const { data, jwks_path: path } = await list();
    expect(path).toBe(`/.well-known/webhooks/${accountId}/jwks.json`);
    expect(body).toEqual({
      keys: [
        { kty: 'OKP', crv: 'Ed25519', x: expect.any(String), kid: data[0].kid, use: 'sig', alg: 'EdDSA' },
      ],
    });
    const found = await createLocalJWKSet(body)({ alg: 'EdDSA', kid: data[0].kid });
    expect(found).toMatchObject({ type: 'public' });
  });

  it('are not sent again to who has them', async () => {
    await call('post', '/v1/webhooks', { ...WEBHOOK, signing: 'ed25519' });
    const { headers } = await jwks();
    const again = await jwks().set('if-none-match', headers.etag ?? '');
    expect([again.status, again.text, again.headers.etag]).toEqual([304, '', headers.etag]);
    const other = await jwks().set('if-none-match', '"other"');
    expect(other.status).toBe(200);
    await rotate();
    const changed = await jwks().set('if-none-match', headers.etag ?? '');
    expect(changed.status).toBe(200);
    expect(changed.body.keys).toHaveLength(2);
  });

  it('of an account that is not there, or has none, are an empty set that tells nothing', async () => {
    await call('post', '/v1/webhooks', WEBHOOK);
    const formOf = async (account: string) => {
      const { status, text, headers } = await jwks(account);
      const { date: _date, 'x-request-id': _id, ...others } = headers;
      return { status, text, headers: others };
    };
    const ofNobody = await formOf('nobody');
    expect(ofNobody).toMatchObject({ status: 200, text: '{"keys":[]}' });
    for (const account of [accountId, 'default', 'a'.repeat(64), 'a'.repeat(65), '%00', '..%2f..']) {
      expect(await formOf(account)).toEqual(ofNobody);
    }
  });

  it('are those of the account alone', async () => {
    await call('post', '/v1/webhooks', { ...WEBHOOK, signing: 'ed25519' });
    const other = await api.issueKey();
    await call('post', '/v1/webhooks', { ...WEBHOOK, signing: 'ed25519' }, other.key);
    const kidsOf = async (account: string) =>
      (await jwks(account)).body.keys.map((jwk: { kid: string }) => jwk.kid);
    const [ours] = await kidsOf(accountId);
    expect(await kidsOf(other.accountId)).not.toContain(ours);
  });

  it('hold nothing of the private keys', async () => {
    await call('post', '/v1/webhooks', { ...WEBHOOK, signing: 'ed25519' });
    const texts = [(await jwks()).text, JSON.stringify(await list())].join();
    expect(texts).not.toMatch(/privateKey|"d"|sealed/);
  });
});

describe('a rotation', () => {
  beforeEach(async () => {
    await call('post', '/v1/webhooks', { ...WEBHOOK, signing: 'ed25519' });
  });

  it('publishes the next key before it signs', async () => {
    const [former] = (await list()).data;
    const { status, body } = await rotate();
    expect(status).toBe(201);
    const [next] = body.data;
    expect(body.data).toMatchObject([
      { status: 'next', signing_ends_at: null, publishing_ends_at: null },
      { kid: former.kid, status: 'signing', signing_ends_at: next.signing_starts_at },
    ]);
    const leadMs = Date.parse(next.signing_starts_at) - Date.parse(next.created_at);
    expect(leadMs).toBe(3_600_000);
    expect((await jwks()).body.keys).toHaveLength(2);
    expect(await list()).toEqual(body);
  });

  it('after a leak takes all other keys out of the set at once', async () => {
    const [leaked] = (await list()).data;
    await rotate();
    const { body } = await rotate({ immediate: true });
    expect(body.data).toMatchObject([{ status: 'signing' }]);
    expect(body.data[0].kid).not.toBe(leaked.kid);
    expect((await jwks()).body.keys.map(({ kid }: { kid: string }) => kid)).toEqual([body.data[0].kid]);
  });

  it('happens once for requests with the same Idempotency-Key', async () => {
    const ask = () => rotate({ immediate: true }).set('idempotency-key', 'leak-1');
    const [first, second] = [await ask(), await ask()];
    expect(second.body).toEqual(first.body);
    expect((await list()).data).toEqual(first.body.data);
  });

  it('needs the scope for webhooks', async () => {
    const reader = await api.issueKey({ accountId, scopes: ['webhooks:read'] });
    const answer = await call('post', '/v1/signing-keys/rotate', {}, reader.key);
    expect(answer.status).toBe(403);
    expect((await call('get', '/v1/signing-keys', undefined, reader.key)).status).toBe(200);
  });
});
