import {
  DER_CONTEXT_0,
  DER_OBJECT_ID,
  DER_OCTET_STRING,
  DER_SEQUENCE,
  type DerValue,
  readDer,
  readInteger,
  readSequence,
} from './der';
import type { RsaNumbers } from './rsa-numbers';

/** What a private key is made of. */
export type PrivateKeyParts =
  | { readonly kind: 'rsa'; readonly numbers: RsaNumbers }
  | { readonly kind: 'ec'; readonly curve: Curve; readonly scalar: Buffer }
  | { readonly kind: 'ed25519'; readonly seed: Buffer };

export interface Curve {
  readonly name: string;
  readonly openSslName: string;
  /** Its object identifier, in hex. */
  readonly id: string;
  readonly scalarBytes: number;
}

// Object identifiers, in hex.
const RSA = '2a864886f70d010101';
const EC = '2a8648ce3d0201';
export const ED25519 = '2b6570';
const ED25519_SEED_BYTES = 32;

const CURVES: readonly Curve[] = [
  { name: 'P-256', openSslName: 'prime256v1', id: '2a8648ce3d030107', scalarBytes: 32 },
  { name: 'P-384', openSslName: 'secp384r1', id: '2b81040022', scalarBytes: 48 },
  { name: 'P-521', openSslName: 'secp521r1', id: '2b81040023', scalarBytes: 66 },
];

const BLOCK = /-----BEGIN ((?:RSA |EC )?PRIVATE KEY)-----([A-Za-z0-9+/=\s]+)-----END \1-----/;

/**
 * Takes a private key in PEM apart, the first one in the text, without OpenSSL: for a DSA key it would compute the public
 * one, with numbers as large as they come, and that takes it half a minute. `undefined` for all kinds but these, also for
 * keys that are encrypted, RSA keys with more than two primes, and curves that are described instead of named.
 */
export function readPrivateKeyParts(pem: string): PrivateKeyParts | undefined {
  const [, label, base64 = ''] = BLOCK.exec(pem) ?? [];
  const der = Buffer.from(base64, 'base64');
  if (label === 'PRIVATE KEY') return readPkcs8(der);
  if (label === 'RSA PRIVATE KEY') return readRsa(der);
  if (label === 'EC PRIVATE KEY') return readEc(der, undefined);
  return undefined;
}

// RFC 5958.
function readPkcs8(der: Buffer): PrivateKeyParts | undefined {
  const [, algorithm, key] = readSequence(der) ?? [];
  if (algorithm?.tag !== DER_SEQUENCE || key?.tag !== DER_OCTET_STRING) return undefined;
  const [id, parameter] = readDer(algorithm.content) ?? [];
  const kind = objectIdOf(id);
  if (kind === RSA) return readRsa(key.content);
  if (kind === EC) return readEc(key.content, curveOf(parameter));
  return kind === ED25519 ? readEd25519(key.content) : undefined;
}

// RFC 8017, A.1.2.
function readRsa(der: Buffer): PrivateKeyParts | undefined {
  const integers = readSequence(der)?.map(readInteger) ?? [];
  if (integers.length !== 9 || integers.includes(undefined)) return undefined;
  const [version, n, e, d, p, q, dp, dq, qi] = integers as typeof integers & bigint[];
  if (version !== 0n) return undefined;
  return { kind: 'rsa', numbers: { n, e, d, p, q, dp, dq, qi } as RsaNumbers };
}

// RFC 5915. Within PKCS #8 the curve stands outside, and may stand here too.
function readEc(der: Buffer, outer: Curve | undefined): PrivateKeyParts | undefined {
  const [version, scalar, ...optional] = readSequence(der) ?? [];
  if (!version || readInteger(version) !== 1n || scalar?.tag !== DER_OCTET_STRING) return undefined;
  const inner = optional.find(({ tag }) => tag === DER_CONTEXT_0);
  const curve = inner ? curveOf(readDer(inner.content)?.[0]) : outer;
  if (!curve || (outer && outer !== curve) || scalar.content.length !== curve.scalarBytes) return undefined;
  return { kind: 'ec', curve, scalar: scalar.content };
}

// RFC 8410.
function readEd25519(der: Buffer): PrivateKeyParts | undefined {
  const [seed, ...others] = readDer(der) ?? [];
  const isSeed = seed?.tag === DER_OCTET_STRING && seed.content.length === ED25519_SEED_BYTES;
  return isSeed && others.length === 0 ? { kind: 'ed25519', seed: seed.content } : undefined;
}

function curveOf(value: DerValue | undefined): Curve | undefined {
  const id = objectIdOf(value);
  return CURVES.find((curve) => curve.id === id);
}

function objectIdOf(value: DerValue | undefined): string | undefined {
  return value?.tag === DER_OBJECT_ID ? value.content.toString('hex') : undefined;
}
