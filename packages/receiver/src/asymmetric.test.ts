import { webcrypto } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { type VerifyInput, verifySignature } from './index';
import { jwks, publicKeys } from './public-keys';
import type { Secrets } from './secrets';

interface Case {
  readonly name: string;
  readonly expect: string;
  readonly public_keys?: readonly string[];
  readonly jwks?: unknown;
  /** Where signatures by the secret are asked for as well, or alone. */
  readonly secrets?: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body_base64: string;
  readonly now: number;
  readonly skew?: number;
  readonly header?: string;
}

const URL_OF_SET = 'https://hooks.example.com/.well-known/webhooks/acme/jwks.json';
const corpus = join(__dirname, '../../../conformance/asymmetric.json');
const { cases } = JSON.parse(readFileSync(corpus, 'utf8')) as { readonly cases: readonly Case[] };

function keysOf({ public_keys: keys, jwks: set }: Case) {
  if (keys) return publicKeys(...keys);
  if (set === undefined) return undefined;
  return jwks(URL_OF_SET, { fetch: async () => Response.json(set) });
}

async function verifyCase(one: Case): Promise<void> {
  const keys = keysOf(one);
  const { secrets, headers, body_base64: body, now } = one;
  const asked = { ...(keys && { keys }), ...(secrets && { secrets }) } as Secrets;
  const input: VerifyInput = { ...asked, headers, body: Buffer.from(body, 'base64'), now };
  await verifySignature(input);
}

describe('the signatures with public keys that all languages agree on', () => {
  it('are there', () => expect(cases.length).toBeGreaterThan(50));

  it.each(cases)('$name: $expect', async (one) => {
    const ending = await verifyCase(one).then(
      () => ({ code: 'ok' }),
      (error: unknown) => error,
    );
    const { expect: code, skew, header } = one;
    expect(ending).toMatchObject({
      code,
      ...(skew === undefined ? {} : { skewSeconds: skew }),
      ...(header === undefined ? {} : { header }),
    });
  });
});

describe('a JWKS client of other people', () => {
  // It refuses a set that has anything but keys in it, and asks for a name where there are several.
  const isForIt = ({ jwks: set, headers, expect: code, name }: Case) =>
    set !== undefined &&
    headers['webhook-key-id'] !== undefined &&
    ['ok', 'no_match'].includes(code) &&
    name !== 'by a set that has other keys as well';

  async function isGood({ jwks: set, headers, body_base64: body }: Case): Promise<boolean> {
    const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signatures = '' } = headers;
    const message = Buffer.concat([Buffer.from(`${id}.${time}.`), Buffer.from(body, 'base64')]);
    const own = signatures.split(' ').find((signature) => signature.startsWith('v1a,')) ?? '';
    try {
      const kid = headers['webhook-key-id'] ?? '';
      const key = await createLocalJWKSet(set as JSONWebKeySet)({ alg: 'EdDSA', kid });
      return await webcrypto.subtle.verify('Ed25519', key, Buffer.from(own.slice(4), 'base64'), message);
    } catch {
      return false;
    }
  }

  it('is asked about enough of them', () => expect(cases.filter(isForIt).length).toBeGreaterThan(10));

  it.each(cases.filter(isForIt))('decides as we do: $name: $expect', async (one) => {
    expect(await isGood(one)).toBe(one.expect === 'ok');
  });
});

describe('a key set', () => {
  const good = cases.find(({ name }) => name === 'by the set') as Case;
  const SECOND = 1_000;
  const MINUTE = 60 * SECOND;

  /** A set that is published, with a clock that the test moves. */
  function publish(cacheControl?: string) {
    const published = { set: good.jwks, status: 200, isAway: false };
    const asked: [url: string, init: RequestInit][] = [];
    let now = 0;
    const keys = jwks(URL_OF_SET, {
      now: () => now,
      async fetch(url, init) {
        asked.push([url, init]);
        if (published.isAway) throw new Error('connect ECONNREFUSED');
        const headers = cacheControl === undefined ? {} : { 'cache-control': cacheControl };
        return Response.json(published.set, { status: published.status, headers });
      },
    });
    const verifyWith = (kid?: string) => {
      const headers = kid === undefined ? good.headers : { ...good.headers, 'webhook-key-id': kid };
      const body = Buffer.from(good.body_base64, 'base64');
      return verifySignature({ keys, headers, body, now: good.now });
    };
    return {
      published,
      asked,
      verify: verifyWith,
      pass(ms: number) {
        now += ms;
      },
    };
  }

  it('is fetched once, when it is needed first, and follows no redirect', async () => {
    const { asked, verify } = publish();
    await Promise.all([verify(), verify(), verify()]);
    await verify();
    expect(asked).toEqual([[URL_OF_SET, expect.objectContaining({ redirect: 'manual' })]]);
  });

  it('is fetched again for an unknown key once a minute, however many requests name one', async () => {
    const { asked, verify, pass } = publish();
    await verify();
    for (let i = 0; i < 100; i += 1) {
      await expect(verify(`unknown-${i}`)).rejects.toMatchObject({ code: 'no_match' });
    }
    expect(asked).toHaveLength(1);
    pass(MINUTE);
    const all = Array.from({ length: 100 }, (_, i) => verify(`later-${i}`).catch(() => {}));
    await Promise.all(all);
    expect(asked).toHaveLength(2);
  });

  it('knows a new key when it was published before it signs', async () => {
    const { published, verify, pass } = publish();
    const whole = published.set as { keys: object[] };
    published.set = { keys: whole.keys.slice(1) };
    await expect(verify()).rejects.toMatchObject({ code: 'no_match' });
    published.set = whole;
    pass(MINUTE);
    await verify();
  });

  it('forgets a key that was taken away as soon as the response is old', async () => {
    const { published, verify, pass } = publish('public, max-age=300');
    await verify();
    published.set = { keys: [] };
    pass(299 * SECOND);
    await verify();
    pass(SECOND);
    await expect(verify()).rejects.toMatchObject({ code: 'no_match' });
  });

  it('is still used for an hour when it can not be fetched again', async () => {
    const { published, verify, pass } = publish('public, max-age=300');
    await verify();
    published.isAway = true;
    pass(60 * MINUTE);
    await verify();
    pass(10 * MINUTE);
    await expect(verify()).rejects.toMatchObject({ code: 'keys_unavailable', isConfigurationError: true });
  });

  it.each([
    ['is away', { isAway: true }],
    ['is an error', { status: 500 }],
    ['is a redirect', { status: 302 }],
    ['is no key set', { set: { keys: 'none' } }],
    ['is too long', { set: { keys: [], padding: 'p'.repeat(70_000) } }],
  ])('that %s makes requests fail, and is asked for again soon', async (_what, change) => {
    const { published, asked, verify, pass } = publish();
    const { set } = published;
    Object.assign(published, change);
    await expect(verify()).rejects.toMatchObject({ code: 'keys_unavailable' });
    await expect(verify()).rejects.toMatchObject({ code: 'keys_unavailable' });
    expect(asked).toHaveLength(1);
    Object.assign(published, { set, status: 200, isAway: false });
    pass(5 * SECOND);
    await verify();
  });

  it('is not fetched for a request without a signature by a key', async () => {
    const { asked, verify } = publish();
    const secretAlone = { ...good, headers: { ...good.headers, 'webhook-signature': 'v1,AAAA' } };
    await expect(verifyCase(secretAlone)).rejects.toMatchObject({ code: 'no_match' });
    expect(asked).toHaveLength(0);
    await verify();
  });

  it.each([
    'http://hooks.example.com/jwks.json',
    'http://localhost.example.com/jwks.json',
    'http://127.0.0.1@example.com/jwks.json',
    'http://127.0.0.1',
    'file:///etc/keys',
    '//example.com',
    'https:///',
    '',
    undefined,
  ])('can not be at %p', (url) => {
    expect(() => jwks(url)).toThrow(
      expect.objectContaining({
        code: 'not_a_key',
        message: expect.stringMatching(/^This is not the URL of a key set: /),
      }),
    );
  });

  it('is fetched over http from this machine, to try it out', async () => {
    const server = createServer((_request, response) => response.end(JSON.stringify(good.jwks)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const { port } = server.address() as AddressInfo;
      const keys = jwks(`http://127.0.0.1:${port}/jwks.json`);
      const body = Buffer.from(good.body_base64, 'base64');
      const signed = verifySignature({ keys, headers: good.headers, body, now: good.now });
      await expect(signed).resolves.toMatchObject({ timestamp: good.now });
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
});
