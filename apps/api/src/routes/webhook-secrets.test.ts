import { randomBytes } from 'node:crypto';
import { newSecret } from '@hookferry/core/endpoints/rotate-secret';
import {
  clientCertificate,
  clientKey,
  expiredCertificate,
  otherCertificate,
} from '@hookferry/core/testing/certificates';
import { createClosables } from '@hookferry/core/testing/closables';
import request, { type Test } from 'supertest';
import { readProblem } from '../testing/read-problem';
import { startApi, startTestApi, type TestApi, untilReady } from '../testing/start-test-api';

let api: TestApi;
let key: string;
beforeAll(async () => {
  api = await startTestApi();
});
beforeEach(async () => {
  ({ key } = await api.issueKey());
});
afterAll(() => api.close());

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

function call(method: 'get' | 'post' | 'patch' | 'delete', path: string, body?: object, url = api.url): Test {
  const test = request(url)[method](path).set('authorization', `Bearer ${key}`);
  return body === undefined ? test : test.send(body);
}

async function created(change: object = {}) {
  const minimal = { url: 'https://receiver.example.com/hooks', events: ['*'] };
  const { body } = await call('post', '/v1/webhooks', { ...minimal, ...change });
  return { ...body, path: `/v1/webhooks/${body.id}` } as { id: string; secret: string; path: string };
}

const readSecret = async (path: string) => (await call('get', `${path}/secret`)).body.secret as string;

describe('GET /v1/webhooks/:id/secret', () => {
  it('shows the secret, and asks all on the way not to keep it', async () => {
    const { path, secret } = await created();
    const { body, headers } = await call('get', `${path}/secret`);
    expect(body).toEqual({ secret });
    expect(headers['cache-control']).toBe('no-store');
  });
});

describe('POST /v1/webhooks/:id/rotate-secret', () => {
  it('gives a new secret, and says until when the one before signs', async () => {
    const { path, secret } = await created();
    const { status, body, headers } = await call('post', `${path}/rotate-secret`, {});
    expect(status).toBe(200);
    expect(body).toEqual({
      secret: expect.stringMatching(/^whsec_/),
      previous_secret_expires_at: expect.stringMatching(/Z$/),
    });
    expect(body.secret).not.toBe(secret);
    expect(headers['cache-control']).toBe('no-store');
    expect(await readSecret(path)).toBe(body.secret);
    const { updated_at } = (await call('get', path)).body;
    expect(Date.parse(body.previous_secret_expires_at)).toBe(Date.parse(updated_at) + 86_400_000);
  });

  it('needs no body, and neither does a test event', async () => {
    const { path, secret } = await created();
    const rotated = await call('post', `${path}/rotate-secret`);
    expect(rotated.status).toBe(200);
    expect(rotated.body.secret).not.toBe(secret);
    expect((await call('post', `${path}/test`)).status).toBe(202);
    const notJson = await call('post', `${path}/test`).set('content-type', 'text/plain').send('now');
    expect(readProblem(notJson)).toEqual({ status: 415, code: 'unsupported_media_type' });
  });

  it("takes the client's own secret, and one that signs already not again", async () => {
    const { path, secret: former } = await created();
    const secret = newSecret();
    const { body } = await call('post', `${path}/rotate-secret`, { secret, overlap_seconds: 60 });
    expect(body.secret).toBe(secret);
    for (const live of [secret, former]) {
      const response = await call('post', `${path}/rotate-secret`, { secret: live });
      expect(readProblem(response)).toEqual({
        status: 422,
        code: 'invalid_request',
        pointers: ['/secret'],
      });
      expect(response.text).not.toContain(live);
    }
    expect(await readSecret(path)).toBe(secret);
  });

  it('refuses a sixth secret with 409, and has all others end when there is to be no overlap', async () => {
    const { path } = await created();
    for (let i = 0; i < 4; i += 1) await call('post', `${path}/rotate-secret`, {}).expect(200);
    const refused = await call('post', `${path}/rotate-secret`, {});
    expect(readProblem(refused)).toEqual({ status: 409, code: 'conflict' });
    await call('post', `${path}/rotate-secret`, { overlap_seconds: 0 }).expect(200);
    await call('post', `${path}/rotate-secret`, {}).expect(200);
  });

  it.each([
    [{ overlap_seconds: -1 }, '/overlap_seconds'],
    [{ overlap_seconds: 604_801 }, '/overlap_seconds'],
    [{ overlap_seconds: null }, '/overlap_seconds'],
    [{ secret: 'whsec_short' }, '/secret'],
  ])('refuses %j, and rotates nothing', async (body, pointer) => {
    const { path, secret } = await created();
    const response = await call('post', `${path}/rotate-secret`, body);
    expect(readProblem(response)).toMatchObject({ status: 422, pointers: [pointer] });
    expect(await readSecret(path)).toBe(secret);
  });
});

describe('the TLS material of a webhook', () => {
  const tls = { ca: otherCertificate, client_certificate: clientCertificate, client_key: clientKey };
  const shownClient = {
    subject: 'O=Tests, CN=Client of a test',
    fingerprint_sha256: expect.stringMatching(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/),
    expires_at: '2126-10-28T15:15:08.000Z',
  };

  it('is shown by what its certificates say, and never with the key', async () => {
    const { path, ...webhook } = await created({ tls });
    const shown = {
      ca: { ...shownClient, subject: 'O=Tests, CN=Other client of a test' },
      client_certificate: shownClient,
    };
    expect(webhook).toMatchObject({ tls: shown });
    const read = await call('get', path);
    expect(read.body.tls).toEqual(shown);
    expect(read.text).not.toMatch(/key|BEGIN/);
  });

  it('is changed and removed by a merge patch', async () => {
    const { path } = await created({ tls });
    const without = await call('patch', path, { tls: { ca: null } });
    expect(without.body.tls).toEqual({ client_certificate: shownClient });
    expect((await call('patch', path, { description: 'new' })).body.tls).toEqual(without.body.tls);
    expect((await call('patch', path, { tls: null })).body).not.toHaveProperty('tls');
  });

  it.each([
    ['a key without its certificate', { client_key: clientKey }, '/tls/client_certificate'],
    ['a certificate without its key', { client_certificate: clientCertificate }, '/tls/client_key'],
    ["another certificate's key", { ...tls, client_certificate: otherCertificate }, '/tls/client_key'],
    ['an expired certificate', { ...tls, client_certificate: expiredCertificate }, '/tls/client_certificate'],
    ['what is no certificate', { ca: 'PEM' }, '/tls/ca'],
    ['what is unknown', { ciphers: 'ALL' }, '/tls/ciphers'],
  ])('is refused for %s', async (_what, wrong, pointer) => {
    const { path } = await created();
    for (const response of [
      await call('post', '/v1/webhooks', { url: 'https://example.com/', events: ['*'], tls: wrong }),
      await call('patch', path, { tls: wrong }),
    ]) {
      expect(readProblem(response)).toEqual({ status: 422, code: 'invalid_request', pointers: [pointer] });
      expect(response.text).not.toContain('BEGIN');
    }
  });
});

describe('without the key that sealed the secrets', () => {
  it('says so for each that would read them, and still deletes', async () => {
    const { path } = await created();
    const other = willClose(
      await startApi({
        REDIS_URL: api.redis.url,
        SECRETS_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      }),
    );
    await untilReady(other.url);
    for (const response of [
      await call('get', path, undefined, other.url),
      await call('get', '/v1/webhooks', undefined, other.url),
      await call('patch', path, { description: 'new' }, other.url),
      await call('get', `${path}/secret`, undefined, other.url),
      await call('post', `${path}/rotate-secret`, {}, other.url),
    ]) {
      expect(readProblem(response)).toEqual({ status: 500, code: 'secret_unreadable' });
    }
    expect(other.signals.named('request.failed')).toHaveLength(5);
    await call('delete', path, undefined, other.url).expect(204);
  });
});

describe('without any key', () => {
  it('warns at the start that secrets are stored as plain text', async () => {
    const plain = willClose(
      await startApi({
        REDIS_URL: api.redis.url,
        SECRETS_ENCRYPTION_KEY: '',
        INSECURE_UNENCRYPTED_SECRETS: 'true',
      }),
    );
    expect(plain.signals.named('secrets.unprotected')).toHaveLength(1);
    expect(api.signals.named('secrets.unprotected')).toEqual([]);
  });
});
