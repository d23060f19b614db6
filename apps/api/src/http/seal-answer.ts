import { hkdfSync } from 'node:crypto';
import { decrypt, encrypt } from '@hookferry/core/kernel/aes-gcm';

const KEY_BYTES = 32;
const PURPOSE = 'idempotent answer';

/** What an answer is sealed with: the API key as presented, of which the store has only a hash, and whose answer it is. */
export interface SealOptions {
  readonly apiKey: string;
  /** The place where it is kept: from another place it can't be opened. */
  readonly place: string;
}

/** An answer may show a secret, so only who has the API key can read what the store keeps. */
export function sealAnswer(answer: string, options: SealOptions): string {
  return encrypt(answer, keyOf(options)).toString('base64');
}

/** `undefined` when it was sealed with another API key, for another place, or was changed. */
export function openAnswer(sealed: string, options: SealOptions): string | undefined {
  try {
    return decrypt(Buffer.from(sealed, 'base64'), keyOf(options));
  } catch {
    return undefined;
  }
}

function keyOf({ apiKey, place }: SealOptions): Buffer {
  return Buffer.from(hkdfSync('sha256', apiKey, place, PURPOSE, KEY_BYTES));
}
