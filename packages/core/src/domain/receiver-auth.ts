import { z } from 'zod';
import { type CamelCase, camelCase } from './endpoint-settings';
import { type AuthKinds, type AuthType, authMembersOf, authTypes, mayLack } from './receiver-auth/kinds';

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

type Members<Type extends AuthType> = AuthKinds[Type]['members'];
type MayLack = { readonly isOptional: true } | { readonly isCredential: true };

// As it stands in a record: by the names in code.
type Stored<Type extends AuthType> = {
  readonly type: Type;
  /** When it was last changed: an access token belongs to one state of it. Milliseconds since the Unix epoch. */
  readonly changedAt: number;
} & {
  readonly [Name in keyof Members<Type> as Members<Type>[Name] extends MayLack
    ? never
    : CamelCase<Name>]: string;
} & {
  readonly [Name in keyof Members<Type> as Members<Type>[Name] extends MayLack ? CamelCase<Name> : never]?:
    | string
    | undefined;
};

/** What is stored of a private key beside its text. */
const keyFacts = {
  algorithm: z.enum(Object.values(assertionAlgorithms).flat()).optional(),
  /** Its name (`kid`), if it has one. */
  keyId: z.string().optional(),
};
export type KeyFacts = Readonly<z.infer<z.ZodObject<typeof keyFacts>>>;
export const keyFactNames = Object.keys(keyFacts);

export type OAuth2 = Stored<'oauth2'> & KeyFacts;

/** What requests to a receiver carry in `Authorization`, beside their signatures. */
export type ReceiverAuth =
  | OAuth2
  | { readonly [Type in Exclude<AuthType, 'oauth2'>]: Stored<Type> }[Exclude<AuthType, 'oauth2'>];

function storedSchema(type: AuthType) {
  const members = authMembersOf(type).map(([name, member]) => [
    camelCase(name),
    mayLack(member) ? z.string().optional() : z.string(),
  ]);
  const hasKey = authMembersOf(type).some(([, { kind }]) => kind === 'private_key');
  return z.object({
    type: z.literal(type),
    changedAt: z.number(),
    ...(Object.fromEntries(members) as Readonly<Record<string, z.ZodType>>),
    ...(hasKey && keyFacts),
  });
}

const [first, ...others] = authTypes.map(storedSchema);

export const receiverAuthSchema = z.discriminatedUnion('type', [
  first as NonNullable<typeof first>,
  ...others,
]) as unknown as z.ZodType<ReceiverAuth, ReceiverAuth>;

const secrets: ReadonlyMap<AuthType, ReadonlySet<string>> = new Map(
  authTypes.map((type) => [
    type,
    new Set(
      authMembersOf(type)
        .filter(([, { isSecret }]) => isSecret)
        .map(([name]) => camelCase(name)),
    ),
  ]),
);

/** Whether a member, by its name in code, is stored sealed and never shown again. */
export function isAuthSecret(type: AuthType, name: string): boolean {
  return secrets.get(type)?.has(name) === true;
}

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
