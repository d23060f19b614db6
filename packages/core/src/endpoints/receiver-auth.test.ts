import { createSecretKey, generateKeyPairSync } from 'node:crypto';
import type { Endpoint } from '../domain/endpoint';
import { authCredentialsOf, authMembersOf, authTypes } from '../domain/receiver-auth/kinds';
import { validationErrorsOf } from '../platform/app-error';
import { inWords } from '../platform/zod-words';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildTargetUrlRules } from '../testing/build-target-url-rules';
import { costlyRsaKey } from '../testing/costly-keys';
import { createdFields } from './endpoint-changes';
import {
  type EndpointPatch,
  endpointPatchSchema,
  mergeEndpoint,
  movedSecrets,
  newEndpointSchema,
} from './endpoint-input';
import { presentAuth } from './receiver-auth';
import { decodeEndpoint, encodeEndpoint, Sealer } from './seal';

const rules = buildTargetUrlRules();
const patchSchema = endpointPatchSchema(rules);
const newSchema = newEndpointSchema(rules);
const NOW = 1_700_000_000_000;

const oauth2 = {
  type: 'oauth2',
  token_url: 'https://auth.example.com/token',
  client_id: 'hooks',
  client_secret: 'a secret',
  scope: 'hooks',
} as const;

const patchOf = (patch: object): EndpointPatch => patchSchema.parse(patch);
const withAuth = (auth: object, change: Partial<Endpoint> = {}) =>
  mergeEndpoint(buildEndpoint(change), patchOf({ auth }), NOW);
const merged = (before: Endpoint, auth: object | null) =>
  mergeEndpoint({ ...before, updatedAt: before.updatedAt + 1 }, patchOf({ auth }), NOW).auth;

function faultsOf(auth: unknown) {
  const { error } = newSchema.safeParse({ url: 'https://example.com/hook', events: ['*'], auth }, inWords);
  return error ? validationErrorsOf(error).map(({ pointer, detail }) => `${pointer} ${detail}`) : [];
}

describe('the auth of a new webhook', () => {
  it.each([
    [{ type: 'basic', username: 'us:er', password: 'p' }, '/auth/username must be 1 to 256 characters'],
    [{ type: 'basic', username: 'user', password: 'p\n' }, '/auth/password must be 1 to 1024 characters'],
    [{ type: 'bearer', token: 'two words' }, '/auth/token must be 1 to 8192 visible ASCII'],
    [{ type: 'bearer', token: 'a\r\nx-admin: 1' }, '/auth/token must be 1 to 8192 visible ASCII'],
    [{ type: 'digest' }, '/auth/type must be one of oauth2, basic, bearer'],
    [{ type: 'basic', username: 'user' }, '/auth/password is required'],
    [{ type: 'basic', username: 'user', password: 'p', token: 't' }, '/auth/token is not a known name'],
    [
      { ...oauth2, token_url: 'http://auth.example.com/token' },
      '/auth/token_url must be a URL that begins with https',
    ],
    [{ ...oauth2, token_url: 'https://10.0.0.1/token' }, '/auth/token_url must not lead to 10.0.0.1'],
    [{ ...oauth2, token_url: 'https://[::ffff:7f00:1]/token' }, '/auth/token_url must not lead to'],
    [
      { ...oauth2, token_url: 'https://u:p@auth.example.com/' },
      '/auth/token_url must not contain a user name',
    ],
    [{ ...oauth2, scope: 'a  b' }, '/auth/scope must be scopes'],
    [{ ...oauth2, private_key: 'not a key' }, '/auth/private_key must be a private key'],
    [
      { ...oauth2, private_key: costlyRsaKey() },
      '/auth/private_key must be a key whose numbers fit together',
    ],
  ])('is refused: %j', (auth, fault) => {
    const [first = '', ...others] = faultsOf(auth);
    expect(first.slice(0, fault.length)).toBe(fault);
    expect(others).toEqual([]);
  });

  it.each([
    ['both secrets', { private_key: pemOf('ec') }, '/auth/private_key'],
    ['neither of them', { client_secret: undefined }, '/auth/client_secret'],
  ])('has one way to show who the client is: not %s', (_what, change, pointer) => {
    expect(() => withAuth({ ...oauth2, ...change })).toThrow(
      expect.objectContaining({ validationErrors: [expect.objectContaining({ pointer })] }),
    );
  });

  it('excludes a header of the same name', () => {
    expect(() => withAuth(oauth2, { headers: { authorization: 'Bearer x' } })).toThrow(
      expect.objectContaining({
        validationErrors: [expect.objectContaining({ pointer: '/headers/authorization' })],
      }),
    );
  });
});

function pemOf(kind: 'ec' | 'ed25519' | 'rsa'): string {
  const pair =
    kind === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 2_048 })
      : kind === 'ec'
        ? generateKeyPairSync('ec', { namedCurve: 'P-384' })
        : generateKeyPairSync('ed25519');
  return pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

describe('a private key', () => {
  const { client_secret: _secret, ...client } = oauth2;

  it.each([
    ['rsa', 'RS256'],
    ['ec', 'ES384'],
    ['ed25519', 'EdDSA'],
  ] as const)('in PEM signs by its kind: %s by %s', (kind, algorithm) => {
    const privateKey = pemOf(kind);
    const { auth } = withAuth({ ...client, private_key: privateKey });
    expect(auth).toMatchObject({ privateKey, algorithm });
    expect(auth).not.toHaveProperty('keyId');
  });

  it('as a JWK is stored as PKCS #8, with its name and its algorithm', () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
    const jwk = { ...privateKey.export({ format: 'jwk' }), kid: 'k1', alg: 'PS256', use: 'sig' };
    expect(withAuth({ ...client, private_key: jwk }).auth).toMatchObject({
      privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      algorithm: 'PS256',
      keyId: 'k1',
    });
  });

  it.each([
    ['a symmetric one', { kty: 'oct', k: 'c2VjcmV0' }, /must be a private key/],
    [
      'a public one',
      generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }),
      /must be a private key/,
    ],
    [
      'of another curve',
      generateKeyPairSync('x25519').privateKey.export({ format: 'jwk' }),
      /must be a private key/,
    ],
    [
      'with an algorithm of another kind',
      { ...generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }), alg: 'HS256' },
      /alg that fits its kind: EdDSA/,
    ],
  ])('is refused as a JWK: %s', (_what, jwk, detail) => {
    expect(faultsOf({ ...client, private_key: jwk })).toEqual([expect.stringMatching(detail)]);
  });
});

describe('a change of auth', () => {
  const before = withAuth(oauth2);

  it('is merged member by member, and belongs to a later state', () => {
    const after = merged(before, { scope: null, audience: 'https://api.example.com' });
    expect(after).toMatchObject({
      tokenUrl: oauth2.token_url,
      clientSecret: 'a secret',
      audience: 'https://api.example.com',
    });
    expect(after).not.toHaveProperty('scope');
    expect(after?.changedAt).toBeGreaterThan(before.auth?.changedAt ?? 0);
  });

  it('lets one secret replace the other', () => {
    const withKey = merged(before, { private_key: pemOf('ed25519') });
    expect(withKey).toMatchObject({ algorithm: 'EdDSA' });
    expect(withKey).not.toHaveProperty('clientSecret');
    const back = merged({ ...before, ...(withKey && { auth: withKey }) }, { client_secret: 'another' });
    expect(back).toMatchObject({ clientSecret: 'another' });
    expect(Object.keys(back ?? {})).not.toEqual(expect.arrayContaining(['privateKey']));
    expect(back).not.toHaveProperty('algorithm');
  });

  it('of the type leaves nothing of what was there', () => {
    const after = merged(before, { type: 'bearer', token: 't' });
    expect(after).toEqual({ type: 'bearer', token: 't', changedAt: expect.any(Number) });
  });

  it('refuses members of another type, and what a type lacks', () => {
    expect(() => merged(before, { password: 'p' })).toThrow(
      expect.objectContaining({
        validationErrors: [{ pointer: '/auth/password', detail: 'is not a member of the type oauth2' }],
      }),
    );
    expect(() => merged(before, { type: 'basic', username: 'u' })).toThrow(
      expect.objectContaining({ validationErrors: [{ pointer: '/auth/password', detail: 'is required' }] }),
    );
    expect(() => merged(buildEndpoint(), { scope: 's' })).toThrow(
      expect.objectContaining({ validationErrors: [{ pointer: '/auth/type', detail: 'is required' }] }),
    );
  });

  it('removes it', () => {
    expect(merged(before, null)).toBeUndefined();
  });

  it('is not made by a change of anything else, but a change of TLS ends the present token', () => {
    const next = { ...before, updatedAt: before.updatedAt + 1 };
    expect(mergeEndpoint(next, patchOf({ description: 'x' }), NOW).auth).toEqual(before.auth);
    expect(mergeEndpoint(next, patchOf({ tls: { ca: null } }), NOW).auth?.changedAt).toBe(next.updatedAt);
  });
});

it('has no member that two types share: in a patch, the name alone tells its bounds', () => {
  const names = authTypes.flatMap(authMembersOf).map(([name]) => name);
  expect(new Set(names).size).toBe(names.length);
});

describe.each(authTypes)('auth of the type %s', (type) => {
  const [credential] = authCredentialsOf(type);
  const members = authMembersOf(type).filter(
    ([name, each]) => !each.isCredential || name === credential?.[0],
  );
  const sampleOf = ([name, member]: (typeof members)[number]) => {
    if (member.kind === 'private_key') return pemOf('ed25519');
    return member.kind === 'url' ? member.example : (member.example ?? `the-${name}`);
  };
  const samples = members.map((member) => [member[0], sampleOf(member)] as const);
  const endpoint = withAuth({ type, ...Object.fromEntries(samples) });
  const secretNames = members.filter(([, { isSecret }]) => isSecret).map(([name]) => name);
  const secrets = samples.filter(([name]) => secretNames.includes(name)).map(([, value]) => value);

  it('has secrets', () => {
    expect(secrets).not.toEqual([]);
  });

  it('is shown, told to the audit log and stored without its secrets', () => {
    const sealer = new Sealer([{ id: 'k1', key: createSecretKey(Buffer.alloc(32, 1)) }]);
    const stored = encodeEndpoint(endpoint, sealer);
    expect(decodeEndpoint(stored, sealer).auth).toEqual(endpoint.auth);
    const shown = endpoint.auth && presentAuth(endpoint.auth);
    expect(shown).toMatchObject({ type });
    for (const text of [stored, shown, createdFields(endpoint)].map((each) => JSON.stringify(each))) {
      for (const secret of secrets) expect(text).not.toContain(JSON.stringify(secret).slice(1, -1));
    }
  });

  it('shows its other members', () => {
    const others = samples.filter(([name]) => !secretNames.includes(name));
    expect(endpoint.auth && presentAuth(endpoint.auth)).toMatchObject(Object.fromEntries(others));
  });

  it('asks for its secrets again where a change would take them elsewhere', () => {
    const change = patchOf({ url: 'https://elsewhere.example.com/hooks' });
    const faults = movedSecrets(endpoint, mergeEndpoint(endpoint, change, NOW), change);
    expect(faults.map(({ pointer }) => pointer)).toEqual(secretNames.map((name) => `/auth/${name}`));
  });
});

describe('secrets of auth that a change would take elsewhere', () => {
  const before = withAuth(oauth2);
  const pointersOf = (from: Endpoint, patch: object) => {
    const change = patchOf(patch);
    return movedSecrets(from, mergeEndpoint(from, change, NOW), change).map(({ pointer }) => pointer);
  };

  it.each([
    ['another host of the webhook', { url: 'https://elsewhere.example.com/hooks' }, ['/auth/client_secret']],
    ['another port of it', { url: 'https://receiver.example.com:8443/hooks' }, ['/auth/client_secret']],
    ['another path of it', { url: 'https://receiver.example.com/other' }, []],
    [
      'another host of the token URL',
      { auth: { token_url: 'https://evil.example.com/token' } },
      ['/auth/client_secret'],
    ],
    ['another path of the token URL', { auth: { token_url: 'https://auth.example.com/v2' } }, []],
    [
      'the secret along with it',
      { auth: { token_url: 'https://evil.example.com/', client_secret: 'new' } },
      [],
    ],
    ['another type', { url: 'https://elsewhere.example.com/', auth: { type: 'bearer', token: 't' } }, []],
    ['no auth any more', { url: 'https://elsewhere.example.com/', auth: null }, []],
    ['another scope', { auth: { scope: 'more' } }, []],
  ])('%s', (_what, patch, pointers) => {
    expect(pointersOf(before, patch)).toEqual(pointers);
  });

  it('are the credential that it has', () => {
    const { client_secret: _secret, ...client } = oauth2;
    const keyed = withAuth({ ...client, private_key: pemOf('ed25519') });
    expect(pointersOf(keyed, { url: 'https://elsewhere.example.com/hooks' })).toEqual(['/auth/private_key']);
  });
});
