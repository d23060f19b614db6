import { createECDH, createPrivateKey, type KeyObject } from 'node:crypto';
import { DER_INTEGER, DER_OBJECT_ID, DER_OCTET_STRING, DER_SEQUENCE, writeDer } from './der';
import { type Curve, ED25519, type PrivateKeyParts, readPrivateKeyParts } from './private-key-parts';
import { faultOfRsa, type RsaNumbers } from './rsa-numbers';

export type ClientKey =
  /** PKCS #8 in PEM, with nothing that stood around the key. */
  | { readonly kind: 'good'; readonly pem: string }
  /** In words that follow the key's name. */
  | { readonly kind: 'bad'; readonly fault: string };

const UNKNOWN =
  'must be a private key in PEM that is not encrypted: RSA, EC on P-256, P-384 or P-521, or Ed25519';

/**
 * Reads a private key that we are to show who we are with, for each connection anew. Only what is understood of it goes
 * to OpenSSL, so that its cost is known: RSA with 4,096 bits is the dearest.
 */
export function readClientKey(pem: string): ClientKey {
  const parts = readPrivateKeyParts(pem);
  if (!parts) return { kind: 'bad', fault: UNKNOWN };
  const fault = parts.kind === 'rsa' ? faultOfRsa(parts.numbers) : undefined;
  if (fault !== undefined) return { kind: 'bad', fault };
  try {
    return { kind: 'good', pem: build(parts).export({ type: 'pkcs8', format: 'pem' }).toString() };
  } catch {
    return { kind: 'bad', fault: UNKNOWN };
  }
}

function build(parts: PrivateKeyParts): KeyObject {
  switch (parts.kind) {
    case 'rsa':
      return createPrivateKey({ format: 'jwk', key: { kty: 'RSA', ...toJwk(parts.numbers) } });
    case 'ec':
      return createPrivateKey({ format: 'jwk', key: { kty: 'EC', ...ecJwk(parts.curve, parts.scalar) } });
    case 'ed25519':
      return createPrivateKey({ format: 'der', type: 'pkcs8', key: ed25519Der(parts.seed) });
  }
}

function toJwk(numbers: RsaNumbers): Record<string, string> {
  return Object.fromEntries(
    Object.entries(numbers).map(([name, number]) => [name, toBase64Url(number as bigint)]),
  );
}

function toBase64Url(number: bigint): string {
  const hex = number.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex').toString('base64url');
}

// The public key is computed: one that came along could be another's.
function ecJwk({ name, openSslName, scalarBytes }: Curve, scalar: Buffer): Record<string, string> {
  const ecdh = createECDH(openSslName);
  ecdh.setPrivateKey(scalar);
  // A byte that says that both coordinates follow.
  const point = ecdh.getPublicKey().subarray(1);
  const [x, y] = [point.subarray(0, scalarBytes), point.subarray(scalarBytes)];
  return {
    crv: name,
    x: x.toString('base64url'),
    y: y.toString('base64url'),
    d: scalar.toString('base64url'),
  };
}

function ed25519Der(seed: Buffer): Buffer {
  const algorithm = writeDer(DER_SEQUENCE, writeDer(DER_OBJECT_ID, Buffer.from(ED25519, 'hex')));
  const key = writeDer(DER_OCTET_STRING, writeDer(DER_OCTET_STRING, seed));
  return writeDer(DER_SEQUENCE, writeDer(DER_INTEGER, Buffer.of(0)), algorithm, key);
}
