import { createPrivateKey, generateKeyPairSync, type JsonWebKey } from 'node:crypto';

// Tags of values in DER (X.690).
const DER_INTEGER = 0x02;
export const DER_OCTET_STRING = 0x04;
export const DER_OBJECT_ID = 0x06;
export const DER_SEQUENCE = 0x30;
/** `[0]`, the tag in front of optional values. */
export const DER_CONTEXT_0 = 0xa0;

/**
 * A private RSA key of 2,048 bits with these values instead of its numbers (base64url), in a form that
 * OpenSSL accepts.
 */
export function rsaKeyWith(numbers: JsonWebKey): string {
  rsaKey ??= generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey.export({ format: 'jwk' });
  const changed = createPrivateKey({ format: 'jwk', key: { ...rsaKey, ...numbers } });
  return changed.export({ type: 'pkcs8', format: 'pem' }).toString();
}

// To make one takes half a second.
let rsaKey: JsonWebKey | undefined;

/** Signs, but OpenSSL computes for half a minute with p and dp of 24,000 bits before it falls back to d. */
export function costlyRsaKey(): string {
  const huge = largeNumber(3_000).toString('base64url');
  return rsaKeyWith({ p: huge, dp: huge });
}

/** Whose public key OpenSSL computes when it reads the private one: half a minute, with 28,000 bits. */
export function costlyDsaKey(): string {
  const dsa = tlv(DER_OBJECT_ID, Buffer.from('2a8648ce380401', 'hex'));
  const [p, q, g, x] = [largeNumber(3_500), largeNumber(32), Buffer.of(2), largeNumber(3_500)].map(
    integer,
  ) as [Buffer, Buffer, Buffer, Buffer];
  const algorithm = tlv(DER_SEQUENCE, dsa, tlv(DER_SEQUENCE, p, q, g));
  return toPem('PRIVATE KEY', tlv(DER_SEQUENCE, integer(Buffer.of(0)), algorithm, tlv(DER_OCTET_STRING, x)));
}

export function toPem(label: string, der: Buffer): string {
  return `-----BEGIN ${label}-----\n${der.toString('base64')}\n-----END ${label}-----\n`;
}

/** A value in DER. */
export function tlv(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), content]);
  return Buffer.concat([Buffer.of(tag, 0x82, length >> 8, length & 0xff), content]);
}

export function integer(bytes: Buffer): Buffer {
  const isNegative = (bytes[0] ?? 0) >= 0x80;
  return tlv(DER_INTEGER, isNegative ? Buffer.concat([Buffer.of(0), bytes]) : bytes);
}

/** Odd, and with its highest bit set. */
function largeNumber(bytes: number): Buffer {
  return Buffer.alloc(bytes, 0xff);
}
