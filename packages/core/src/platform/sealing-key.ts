import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { z } from 'zod';

/** A key that secrets are sealed under. A `KeyObject` shows its bytes in no log. */
export interface SealingKey {
  /** Derived from the key, so that nobody has to name it: 8 hex digits. Says nothing about the key. */
  readonly id: string;
  readonly key: KeyObject;
}

// AES-256.
const KEY_BYTES = 32;
const KEY_ID_DIGITS = 8;

/** One or several keys in base64, separated by commas. */
export const sealingKeysSchema = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .pipe(z.array(z.string().transform(toSealingKey)));

function toSealingKey(text: string, context: z.RefinementCtx): SealingKey {
  const bytes = Buffer.from(text, 'base64');
  // Node's decoder skips characters that are not base64; only a text that round-trips was base64.
  if (bytes.length === KEY_BYTES && bytes.toString('base64') === text) {
    return { id: idOf(bytes), key: createSecretKey(bytes) };
  }
  context.addIssue({
    code: 'custom',
    message: `must be the base64 of ${KEY_BYTES} random bytes, as "openssl rand -base64 ${KEY_BYTES}" makes it`,
  });
  return z.NEVER;
}

function idOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, KEY_ID_DIGITS);
}

const ALGORITHM = 'aes-256-gcm';
// NIST SP 800-38D requires this of GCM with random nonces: safe for 2^32 texts under one key.
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Nonce, ciphertext and tag. The result does not contain `associated`, which has to be the same when it is
 * decrypted.
 */
export function encrypt(text: string, key: KeyObject | Buffer, associated = ''): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(associated));
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

/** @throws Error when the key or `associated` differs, or the bytes were changed. */
export function decrypt(bytes: Buffer, key: KeyObject | Buffer, associated = ''): string {
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const ciphertext = bytes.subarray(NONCE_BYTES, -TAG_BYTES);
  // With an explicit length of the tag: a truncated one would be easier to guess.
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(associated))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8');
}
