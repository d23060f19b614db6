import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const PURPOSE = 'idempotent answer';

/** What an answer is sealed with: the API key as presented, of which the store has only a hash, and whose answer it is. */
export interface SealOptions {
  readonly apiKey: string;
  /** The place where it is kept: from another place it can't be opened. */
  readonly place: string;
}

/** An answer may show a secret, so only who has the API key can read what the store keeps. */
export function sealAnswer(answer: string, options: SealOptions): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, keyOf(options), nonce);
  const sealed = [nonce, cipher.update(answer, 'utf8'), cipher.final()];
  return Buffer.concat([...sealed, cipher.getAuthTag()]).toString('base64');
}

/** `undefined` when it was sealed with another API key, for another place, or was changed. */
export function openAnswer(sealed: string, options: SealOptions): string | undefined {
  const bytes = Buffer.from(sealed, 'base64');
  const decipher = createDecipheriv(ALGORITHM, keyOf(options), bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return (
      decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
    );
  } catch {
    return undefined;
  }
}

function keyOf({ apiKey, place }: SealOptions): Buffer {
  return Buffer.from(hkdfSync('sha256', apiKey, place, PURPOSE, KEY_BYTES));
}
