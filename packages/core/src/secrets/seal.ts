import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { AppError } from '../errors/app-error';
import type { SealingKey } from './sealing-key';

/** Makes texts unreadable in the store, and readable again. */
export interface Sealer {
  /** `owner` says whose text it is, and of what kind: it can be opened for the same owner only. */
  seal(text: string, owner: string): string;
  /** Gives back a text that was never sealed as it is. @throws AppError `secret_unreadable`. */
  open(text: string, owner: string): string;
}

// sealed.v1.<key id>.<base64url of nonce, ciphertext, tag>
const PREFIX = 'sealed.v1.';
const ALGORITHM = 'aes-256-gcm';
// What NIST SP 800-38D asks of GCM with random nonces: good for 2^32 texts under one key.
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Seals under the first key and opens what any of them has sealed. Without a key, texts stay plain. */
export function createSealer(keys: readonly SealingKey[]): Sealer {
  const [first] = keys;
  return {
    seal: (text, owner) => (first === undefined ? text : encrypt(text, first, owner)),
    open: (text, owner) => (text.startsWith(PREFIX) ? decrypt(text, keys, owner) : text),
  };
}

/** Not the client's fault, and nothing that it could change. */
export function secretUnreadable(cause?: unknown): AppError {
  return new AppError(
    'secret_unreadable',
    'A stored secret can not be read: its record was tampered with, or SECRETS_ENCRYPTION_KEY lacks the key that sealed it.',
    { cause },
  );
}

export function isUnreadableSecret(error: unknown): boolean {
  return error instanceof AppError && error.code === 'secret_unreadable';
}

function encrypt(text: string, { id, key }: SealingKey, owner: string): string {
  const head = `${PREFIX}${id}.`;
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(head + owner));
  const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return head + sealed.toString('base64url');
}

function decrypt(text: string, keys: readonly SealingKey[], owner: string): string {
  const [id = '', body = ''] = text.slice(PREFIX.length).split('.');
  const found = keys.find((each) => each.id === id);
  if (!found) throw secretUnreadable();
  const sealed = Buffer.from(body, 'base64url');
  try {
    return decipher(sealed, found, Buffer.from(`${PREFIX}${id}.${owner}`));
  } catch (error) {
    throw secretUnreadable(error);
  }
}

function decipher(sealed: Buffer, { key }: SealingKey, associated: Buffer): string {
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const ciphertext = sealed.subarray(NONCE_BYTES, -TAG_BYTES);
  // With the length of the tag said: one that is cut short would be easier to guess.
  const opened = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(associated)
    .setAuthTag(sealed.subarray(-TAG_BYTES));
  return Buffer.concat([opened.update(ciphertext), opened.final()]).toString('utf8');
}
