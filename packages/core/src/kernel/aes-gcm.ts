import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
// What NIST SP 800-38D asks of GCM with random nonces: good for 2^32 texts under one key.
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Nonce, ciphertext and tag. `associated` is none of them, and has to be the same when it is decrypted. */
export function encrypt(text: string, key: KeyObject | Buffer, associated = ''): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(associated));
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

/** @throws Error when the key or what is associated is another one, or the bytes were changed. */
export function decrypt(bytes: Buffer, key: KeyObject | Buffer, associated = ''): string {
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const ciphertext = bytes.subarray(NONCE_BYTES, -TAG_BYTES);
  // With the length of the tag said: one that is cut short would be easier to guess.
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(associated))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8');
}
