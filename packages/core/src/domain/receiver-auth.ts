import { z } from 'zod';

/** The algorithms that sign a client assertion (RFC 7518, RFC 8037): the first of each kind of key is its own. */
export const assertionAlgorithms = {
  RSA: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  'P-256': ['ES256'],
  'P-384': ['ES384'],
  'P-521': ['ES512'],
  Ed25519: ['EdDSA'],
} as const;
export type AssertionKeyKind = keyof typeof assertionAlgorithms;
export type AssertionAlgorithm = (typeof assertionAlgorithms)[AssertionKeyKind][number];

/** When it was last changed: an access token belongs to one state of it. Milliseconds since the Unix epoch. */
const changedAt = z.number();

const oauth2Schema = z.object({
  type: z.literal('oauth2'),
  changedAt,
  tokenUrl: z.string(),
  clientId: z.string(),
  /** It has this one or the next one. */
  clientSecret: z.string().optional(),
  /** PKCS #8 in PEM. */
  privateKey: z.string().optional(),
  /** Of the private key. */
  algorithm: z.enum(Object.values(assertionAlgorithms).flat()).optional(),
  /** The name of the private key (`kid`), if it has one. */
  keyId: z.string().optional(),
  scope: z.string().optional(),
  audience: z.string().optional(),
});

const basicSchema = z.object({
  type: z.literal('basic'),
  changedAt,
  username: z.string(),
  password: z.string(),
});

const bearerSchema = z.object({ type: z.literal('bearer'), changedAt, token: z.string() });

/** What requests to a receiver carry in `Authorization`, beside their signatures. */
export const receiverAuthSchema = z.discriminatedUnion('type', [oauth2Schema, basicSchema, bearerSchema]);
export type ReceiverAuth = Readonly<z.infer<typeof receiverAuthSchema>>;
export type OAuth2 = Readonly<z.infer<typeof oauth2Schema>>;

export const authTypes = ['oauth2', 'basic', 'bearer'] as const;

/** Its members that are secrets: stored sealed, and never shown again. */
export const authSecrets = ['clientSecret', 'privateKey', 'password', 'token'] as const;

/**
 * The error codes of a token request that are passed on: those that are registered, and two that are common. An
 * authorization server can write what it likes into that member, even the secret that it was sent.
 */
export const tokenErrorCodes = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'invalid_target',
  'access_denied',
  'server_error',
  'temporarily_unavailable',
  'slow_down',
  'use_dpop_nonce',
  'invalid_dpop_proof',
  'invalid_client_metadata',
  'insufficient_scope',
  'interaction_required',
  'unmet_authentication_requirements',
] as const;
export type TokenErrorCode = (typeof tokenErrorCodes)[number];
