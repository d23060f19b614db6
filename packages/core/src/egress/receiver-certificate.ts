import { checkServerIdentity, type DetailedPeerCertificate, type PeerCertificate } from 'node:tls';
import { faultOfRsaSize } from './public-key-cost';

// Those of public authorities have up to four.
const MAX_CHAIN = 10;

/**
 * Whether a receiver whose certificate is in order is the one that was called, and cheap to call again. OpenSSL checks each
 * signature of a chain before anybody can look at it: 95 KB of certificates, of an authority of the endpoint's own, take 330 ms
 * for each connection. Here that becomes a failed attempt, and the circuit breaker sees to it that there are few.
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

// The last one names itself as its issuer, or none if its own is not known.
function chainFrom(leaf: DetailedPeerCertificate): readonly DetailedPeerCertificate[] {
  const chain = [leaf];
  for (let next = leaf.issuerCertificate; next && !chain.includes(next); next = next.issuerCertificate) {
    chain.push(next);
  }
  return chain;
}

function faultOf({ bits = 0, exponent }: PeerCertificate): string | undefined {
  // In hex, and never more than 64 bits, whatever there are; other keys than those of RSA have none.
  return exponent === undefined ? undefined : faultOfRsaSize(bits, BigInt(exponent).toString(2).length);
}

class CostlyChainError extends Error {
  readonly code = 'ERR_TLS_COSTLY_CHAIN';

  constructor(fault: string) {
    super(`The receiver's chain of certificates ${fault}.`);
  }
}
