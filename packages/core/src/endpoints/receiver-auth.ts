import { createPrivateKey } from 'node:crypto';
import { z } from 'zod';
import type { Endpoint } from '../domain/endpoint';
import {
  type AssertionAlgorithm,
  type AssertionKeyKind,
  assertionAlgorithms,
  authSecrets,
  authTypes,
  type ReceiverAuth,
  receiverAuthSchema,
} from '../domain/receiver-auth';
import { type TargetUrlRules, targetUrlSchema } from '../domain/target-url';
import { invalidRequest, type ValidationError } from '../platform/app-error';
import { readClientKey } from './tls/client-key';

const VISIBLE_AND_SPACE = /^[\x20-\x7e]+$/;
const VISIBLE = /^[\x21-\x7e]+$/;
// RFC 6749, 3.3: words apart by one space each, of visible ASCII but " and \.
const SCOPE = /^[!#-[\]-~]+( [!#-[\]-~]+)*$/;
// RFC 7617: a colon ends the name. In UTF-8, without control characters.
const USERNAME = /^[^:\p{Cc}]+$/u;
const PASSWORD = /^\P{Cc}+$/u;

/** A text of up to so many characters. @param rest what they must be, after their number. */
function textSchema(most: number, pattern: RegExp, rest: string) {
  return z.string().max(most).regex(pattern, `must be 1 to ${most} ${rest}`);
}

function visibleSchema(most: number) {
  return textSchema(most, VISIBLE, 'visible ASCII characters, with no white space');
}

const clientIdSchema = textSchema(256, VISIBLE_AND_SPACE, 'visible ASCII characters or spaces');
const clientSecretSchema = textSchema(1_024, VISIBLE_AND_SPACE, 'visible ASCII characters or spaces');
const scopeSchema = z
  .string()
  .max(1_024)
  .regex(SCOPE, 'must be scopes with one space between them, such as read write');
const audienceSchema = visibleSchema(2_048).meta({ example: 'https://api.example.com' });
const usernameSchema = textSchema(256, USERNAME, 'characters, none of them ":" or a control character');
const passwordSchema = textSchema(1_024, PASSWORD, 'characters, none of them a control character');
// As long as servers take headers.
const tokenSchema = visibleSchema(8_192).describe(
  'The token that each request carries after `Bearer`. No response shows it.',
);

const MAX_KEY_CHARACTERS = 16 * 1024;

const pemSchema = z.string().max(MAX_KEY_CHARACTERS, `must have at most ${MAX_KEY_CHARACTERS} characters`);
const jwkSchema = z.looseObject({
  kty: z.string().describe('The kind of key: `RSA`, `EC` or `OKP`.'),
  crv: z.string().optional().describe('The curve, unless it is an RSA key.'),
  kid: visibleSchema(256).optional().describe('The id of the key, which assertions name in their header.'),
  alg: z
    .string()
    .max(16)
    .optional()
    .describe('The algorithm that signs assertions. Default: the usual one of its kind of key.'),
});

/** A private key that signs client assertions. */
export interface AssertionKey {
  readonly privateKey: string;
  readonly algorithm: AssertionAlgorithm;
  readonly keyId: string | undefined;
}

const privateKeySchema = z.union([pemSchema, jwkSchema]).transform((key, context): AssertionKey => {
  const read = typeof key === 'string' ? readPem(key) : readJwk(key);
  if (typeof read !== 'string') return read;
  context.addIssue({ code: 'custom', message: read });
  return z.NEVER;
});

/** @returns the key, or what is wrong with it. */
function readPem(pem: string): AssertionKey | string {
  const read = readClientKey(pem);
  if (read.kind === 'bad') return read.fault;
  return { privateKey: read.pem, algorithm: assertionAlgorithms[kindOf(read.pem)][0], keyId: undefined };
}

const UNKNOWN_JWK =
  'must be a private key, as PKCS #8 in PEM or as a JWK: RSA, EC on P-256, P-384 or P-521, or Ed25519';

function readJwk(jwk: z.output<typeof jwkSchema>): AssertionKey | string {
  const { kty, crv, kid, alg } = jwk;
  const name = kty === 'RSA' ? kty : crv;
  if (!['RSA', 'EC', 'OKP'].includes(kty) || !isKeyKind(name)) return UNKNOWN_JWK;
  if (JSON.stringify(jwk).length > MAX_KEY_CHARACTERS) return UNKNOWN_JWK;
  const algorithms: readonly string[] = assertionAlgorithms[name];
  if (alg !== undefined && !algorithms.includes(alg))
    return `must have an alg that fits its kind: ${algorithms.join(', ')}`;
  const pem = toPem(jwk);
  const read = pem === undefined ? UNKNOWN_JWK : readPem(pem);
  if (typeof read === 'string') return read;
  return { ...read, keyId: kid, ...(alg === undefined ? {} : { algorithm: alg as AssertionAlgorithm }) };
}

function isKeyKind(name: string | undefined): name is AssertionKeyKind {
  return name !== undefined && Object.hasOwn(assertionAlgorithms, name);
}

// It computes nothing with the numbers: `readClientKey` looks at them before anything does.
function toPem(jwk: object): string | undefined {
  try {
    const key = createPrivateKey({ format: 'jwk', key: { ...jwk } });
    return key.export({ type: 'pkcs8', format: 'pem' }).toString();
  } catch {
    return undefined;
  }
}

const CURVES: Readonly<Record<string, AssertionKeyKind>> = {
  prime256v1: 'P-256',
  secp384r1: 'P-384',
  secp521r1: 'P-521',
};

function kindOf(pem: string): AssertionKeyKind {
  const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(pem);
  if (asymmetricKeyType === 'rsa') return 'RSA';
  return CURVES[asymmetricKeyDetails?.namedCurve ?? ''] ?? 'Ed25519';
}

/** What each type means, for the API's description. */
export const AUTH_TYPES = {
  oauth2: 'OAuth 2.0 client credentials (RFC 6749, 4.4): requests carry an access token.',
  basic: 'HTTP Basic authentication: requests carry a user name and a password.',
  bearer: 'A fixed token: every request carries the same one.',
} as const;

/** What its members mean, in requests as in responses. */
export const AUTH_MEMBERS = {
  token_url: 'The token endpoint of the authorization server, where the service asks for access tokens.',
  client_id: 'The id that the authorization server has given the service.',
  scope: 'The scopes to ask for, with one space between them. Default: the request for a token names none.',
  audience: 'The `audience` to ask for. Default: the request for a token names none.',
  username: 'The user name of HTTP Basic authentication.',
} as const;

const CLIENT_SECRET = 'The secret that authenticates the service at the token URL. No response shows it.';
const PRIVATE_KEY =
  'In place of `client_secret`: the key that signs the assertion that authenticates the service (RFC 7523), as PKCS #8 in PEM or as a JWK. No response shows it.';
const PASSWORD_MEMBER = 'The password of HTTP Basic authentication. No response shows it.';

/** The `auth` of a new endpoint. */
export function newAuthSchema(rules: TargetUrlRules) {
  return z
    .discriminatedUnion(
      'type',
      [
        z
          .strictObject({
            type: z.literal('oauth2').describe(AUTH_TYPES.oauth2),
            token_url: targetUrlSchema(rules).describe(AUTH_MEMBERS.token_url),
            client_id: clientIdSchema.describe(AUTH_MEMBERS.client_id),
            client_secret: clientSecretSchema.optional().describe(CLIENT_SECRET),
            private_key: privateKeySchema.optional().describe(PRIVATE_KEY),
            scope: scopeSchema.optional().describe(AUTH_MEMBERS.scope),
            audience: audienceSchema.optional().describe(AUTH_MEMBERS.audience),
          })
          .meta({ id: 'NewOAuth2Auth' }),
        z
          .strictObject({
            type: z.literal('basic').describe(AUTH_TYPES.basic),
            username: usernameSchema.describe(AUTH_MEMBERS.username),
            password: passwordSchema.describe(PASSWORD_MEMBER),
          })
          .meta({ id: 'NewBasicAuth' }),
        z
          .strictObject({ type: z.literal('bearer').describe(AUTH_TYPES.bearer), token: tokenSchema })
          .meta({ id: 'NewBearerAuth' }),
      ],
      {
        error: ({ code }) =>
          code === 'invalid_union' ? `must be one of ${authTypes.join(', ')}` : undefined,
      },
    )
    .transform(toAuthPatch);
}

/** The `auth` of a patch. Which members go together is known once they are merged. */
export function authPatchSchema(rules: TargetUrlRules) {
  return z
    .strictObject({
      type: z
        .enum(authTypes)
        .optional()
        .describe('The kind of authorization. Another kind than before replaces all members.'),
      token_url: targetUrlSchema(rules).optional().describe(AUTH_MEMBERS.token_url),
      client_id: clientIdSchema.optional().describe(AUTH_MEMBERS.client_id),
      client_secret: clientSecretSchema.optional().describe(CLIENT_SECRET),
      private_key: privateKeySchema.optional().describe(PRIVATE_KEY),
      scope: scopeSchema.nullish().describe(AUTH_MEMBERS.scope),
      audience: audienceSchema.nullish().describe(AUTH_MEMBERS.audience),
      username: usernameSchema.optional().describe(AUTH_MEMBERS.username),
      password: passwordSchema.optional().describe(PASSWORD_MEMBER),
      token: tokenSchema.optional(),
    })
    .meta({ id: 'WebhookAuthPatch' })
    .transform(toAuthPatch);
}

/** What a client says of `auth`, by the names in code. */
export interface AuthPatch {
  readonly type?: ReceiverAuth['type'] | undefined;
  readonly tokenUrl?: string | undefined;
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly privateKey?: string | undefined;
  readonly algorithm?: AssertionAlgorithm | undefined;
  readonly keyId?: string | undefined;
  readonly scope?: string | null | undefined;
  readonly audience?: string | null | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly token?: string | undefined;
}

interface AuthInput {
  readonly type?: ReceiverAuth['type'] | undefined;
  readonly token_url?: string | undefined;
  readonly client_id?: string | undefined;
  readonly client_secret?: string | undefined;
  readonly private_key?: AssertionKey | undefined;
  readonly scope?: string | null | undefined;
  readonly audience?: string | null | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly token?: string | undefined;
}

function toAuthPatch(input: AuthInput): AuthPatch {
  const {
    token_url: tokenUrl,
    client_id: clientId,
    client_secret: clientSecret,
    private_key,
    ...others
  } = input;
  return { ...others, tokenUrl, clientId, clientSecret, ...private_key };
}

/** Members by the names on the wire: those that each type must have, and those that it may have. */
const MEMBERS = {
  oauth2: {
    required: { tokenUrl: 'token_url', clientId: 'client_id' },
    optional: {
      clientSecret: 'client_secret',
      privateKey: 'private_key',
      algorithm: 'private_key',
      keyId: 'private_key',
      scope: 'scope',
      audience: 'audience',
    },
  },
  basic: { required: { username: 'username', password: 'password' }, optional: {} },
  bearer: { required: { token: 'token' }, optional: {} },
} as const;

/**
 * What an endpoint's `auth` becomes by a patch. Another type replaces all of it. A client secret and a private key
 * replace each other.
 *
 * @param changedAt of the result, if there is a change.
 * @throws AppError `invalid_request` when the members do not go together.
 */
export function mergeAuth(
  before: ReceiverAuth | undefined,
  patch: AuthPatch | null | undefined,
  changedAt: number,
): ReceiverAuth | undefined {
  if (patch === undefined) return before;
  if (patch === null) return undefined;
  const { type = before?.type } = patch;
  if (type === undefined) throw invalidRequest([{ pointer: '/auth/type', detail: 'is required' }]);
  const kept = before && type === before.type ? withoutReplaced(before, patch) : {};
  const said = Object.entries(patch).filter(([, value]) => value !== undefined);
  const merged = new Map<string, unknown>([
    ...Object.entries(kept),
    ...said,
    ['type', type],
    ['changedAt', changedAt],
  ]);
  for (const [name, value] of merged) if (value === null) merged.delete(name);
  requireMembers(type, merged);
  return receiverAuthSchema.parse(Object.fromEntries(merged));
}

const OF_CREDENTIALS: readonly string[] = ['clientSecret', 'privateKey', 'algorithm', 'keyId'];

function withoutReplaced(before: ReceiverAuth, { clientSecret, privateKey }: AuthPatch): object {
  if (clientSecret === undefined && privateKey === undefined) return before;
  return Object.fromEntries(Object.entries(before).filter(([name]) => !OF_CREDENTIALS.includes(name)));
}

function requireMembers(type: ReceiverAuth['type'], merged: ReadonlyMap<string, unknown>): void {
  const { required, optional } = MEMBERS[type];
  const known = { ...required, ...optional, type: 'type', changedAt: 'changedAt' };
  const faults: ValidationError[] = [];
  for (const [name, wireName] of Object.entries(required)) {
    if (!merged.has(name)) faults.push({ pointer: `/auth/${wireName}`, detail: 'is required' });
  }
  for (const name of merged.keys()) {
    if (Object.hasOwn(known, name)) continue;
    faults.push({
      pointer: `/auth/${WIRE_NAMES[name] ?? name}`,
      detail: `is not a member of the type ${type}`,
    });
  }
  if (type === 'oauth2') {
    const given = [merged.has('clientSecret'), merged.has('privateKey')].filter(Boolean).length;
    if (given === 0)
      faults.push({ pointer: '/auth/client_secret', detail: 'is required, unless private_key is given' });
    if (given === 2)
      faults.push({ pointer: '/auth/private_key', detail: 'must not be given together with client_secret' });
  }
  if (faults.length > 0) throw invalidRequest(faults);
}

const WIRE_NAMES: Readonly<Record<string, string>> = {
  ...MEMBERS.oauth2.required,
  ...MEMBERS.oauth2.optional,
};

/** Both would say what is in the same header. */
export function requireOneAuthorization({ auth, headers }: Pick<Endpoint, 'auth' | 'headers'>): void {
  if (auth === undefined || headers?.authorization === undefined) return;
  const detail = 'must be removed if auth is given, which sets this header';
  throw invalidRequest([{ pointer: '/headers/authorization', detail }]);
}

type Sent = Pick<Endpoint, 'url' | 'auth' | 'tls'>;

/**
 * Pointers to the secrets of `auth` that a change would take to another place than they were given for: another
 * origin (scheme, host or port) of the endpoint or of its token URL, or whoever another authority vouches for.
 */
export function movedAuthSecrets(before: Sent, after: Sent, patch: AuthPatch | null | undefined): string[] {
  // Another type brings secrets of its own.
  if (!after.auth || before.auth?.type !== after.auth.type || !isMoved(before, after)) return [];
  const kept = new Map(Object.entries(after.auth));
  const given = new Map(Object.entries(patch ?? {}));
  return authSecrets
    .filter((name) => kept.has(name) && given.get(name) === undefined)
    .map((name) => `/auth/${WIRE_NAMES[name] ?? name}`);
}

function isMoved(before: Sent, after: Sent): boolean {
  if (before.tls?.ca !== after.tls?.ca) return true;
  return originsOf(before) !== originsOf(after);
}

function originsOf({ url, auth }: Sent): string {
  const tokenUrl = auth?.type === 'oauth2' ? new URL(auth.tokenUrl).origin : '';
  return `${new URL(url).origin} ${tokenUrl}`;
}
