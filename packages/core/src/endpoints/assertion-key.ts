import { createPrivateKey } from 'node:crypto';
import { z } from 'zod';
import {
  type AssertionAlgorithm,
  type AssertionKeyKind,
  assertionAlgorithms,
  type KeyFacts,
} from '../domain/receiver-auth';
import { readClientKey } from './tls/client-key';

const MAX_KEY_CHARACTERS = 16 * 1024;

const pemSchema = z.string().max(MAX_KEY_CHARACTERS, `must have at most ${MAX_KEY_CHARACTERS} characters`);
const jwkSchema = z.looseObject({
  kty: z.string().describe('The kind of key: `RSA`, `EC` or `OKP`.'),
  crv: z.string().optional().describe('The curve, unless it is an RSA key.'),
  kid: z
    .string()
    .max(256)
    .regex(/^[\x21-\x7e]+$/, 'must be 1 to 256 visible ASCII characters, with no white space')
    .optional()
    .describe('The id of the key, which assertions name in their header.'),
  alg: z
    .string()
    .max(16)
    .optional()
    .describe('The algorithm that signs assertions. Default: the usual one of its kind of key.'),
});

/** A private key that signs client assertions. */
export type AssertionKey = KeyFacts & { readonly privateKey: string };

/** A key that signs assertions, as PKCS #8 in PEM or as a JWK. */
export const assertionKeySchema = z.union([pemSchema, jwkSchema]).transform((key, context): AssertionKey => {
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
