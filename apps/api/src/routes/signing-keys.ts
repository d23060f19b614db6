import { accountIdSchema } from '@hookferry/core/domain/account';
import {
  formatPublicKey,
  type PublishedKey,
  publishedKeys,
  signingKeyStatuses,
} from '@hookferry/core/domain/signing-key';
import {
  KEY_ROTATION_ID_PREFIX,
  keyRotationSchema,
  rotateSigningKey as rotate,
  toJwks,
} from '@hookferry/core/endpoints/signing-keys/manage-signing-keys';
import { formatTime, formatTimeOrNull, timeSchema } from '@hookferry/core/platform/clock';
import { z } from 'zod';
import { defineRoute } from '../http/route';
import { etagOf, versionsOf } from '../http/send-reply';

const signingKeySchema = z
  .object({
    kid: z.string().meta({ example: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k' }),
    public_key: z.string().meta({ example: 'whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=' }),
    status: z
      .enum(signingKeyStatuses)
      .describe(
        '`signing`: signs now; `next`: signs later; `former`: signed before, and stays published for receivers that verify later.',
      ),
    created_at: timeSchema.describe('When the key was made.'),
    signs_from: timeSchema,
    signs_until: timeSchema.nullable(),
    published_until: timeSchema.nullable(),
  })
  .meta({ id: 'SigningKey' });

const signingKeysSchema = z
  .object({
    data: z.array(signingKeySchema).readonly().describe('The keys, newest first.'),
    jwks_path: z.string(),
  })
  .meta({ id: 'SigningKeyList' });

function present(accountId: string, published: readonly PublishedKey[]): z.infer<typeof signingKeysSchema> {
  const data = published.map(({ key, status, signsUntil, publishedUntil }) => ({
    kid: key.kid,
    public_key: formatPublicKey(key),
    status,
    created_at: formatTime(key.createdAt),
    signs_from: formatTime(key.signsFrom),
    signs_until: formatTimeOrNull(signsUntil),
    published_until: formatTimeOrNull(publishedUntil),
  }));
  return { data, jwks_path: `/.well-known/webhooks/${accountId}/jwks.json` };
}

export const listSigningKeys = defineRoute({
  operationId: 'listSigningKeys',
  summary: 'List the keys by which receivers verify Ed25519 signatures',
  method: 'get',
  path: '/v1/signing-keys',
  scope: 'webhooks:read',
  request: {},
  responses: {
    200: {
      description: 'The public keys of the account, newest first. None: no webhook has asked for one yet.',
      schema: signingKeysSchema,
    },
  },
  async handle({ apiKey: { accountId } }, { signingKeyStore, clock }) {
    const signingKeys = await signingKeyStore.find(accountId);
    const published = signingKeys ? publishedKeys(signingKeys, clock()) : [];
    return { status: 200, body: present(accountId, published) };
  },
});

export const rotateSigningKey = defineRoute({
  operationId: 'rotateSigningKey',
  summary: 'Give the account a new key for Ed25519 signatures',
  method: 'post',
  path: '/v1/signing-keys/rotate',
  scope: 'webhooks:write',
  audit: 'signing_key.rotate',
  handlesSecret: true,
  request: { body: keyRotationSchema, mayLackBody: true, example: { immediate: false } },
  creates: true,
  responses: {
    200: { description: 'The public keys as they are now, newest first.', schema: signingKeysSchema },
  },
  problems: ['conflict'],
  async handle({ apiKey: { accountId }, body, newId, act }, context) {
    const published = await rotate(context, accountId, body, newId(KEY_ROTATION_ID_PREFIX), act);
    return { status: 200, body: present(accountId, published) };
  },
});

const jwkSchema = z
  .object({
    kty: z.literal('OKP'),
    crv: z.literal('Ed25519'),
    x: z.string(),
    kid: z.string(),
    use: z.literal('sig'),
    alg: z.literal('EdDSA'),
  })
  .meta({ id: 'Jwk' });

const jwksSchema = z.object({ keys: z.array(jwkSchema).readonly() }).meta({ id: 'JwkSet' });

// Receivers ask again after this time. It bounds how long they trust a key that was taken away after a leak.
const CACHE_CONTROL = 'public, max-age=300';

/**
 * For receivers, who have no key of the API. An account that is not there, or has no keys, gives an empty set by the
 * same steps, so nobody learns which accounts there are.
 */
export const readJwks = defineRoute({
  operationId: 'readJwks',
  summary: "Read an account's public keys as a JWK set",
  method: 'get',
  path: '/.well-known/webhooks/:account_id/jwks.json',
  scope: 'none',
  isPublic: true,
  request: { params: z.object({ account_id: z.string() }) },
  responses: {
    200: { description: 'The public keys, newest first (RFC 7517, RFC 8037).', schema: jwksSchema },
    304: { description: 'They are the ones that `If-None-Match` names.' },
  },
  problems: ['storage_unavailable'],
  async handle({ params, header }, { signingKeyStore, clock }) {
    const accountId = accountIdSchema.safeParse(params.account_id).data;
    const signingKeys = accountId === undefined ? undefined : await signingKeyStore.find(accountId);
    const jwks = toJwks(signingKeys, clock());
    const version = versionOf(jwks);
    const headers = { 'cache-control': CACHE_CONTROL, etag: etagOf(version) };
    const isKnown = versionsOf(header('if-none-match') ?? '')?.includes(version) ?? true;
    if (isKnown) return { status: 304, headers };
    return { status: 200, headers, body: jwks };
  },
});

// Keys never change, so their thumbprints say all of a set.
function versionOf({ keys }: ReturnType<typeof toJwks>): string {
  return keys.map(({ kid }) => kid).join('.') || 'empty';
}
