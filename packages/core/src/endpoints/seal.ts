import type { Emit } from '../domain/signal';
import { AppError } from '../platform/app-error';
import { decrypt, encrypt, type SealingKey } from '../platform/sealing-key';

/** Makes texts unreadable in the store, and readable again. */
export interface Sealer {
  /** `owner` says whose text it is, and of what kind: it can be opened for the same owner only. */
  seal(text: string, owner: string): string;
  /** Gives back a text that was never sealed as it is. @throws AppError `secret_unreadable`. */
  open(text: string, owner: string): string;
}

// sealed.v1.<key id>.<base64url of nonce, ciphertext, tag>
const PREFIX = 'sealed.v1.';

/** Seals under the first key and opens what any of them has sealed. Without a key, texts stay plain. */
export function createSealer(keys: readonly SealingKey[]): Sealer {
  const [first] = keys;
  return {
    seal: (text, owner) => (first === undefined ? text : sealUnder(first, text, owner)),
    open: (text, owner) => (text.startsWith(PREFIX) ? openWithOneOf(keys, text, owner) : text),
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

function sealUnder({ id, key }: SealingKey, text: string, owner: string): string {
  const head = `${PREFIX}${id}.`;
  return head + encrypt(text, key, head + owner).toString('base64url');
}

function openWithOneOf(keys: readonly SealingKey[], text: string, owner: string): string {
  const [id = '', body = ''] = text.slice(PREFIX.length).split('.');
  const found = keys.find((each) => each.id === id);
  if (!found) throw secretUnreadable();
  try {
    return decrypt(Buffer.from(body, 'base64url'), found.key, `${PREFIX}${id}.${owner}`);
  } catch (error) {
    throw secretUnreadable(error);
  }
}

/** What seals in this process, with a warning if that is nothing. */
export function provideSealer(keys: readonly SealingKey[], emit: Emit): Sealer {
  if (keys.length === 0) {
    emit({
      name: 'secrets.unprotected',
      detail:
        'INSECURE_UNENCRYPTED_SECRETS is set, and no SECRETS_ENCRYPTION_KEY: secrets are stored as plain text.',
    });
  }
  return createSealer(keys);
}
