import type { KeyObject } from 'node:crypto';
import { checkServerIdentity, type DetailedPeerCertificate, type PeerCertificate } from 'node:tls';

// Chains of public authorities have up to four.
const MAX_CHAIN = 10;

/**
 * Check that a receiver with a valid certificate is the called one, and cheap to call again. OpenSSL verifies
 * each signature of a chain before this code can look at it: 95 KB of certificates, of an authority of the
 * endpoint's own, take 330 ms for each connection. Here that becomes a failed attempt, and the circuit
 * breaker keeps such attempts rare.
 */
export function checkReceiver(host: string, certificate: PeerCertificate): Error | undefined {
  // Node gives the whole chain, whatever its types say.
  return checkServerIdentity(host, certificate) ?? checkCost(certificate as DetailedPeerCertificate);
}

function checkCost(leaf: DetailedPeerCertificate): Error | undefined {
  const chain = chainFrom(leaf);
  if (chain.length > MAX_CHAIN) return new CostlyChainError(`must have at most ${MAX_CHAIN} certificates`);
  const fault = chain.map(faultOf).find((each) => each !== undefined);
  return fault === undefined ? undefined : new CostlyChainError(fault);
}

// The last one names itself as its issuer, or no issuer if that is unknown.
function chainFrom(leaf: DetailedPeerCertificate): readonly DetailedPeerCertificate[] {
  const chain = [leaf];
  for (let next = leaf.issuerCertificate; next && !chain.includes(next); next = next.issuerCertificate) {
    chain.push(next);
  }
  return chain;
}

function faultOf({ bits = 0, exponent }: PeerCertificate): string | undefined {
  // In hex, and never more than 64 bits. Only RSA keys have an exponent.
  return exponent === undefined ? undefined : faultOfRsaSize(bits, BigInt(exponent).toString(2).length);
}

class CostlyChainError extends Error {
  readonly code = 'ERR_TLS_COSTLY_CHAIN';

  constructor(fault: string) {
    super(`The receiver's chain of certificates ${fault}.`);
  }
}

// The largest of any authority. Verifying a signature takes 0.3 ms with it.
const MAX_PUBLIC_RSA_BITS = 8_192;
// All certificates use 65,537, and Windows accepts no longer exponents. OpenSSL accepts some as long as the
// key, for up to 3,072 bits: 7 ms for each signature.
export const MAX_EXPONENT_BITS = 32;

const CURVES = new Set<string | undefined>(['prime256v1', 'secp384r1', 'secp521r1']);

/** Why signatures are not verified with a certificate's key, in words that follow the text's name. */
export function faultOfPublicKey({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string | undefined {
  const { modulusLength = 0, publicExponent = 0n, namedCurve } = asymmetricKeyDetails ?? {};
  if (asymmetricKeyType === 'rsa' || asymmetricKeyType === 'rsa-pss') {
    return faultOfRsaSize(modulusLength, publicExponent.toString(2).length);
  }
  if (asymmetricKeyType === 'ec') {
    return CURVES.has(namedCurve) ? undefined : 'must have EC keys on P-256, P-384 or P-521 only';
  }
  return asymmetricKeyType === 'ed25519' ? undefined : 'must have keys of RSA, EC or Ed25519';
}

/** The same for an RSA key of which only the sizes are known. */
function faultOfRsaSize(bits: number, exponentBits: number): string | undefined {
  if (bits > MAX_PUBLIC_RSA_BITS) return `must have RSA keys of at most ${MAX_PUBLIC_RSA_BITS} bits`;
  if (exponentBits <= MAX_EXPONENT_BITS) return undefined;
  return `must have RSA keys with exponents of at most ${MAX_EXPONENT_BITS} bits`;
}
