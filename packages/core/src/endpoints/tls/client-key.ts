import { createECDH, createPrivateKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { MAX_EXPONENT_BITS } from './receiver-certificate';

export type ClientKey =
  /** PKCS #8 in PEM, without any text around the key. */
  | { readonly kind: 'good'; readonly pem: string }
  /** In words that follow the key's name. */
  | { readonly kind: 'bad'; readonly fault: string };

const UNKNOWN =
  'must be a private key in PEM that is not encrypted: RSA, EC on P-256, P-384 or P-521, or Ed25519';

const BLOCK = /-----BEGIN ((?:RSA |EC )?PRIVATE KEY)-----([A-Za-z0-9+/=\s]+)-----END \1-----/;

/**
 * Read a private key of a client certificate, which each new connection uses: the first one in the text. Only understood parts
 * go to OpenSSL, so that its cost is known: RSA with 4,096 bits is the most expensive. For a DSA key OpenSSL would compute the
 * public one with numbers of any size, which takes half a minute.
 */
export function readClientKey(pem: string): ClientKey {
  const [, label = '', base64 = ''] = BLOCK.exec(pem) ?? [];
  const der = Buffer.from(base64, 'base64').toString('hex');
  const numbers = readRsa(label, der);
  const fault = numbers && faultOfRsa(numbers);
  if (fault !== undefined) return { kind: 'bad', fault };
  try {
    const key = numbers ? rsaKey(numbers) : (readEc(label, der) ?? readEd25519(label, der));
    if (key) return { kind: 'good', pem: key.export({ type: 'pkcs8', format: 'pem' }).toString() };
  } catch {
    // Numbers that OpenSSL does not take either.
  }
  return { kind: 'bad', fault: UNKNOWN };
}

// Keys in DER (X.690), in hex: the start of a value of this kind, with a length of up to two bytes, and object identifiers.
const startOf = (tag: string) => `${tag}(?:[0-7].|81..|82....)`;
const SEQUENCE = startOf('30');
const OCTETS = startOf('04');
const RSA = '06092a864886f70d010101';
const EC = '06072a8648ce3d0201';
const ED25519 = '06032b6570';

// RFC 5958: what the key of an algorithm begins after.
const startOfPkcs8 = (algorithm: string) => `^${SEQUENCE}02010[01]30[0-7].${algorithm}${OCTETS}`;

const PKCS8_RSA = new RegExp(`${startOfPkcs8(`${RSA}(?:0500)?`)}(?=30)`);
const RSA_KEY = new RegExp(`^${SEQUENCE}(?=02)`);

// RFC 8017, A.1.2. One with more than two primes has another version.
function readRsa(label: string, der: string): RsaNumbers | undefined {
  if (label !== 'RSA PRIVATE KEY' && !PKCS8_RSA.test(der)) return undefined;
  const integers = integersIn(der.replace(PKCS8_RSA, '').replace(RSA_KEY, ''));
  if (integers.length !== 9 || integers[0] !== 0n) return undefined;
  const [, n, e, d, p, q, dp, dq, qi] = integers;
  return { n, e, d, p, q, dp, dq, qi } as RsaNumbers;
}

const INTEGER = /^02(?:([0-7].)|81(..)|82(....))/;

/** The numbers in front, none of which is negative. */
function integersIn(der: string): bigint[] {
  const integers: bigint[] = [];
  let rest = der;
  for (let start = INTEGER.exec(rest); start; start = INTEGER.exec(rest)) {
    const end = start[0].length + 2 * Number.parseInt(start[1] ?? start[2] ?? start[3] ?? '', 16);
    const digits = rest.slice(start[0].length, end);
    if (rest.length < end || !/^[0-7]/.test(digits)) return [];
    integers.push(BigInt(`0x${digits}`));
    rest = rest.slice(end);
  }
  return integers;
}

function rsaKey(numbers: RsaNumbers): KeyObject {
  const members = Object.entries(numbers).map(([name, number]) => [name, base64UrlOf(number)]);
  const key: JsonWebKey = { kty: 'RSA', ...Object.fromEntries(members) };
  return createPrivateKey({ format: 'jwk', key });
}

function base64UrlOf(number: bigint): string {
  const hex = number.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex').toString('base64url');
}

const CURVES = [
  { crv: 'P-256', name: 'prime256v1', id: '06082a8648ce3d030107', bytes: 32 },
  { crv: 'P-384', name: 'secp384r1', id: '06052b81040022', bytes: 48 },
  { crv: 'P-521', name: 'secp521r1', id: '06052b81040023', bytes: 66 },
].map((curve) => {
  // RFC 5915. The curve is named: in front within PKCS #8, else behind.
  const key = `${SEQUENCE}02010104${curve.bytes.toString(16)}(.{${2 * curve.bytes}})`;
  return {
    ...curve,
    pkcs8: new RegExp(`${startOfPkcs8(EC + curve.id)}${key}`),
    sec1: new RegExp(`^${key}a0..${curve.id}`),
  };
});

function readEc(label: string, der: string): KeyObject | undefined {
  for (const { crv, name, bytes, pkcs8, sec1 } of CURVES) {
    const [, digits] = (label === 'EC PRIVATE KEY' ? sec1 : pkcs8).exec(der) ?? [];
    if (digits === undefined) continue;
    const scalar = Buffer.from(digits, 'hex');
    // The public key is computed: an attached one could belong to another key.
    const ecdh = createECDH(name);
    ecdh.setPrivateKey(scalar);
    // A byte that says that both coordinates follow.
    const point = ecdh.getPublicKey().subarray(1);
    const [x, y, d] = [point.subarray(0, bytes), point.subarray(bytes), scalar].map((each) =>
      each.toString('base64url'),
    );
    return createPrivateKey({ format: 'jwk', key: { kty: 'EC', crv, x, y, d } as JsonWebKey });
  }
  return undefined;
}

const PKCS8_ED25519 = new RegExp(`${startOfPkcs8(ED25519)}0420(.{64})`);
const BEFORE_SEED = '302e020100300506032b657004220420';

// RFC 8410.
function readEd25519(label: string, der: string): KeyObject | undefined {
  const [, seed] = (label === 'PRIVATE KEY' && PKCS8_ED25519.exec(der)) || [];
  if (seed === undefined) return undefined;
  return createPrivateKey({ format: 'der', type: 'pkcs8', key: Buffer.from(BEFORE_SEED + seed, 'hex') });
}

/** The numbers of a private RSA key with two primes, by their names in RFC 8017. */
type RsaNumbers = Readonly<Record<'n' | 'e' | 'd' | 'p' | 'q' | 'dp' | 'dq' | 'qi', bigint>>;

// The limits of today's certificate authorities.
const MIN_BITS = 2_048;
// As much as any authority requires. A signature takes eight times as long with twice as many bits, and
// blocks the process meanwhile: with 4,096 bits it takes 5 ms.
const MAX_BITS = 4_096;
// Generators of keys use primes of half the bits.
const PRIME_SLACK_BITS = 8;

/**
 * The validation error of a key, in words that follow its name. OpenSSL checks none of this: it computes with
 * any numbers, and p of 24,000 bits takes a process half a minute for each signature.
 */
function faultOfRsa(numbers: RsaNumbers): string | undefined {
  const bits = bitsOf(numbers.n);
  if (bits < MIN_BITS) return `must have at least ${MIN_BITS} bits`;
  if (bits > MAX_BITS) return `must have at most ${MAX_BITS} bits`;
  if (bitsOf(numbers.e) > MAX_EXPONENT_BITS) {
    return `must have a public exponent of at most ${MAX_EXPONENT_BITS} bits`;
  }
  return isOneKey(numbers, bits) ? undefined : 'must be a key whose numbers fit together';
}

function isOneKey({ n, e, d, p, q, dp, dq, qi }: RsaNumbers, bits: number): boolean {
  // Sizes first: computing with numbers of bounded size is cheap.
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
