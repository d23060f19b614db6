import { generateKeyPairSync } from 'node:crypto';
import { importSPKI, jwtVerify } from 'jose';
import type { OAuth2 } from '../domain/receiver-auth';
import type { DeliveryRequest, SendResult } from '../domain/transport';
import { NOW, refused, responded, unsent } from '../testing/arrange-delivery';
import { uniqueAccountId, uniqueEndpointId } from '../testing/unique-ids';
import { describeTokenFailure, type FetchedToken, fetchToken, type OAuth2Endpoint } from './fetch-token';

const CLIENT = {
  type: 'oauth2',
  changedAt: 1,
  tokenUrl: 'https://auth.example.com/token',
  clientId: 'a client',
} as const;

async function fetchWith(
  result: SendResult,
  auth: Partial<OAuth2> = { clientSecret: 's:e cret+%' },
  change: Partial<OAuth2Endpoint> = {},
) {
  const requests: DeliveryRequest[] = [];
  const transport = async (request: DeliveryRequest) => {
    requests.push(request);
    return result;
  };
  const endpoint = {
    id: uniqueEndpointId(),
    accountId: uniqueAccountId(),
    auth: { ...CLIENT, ...auth },
    ...change,
  };
  const context = { transport, userAgent: 'hooks/1.2', attemptTimeoutMs: 15_000, clock: () => NOW };
  const fetched = await fetchToken(context, endpoint, new AbortController().signal);
  const [request] = requests;
  if (!request) throw new Error('Nothing was sent.');
  return { fetched, request, form: new URLSearchParams(request.body) };
}

const answer = (body: object, status = 200) => responded(status, { body: JSON.stringify(body) });
const granted = (more: object = {}) =>
  answer({ access_token: 'abc', token_type: 'bearer', expires_in: 60, ...more });

describe('the request for a token', () => {
  it('is a form, with the client in a header, both parts encoded', async () => {
    const { request, form } = await fetchWith(granted(), {
      clientSecret: 's:e cret+%',
      scope: 'a b',
      audience: 'x',
    });
    expect(request).toMatchObject({
      url: CLIENT.tokenUrl,
      headers: {
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
        'user-agent': 'hooks/1.2',
        authorization: `Basic ${Buffer.from('a+client:s%3Ae+cret%2B%25').toString('base64')}`,
      },
    });
    expect(Object.fromEntries(form)).toEqual({
      grant_type: 'client_credentials',
      scope: 'a b',
      audience: 'x',
    });
  });

  it('has an assertion of its own in place of the secret, which names the token URL', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const auth = { privateKey: pem, algorithm: 'EdDSA', keyId: 'k1' } as const;
    const [one, other] = [await fetchWith(granted(), auth), await fetchWith(granted(), auth)];
    expect(one.request.headers).not.toHaveProperty('authorization');
    expect(one.form.get('client_assertion_type')).toBe(
      'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    );
    const key = await importSPKI(publicKey.export({ type: 'spki', format: 'pem' }).toString(), 'EdDSA');
    const verified = await jwtVerify(one.form.get('client_assertion') ?? '', key, {
      issuer: CLIENT.clientId,
      subject: CLIENT.clientId,
      audience: CLIENT.tokenUrl,
      currentDate: new Date(NOW),
    });
    expect(verified.protectedHeader).toEqual({ alg: 'EdDSA', typ: 'JWT', kid: 'k1' });
    expect((verified.payload.exp ?? 0) - NOW / 1_000).toBe(120);
    const jti = JSON.parse(
      Buffer.from((other.form.get('client_assertion') ?? '').split('.')[1] ?? '', 'base64url').toString(),
    ).jti;
    expect(verified.payload.jti).not.toBe(jti);
  });

  it.each([
    [undefined, 10_000],
    [3_000, 3_000],
    [60_000, 10_000],
  ])('takes at most as long as an attempt, and ten seconds: %s ms', async (timeoutMs, expected) => {
    const tls = { ca: 'a PEM' };
    const { request } = await fetchWith(granted(), undefined, { timeoutMs, tls });
    expect(request).toMatchObject({ timeoutMs: expected, responseBytes: 64 * 1024, tls });
  });
});

describe('a token', () => {
  it.each([
    [60, 60_000],
    ['3600', 3_600_000],
    [undefined, 300_000],
    ['soon', 300_000],
    [6, 6_000],
    [0, 300_000],
    [-5, 300_000],
    [1e12, 86_400_000],
  ])('lives as long as the server says, within bounds: %s', async (expires_in, lifetimeMs) => {
    const { fetched } = await fetchWith(granted({ expires_in }));
    expect(fetched).toEqual({ kind: 'token', token: 'abc', lifetimeMs });
  });

  it.each<[string, SendResult]>([
    ['is no JSON', responded(200, { body: '<html>' })],
    ['is cut off', responded(200, { body: '{"access_token":"aaaa' })],
    ['is not an object', responded(200, { body: '"abc"' })],
    ['has no token', answer({ token_type: 'Bearer' })],
    ['has no type', answer({ access_token: 'abc' })],
    ['is of another type', answer({ access_token: 'abc', token_type: 'mac' })],
    ['would be another header', answer({ access_token: 'abc\r\nx: y', token_type: 'Bearer' })],
    ['is not ASCII', answer({ access_token: 'añc', token_type: 'Bearer' })],
    ['is longer than headers are', answer({ access_token: 'a'.repeat(8_193), token_type: 'Bearer' })],
  ])('is none when the answer %s', async (_what, result) => {
    const { fetched } = await fetchWith(result);
    expect(fetched).toMatchObject({ kind: 'failed', failure: { reason: 'unreadable', status: 200 } });
  });
});

describe('a failure', () => {
  it.each<[SendResult, object, string]>([
    [
      answer({ error: 'invalid_scope' }, 400),
      { reason: 'refused', status: 400, code: 'invalid_scope' },
      'responded with 400 (invalid_scope)',
    ],
    [answer({ error: 's:e cret+%' }, 400), { reason: 'refused', status: 400 }, 'responded with 400.'],
    [answer({ error: 'x'.repeat(1_000) }, 401), { reason: 'refused', status: 401 }, 'responded with 401.'],
    [responded(500, { body: 'a stack trace' }), { reason: 'refused', status: 500 }, 'responded with 500.'],
    [refused, { reason: 'connect_refused' }, 'ended with connect_refused'],
  ])(
    'has a status and a registered code, and nothing else of the answer: %#',
    async (result, failure, words) => {
      const { fetched } = await fetchWith(result);
      expect(fetched).toEqual({ kind: 'failed', failure: expect.objectContaining(failure), retryAfterMs: 0 });
      const { failure: told } = fetched as Extract<FetchedToken, { kind: 'failed' }>;
      expect(describeTokenFailure(told)).toContain(words);
    },
  );

  it('has the wait that the server asks for', async () => {
    const { fetched } = await fetchWith(responded(429, { retryAfter: '30' }));
    expect(fetched).toMatchObject({ retryAfterMs: 30_000 });
  });

  it('of the proxy is none of the server', async () => {
    expect((await fetchWith(unsent)).fetched).toEqual(unsent);
  });
});
