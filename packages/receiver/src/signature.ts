import { joinBytes } from './join-bytes';

/** HMAC-SHA256 by WebCrypto, over all parts in order. */
export async function hmac(key: Uint8Array, ...parts: readonly Uint8Array[]): Promise<Uint8Array> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const { subtle } = globalThis.crypto;
  const imported = await subtle.importKey('raw', joinBytes([key]), algorithm, false, ['sign']);
  return new Uint8Array(await subtle.sign('HMAC', imported, joinBytes(parts)));
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/** Compares in constant time: it takes as long for a nearly right signature as for a wrong one. */
export function isEqual(given: string, expected: string): boolean {
  if (given.length !== expected.length) return false;
  let difference = 0;
  for (let index = 0; index < expected.length; index += 1) {
    difference |= given.charCodeAt(index) ^ expected.charCodeAt(index);
  }
  return difference === 0;
}
