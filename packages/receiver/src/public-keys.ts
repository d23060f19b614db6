import { joinBytes } from './join-bytes';
import { createKeySet, type KeySetOptions, type PublicKey } from './key-set';
import type { SignatureVerifier } from './secrets';
import { WebhookVerificationError } from './verification-error';

export type { KeySetOptions } from './key-set';
export type { SignatureVerifier } from './secrets';

/**
 * Verifies `v1a` signatures with the service's public keys (`whpk_…`). A signature by any of them is valid.
 *
 * @throws WebhookVerificationError `not_a_key`, at once.
 */
export function publicKeys(...keys: readonly (string | undefined)[]): SignatureVerifier {
  if (keys.length === 0) throw notAKey('there is none');
  const imported = keys.map((key) => importKey(bytesOfKey(key)));
  return {
    verify: async ({ signatures, message }) =>
      isSignedByOne(await Promise.all(imported), signatures, message),
  };
}

/**
 * Verifies `v1a` signatures with the keys that the service publishes for an account. The keys are fetched at their first
 * use, again when they are old, and when a request names an unknown key: for that reason at most once a minute.
 *
 * @param url must be https:, or http: on this machine for trying it out. Take it from your configuration, never from a request.
 * @throws WebhookVerificationError `not_a_key` at once, `keys_unavailable` while they can't be fetched.
 */
export function jwks(url: string | undefined, options: KeySetOptions = {}): SignatureVerifier {
  const keySet = createKeySet(urlOfSet(url), importKey, options);
  return {
    async verify({ signatures, message, kid }) {
      if (!signatures.some((signature) => signature.startsWith(SCHEME))) return false;
      return isSignedByOne(await keySet.find(kid), signatures, message);
    },
  };
}

function urlOfSet(url: unknown): string {
  if (typeof url !== 'string' || url.trim() === '') throw notASet('it is not set');
  // Over http: somebody on the way could change the keys, but not on the way to this machine.
  if (/^https:\/\/[^/]/i.test(url) || /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?\//i.test(url))
    return url;
  throw notASet('it must begin with https://, or with http://localhost, http://127.0.0.1 or http://[::1]');
}

function notASet(why: string): WebhookVerificationError {
  return new WebhookVerificationError(
    'not_a_key',
    `This is not the URL of a key set: ${why}. Pass https://<the service>/.well-known/webhooks/<account>/jwks.json.`,
  );
}

const SCHEME = 'v1a,';
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

async function isSignedByOne(
  keys: readonly PublicKey[],
  signatures: readonly string[],
  message: Uint8Array,
): Promise<boolean> {
  for (const signature of signatures) {
    const bytes = signature.startsWith(SCHEME) ? decodeBase64(signature.slice(SCHEME.length)) : undefined;
    if (bytes?.length !== SIGNATURE_BYTES) continue;
    for (const key of keys) {
      if (await globalThis.crypto.subtle.verify('Ed25519', key, joinBytes([bytes]), joinBytes([message])))
        return true;
    }
  }
  return false;
}

function importKey(bytes: Uint8Array): Promise<PublicKey> {
  return globalThis.crypto.subtle.importKey('raw', joinBytes([bytes]), 'Ed25519', false, ['verify']);
}

function bytesOfKey(key: unknown): Uint8Array {
  if (typeof key !== 'string' || key.trim() === '') throw notAKey('it is not set');
  const text = key.trim();
  if (!text.startsWith('whpk_')) throw notAKey('it does not begin with whpk_');
  const bytes = decodeBase64(text.slice('whpk_'.length));
  if (bytes?.length !== KEY_BYTES) throw notAKey('it is not the base64 of 32 bytes');
  return bytes;
}

function decodeBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function notAKey(why: string): WebhookVerificationError {
  return new WebhookVerificationError(
    'not_a_key',
    `This is not a public key: ${why}. Pass "public_key" of the webhook as it is shown (whpk_…).`,
  );
}
