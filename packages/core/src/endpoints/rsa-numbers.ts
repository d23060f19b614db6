import { MAX_EXPONENT_BITS } from '../egress/public-key-cost';

/** The numbers of a private RSA key with two primes, by their names in RFC 8017. */
export interface RsaNumbers {
  readonly n: bigint;
  readonly e: bigint;
  readonly d: bigint;
  readonly p: bigint;
  readonly q: bigint;
  readonly dp: bigint;
  readonly dq: bigint;
  readonly qi: bigint;
}

// What authorities ask for today.
const MIN_BITS = 2_048;
// As much as any authority asks for. A signature takes eight times as long with twice as many bits, and nothing else is done
// in the process meanwhile: with 4,096 it is 5 ms.
const MAX_BITS = 4_096;
// Those who make keys take primes of half the bits.
const PRIME_SLACK_BITS = 8;

/**
 * What is wrong with a key, in words that follow its name. OpenSSL checks none of this: it computes with whatever numbers
 * a key has, and p of 24,000 bits takes a process half a minute for each signature.
 */
export function faultOfRsa(numbers: RsaNumbers): string | undefined {
  const bits = bitsOf(numbers.n);
  if (bits < MIN_BITS) return `must have at least ${MIN_BITS} bits`;
  if (bits > MAX_BITS) return `must have at most ${MAX_BITS} bits`;
  if (bitsOf(numbers.e) > MAX_EXPONENT_BITS) {
    return `must have a public exponent of at most ${MAX_EXPONENT_BITS} bits`;
  }
  return isOneKey(numbers, bits) ? undefined : 'must be a key whose numbers belong together';
}

function isOneKey({ n, e, d, p, q, dp, dq, qi }: RsaNumbers, bits: number): boolean {
  // Sizes first: what is not too large is not costly to compute with.
  if (![p, q].every((prime) => Math.abs(bitsOf(prime) - bits / 2) <= PRIME_SLACK_BITS)) return false;
  if (p * q !== n || n % 2n === 0n || d >= n || dp >= p || dq >= q || qi >= p) return false;
  const isInverse = (one: bigint, other: bigint, modulus: bigint) => (one * other) % modulus === 1n;
  return (
    isInverse(e, d, p - 1n) &&
    isInverse(e, d, q - 1n) &&
    isInverse(e, dp, p - 1n) &&
    isInverse(e, dq, q - 1n) &&
    isInverse(q, qi, p)
  );
}

function bitsOf(number: bigint): number {
  return number.toString(2).length;
}
