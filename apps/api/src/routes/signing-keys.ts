import { accountIdSchema } from '@hookferry/core/domain/account';
import { formatPublicKey, type PublishedKey, signingKeyStatuses } from '@hookferry/core/domain/signing-key';
import {
  KEY_ROTATION_ID_PREFIX,
  keyRotationSchema,
  toJwks,
} from '@hookferry/core/endpoints/signing-keys/signing-keys';
import { formatTime, formatTimeOrNull, timeSchema } from '@hookferry/core/platform/clock';
import { z } from 'zod';
import { pageOf, presentPage } from '../http/page';
import { defineRoute } from '../http/route';
import { etagOf, versionsOf } from '../http/send-reply';

const KID = 'The id of the key: its thumbprint (RFC 7638). Deliveries send it as `webhook-key-id`.';

const signingKeySchema = z
  .object({
    kid: z.string().meta({ example: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k' }).describe(KID),
    public_key: z
      .string()
      .meta({ example: 'whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=' })
      .describe('The public key: `whpk_` and the base64 of its 32 bytes.'),
    status: z
      .enum(signingKeyStatuses)
      .describe(
        '`signing`: it signs now. `next`: it signs later. `former`: it signed before, and stays published for receivers that verify late.',
      ),
    created_at: timeSchema.describe('When the key was created.'),
    signing_starts_at: timeSchema.describe('When the key begins to sign.'),
    signing_ends_at: timeSchema
      .nullable()
      .describe('When the next key replaces it. Null: there is no next key.'),
    publishing_ends_at: timeSchema
      .nullable()
      .describe('When the key leaves the JWK set. Null: there is no newer key yet.'),
  })
  .meta({ id: 'SigningKey' });

const signingKeysSchema = pageOf(signingKeySchema, 'SigningKeyPage')
  .extend({
    jwks_path: z.string().describe('The path of the JWK set, which receivers read without an API key.'),
  })
  .meta({ id: 'SigningKeyPage' });

function present(accountId: string, published: readonly PublishedKey[]): z.infer<typeof signingKeysSchema> {
  const data = published.map(({ key, status, signsUntil, publishedUntil }) => ({
    kid: key.kid,
    public_key: formatPublicKey(key),
    status,
    created_at: formatTime(key.createdAt),
    signing_starts_at: formatTime(key.signsFrom),
    signing_ends_at: formatTimeOrNull(signsUntil),
    publishing_ends_at: formatTimeOrNull(publishedUntil),
  }));
  return { ...presentPage(data, undefined), jwks_path: `/.well-known/webhooks/${accountId}/jwks.json` };
}

export const listSigningKeys = defineRoute({
  operationId: 'listSigningKeys',
  summary: 'List the public keys that verify Ed25519 signatures',
  method: 'get',
  path: '/v1/signing-keys',
  scope: 'webhooks:read',
  request: {},
  responses: {
    200: {
      description: 'The public keys of the account, newest first. Empty until a webhook uses Ed25519.',
      schema: signingKeysSchema,
    },
  },
  async handle({ apiKey: { accountId } }, core) {
    return { status: 200, body: present(accountId, await core.signingKeys.list(accountId)) };
  },
});

export const rotateSigningKey = defineRoute({
  operationId: 'rotateSigningKey',
  summary: 'Rotate the key that signs with Ed25519',
  method: 'post',
  path: '/v1/signing-keys/rotate',
  scope: 'webhooks:write',
  audit: 'signing_key.rotate',
  handlesSecret: true,
  request: { body: keyRotationSchema, mayLackBody: true, example: { immediate: false } },
  creates: true,
  responses: {
    201: { description: 'The public keys as they are now, newest first.', schema: signingKeysSchema },
  },
  problems: ['conflict'],
  async handle({ apiKey: { accountId }, body, newId, act }, core) {
    const rotation = newId(KEY_ROTATION_ID_PREFIX);
    const published = await core.signingKeys.rotate(accountId, body, rotation, act);
    return { status: 201, body: present(accountId, published) };
  },
});

const jwkSchema = z
  .object({
    kty: z.literal('OKP').describe('The kind of key (RFC 8037).'),
    crv: z.literal('Ed25519').describe('The curve of the key.'),
    x: z.string().describe('The public key: its 32 bytes in base64url.'),
    kid: z.string().describe(KID),
    use: z.literal('sig').describe('The use of the key: signatures.'),
    alg: z.literal('EdDSA').describe('The signature algorithm.'),
  })
  .meta({ id: 'Jwk' });

const jwksSchema = z
  .object({ keys: z.array(jwkSchema).readonly().describe('The public keys, newest first.') })
  .meta({ id: 'JwkSet' });

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
    304: { description: 'The keys have not changed since the ETag in `If-None-Match`.' },
  },
  problems: ['storage_unavailable'],
  async handle({ params, header }, core) {
    const accountId = accountIdSchema.safeParse(params.account_id).data;
    const jwks = toJwks(accountId === undefined ? [] : await core.signingKeys.list(accountId));
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
