import type { KeyObject } from 'node:crypto';

// The largest that authorities have. To check a signature takes 0.3 ms with it.
const MAX_PUBLIC_RSA_BITS = 8_192;
// 65,537 is what all use, and Windows takes no longer ones. OpenSSL takes some that are as long as the key, for up to 3,072
// bits: 7 ms for each signature.
export const MAX_EXPONENT_BITS = 32;

const CURVES = new Set<string | undefined>(['prime256v1', 'secp384r1', 'secp521r1']);

/** What makes a certificate's key one that we do not check signatures with, in words that follow the text's name. */
export function faultOfPublicKey({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string | undefined {
  const { modulusLength = 0, publicExponent = 0n, namedCurve } = asymmetricKeyDetails ?? {};
  if (asymmetricKeyType === 'rsa' || asymmetricKeyType === 'rsa-pss') {
    return faultOfRsaSize(modulusLength, publicExponent.toString(2).length);
  }
  if (asymmetricKeyType === 'ec') {
    return CURVES.has(namedCurve) ? undefined : 'must have keys on P-256, P-384 or P-521, if on any curve';
  }
  return asymmetricKeyType === 'ed25519' ? undefined : 'must have keys of RSA, EC or Ed25519';
}

/** The same for a key of RSA of which no more than its sizes are known. */
export function faultOfRsaSize(bits: number, exponentBits: number): string | undefined {
  if (bits > MAX_PUBLIC_RSA_BITS) return `must have RSA keys of at most ${MAX_PUBLIC_RSA_BITS} bits`;
  if (exponentBits <= MAX_EXPONENT_BITS) return undefined;
  return `must have RSA keys with exponents of at most ${MAX_EXPONENT_BITS} bits`;
}
