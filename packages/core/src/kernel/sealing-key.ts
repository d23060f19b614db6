import { createHash, createSecretKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';

/** A key that secrets are sealed under. A `KeyObject` shows its bytes to no log. */
export interface SealingKey {
  /** Follows from the key, so that nobody has to name it: 8 hex digits. Says nothing about the key. */
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
  // Node's decoder skips what is not base64; only a text that comes back the same was base64.
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
