import { createECDH, createPrivateKey, type KeyObject } from 'node:crypto';
import { MAX_EXPONENT_BITS } from './receiver-certificate';

export type ClientKey =
  /** PKCS #8 in PEM, without any text around the key. */
  | { readonly kind: 'good'; readonly pem: string }
  /** In words that follow the key's name. */
  | { readonly kind: 'bad'; readonly fault: string };

const UNKNOWN =
  'must be a private key in PEM that is not encrypted: RSA, EC on P-256, P-384 or P-521, or Ed25519';

/**
 * Read a private key of a client certificate, which each new connection uses. Only understood parts go to
 * OpenSSL, so that its cost is known: RSA with 4,096 bits is the most expensive.
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

// The public key is computed: an attached one could belong to another key.
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

/** The parts of a private key. */
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
const ED25519 = '2b6570';
const ED25519_SEED_BYTES = 32;

const CURVES: readonly Curve[] = [
  { name: 'P-256', openSslName: 'prime256v1', id: '2a8648ce3d030107', scalarBytes: 32 },
  { name: 'P-384', openSslName: 'secp384r1', id: '2b81040022', scalarBytes: 48 },
  { name: 'P-521', openSslName: 'secp521r1', id: '2b81040023', scalarBytes: 66 },
];

const BLOCK = /-----BEGIN ((?:RSA |EC )?PRIVATE KEY)-----([A-Za-z0-9+/=\s]+)-----END \1-----/;

/**
 * Parse a private key in PEM, the first one in the text, without OpenSSL: for a DSA key OpenSSL would compute
 * the public one with numbers of any size, which takes half a minute. Gives `undefined` for all other kinds,
 * and for encrypted keys, RSA keys with more than two primes, and curves that are described instead of named.
 */
function readPrivateKeyParts(pem: string): PrivateKeyParts | undefined {
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

// RFC 5915. Within PKCS #8 the curve is outside, and may be here too.
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

/** A value in DER (X.690): its tag, and the bytes of its content. */
export interface DerValue {
  readonly tag: number;
  readonly content: Buffer;
}

export const DER_INTEGER = 0x02;
export const DER_OCTET_STRING = 0x04;
export const DER_OBJECT_ID = 0x06;
export const DER_SEQUENCE = 0x30;
/** `[0]`, the tag in front of optional values. */
export const DER_CONTEXT_0 = 0xa0;

// For a length longer than a byte: the number of its bytes.
const LONG_FORM = 0x80;
// 64 KiB and less; accepted keys are shorter.
const MAX_LENGTH_BYTES = 2;

/** The sequence of values in these bytes; `undefined` when they are not valid. */
function readDer(bytes: Buffer): readonly DerValue[] | undefined {
  const values: DerValue[] = [];
  for (let rest = bytes; rest.length > 0; ) {
    const head = readHead(rest);
    if (!head || rest.length < head.contentAt + head.length) return undefined;
    const end = head.contentAt + head.length;
    values.push({ tag: head.tag, content: rest.subarray(head.contentAt, end) });
    rest = rest.subarray(end);
  }
  return values;
}

/** The content of a sequence, if the bytes are one sequence and nothing else. */
function readSequence(bytes: Buffer): readonly DerValue[] | undefined {
  const [sequence, ...others] = readDer(bytes) ?? [];
  return sequence?.tag === DER_SEQUENCE && others.length === 0 ? readDer(sequence.content) : undefined;
}

/** A number that is not negative. */
function readInteger({ tag, content }: DerValue): bigint | undefined {
  const [first] = content;
  if (tag !== DER_INTEGER || first === undefined || first >= 0x80) return undefined;
  return BigInt(`0x${content.toString('hex')}`);
}

/** The inverse of `readDer`, for contents of up to 127 bytes. */
function writeDer(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.of(tag, content.length), content]);
}

function readHead(bytes: Buffer) {
  const [tag, first] = bytes;
  if (tag === undefined || first === undefined) return undefined;
  if (first < LONG_FORM) return { tag, contentAt: 2, length: first };
  const count = first - LONG_FORM;
  if (count < 1 || count > MAX_LENGTH_BYTES || bytes.length < 2 + count) return undefined;
  return { tag, contentAt: 2 + count, length: bytes.readUIntBE(2, count) };
}
