import { joinBytes } from './join-bytes';

/** HMAC-SHA256 by WebCrypto, over all parts in a row. */
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

/** Takes as long for what is nearly right as for what is wrong from the start. */
export function isEqual(given: string, expected: string): boolean {
  if (given.length !== expected.length) return false;
  let difference = 0;
  for (let index = 0; index < expected.length; index += 1) {
    difference |= given.charCodeAt(index) ^ expected.charCodeAt(index);
  }
  return difference === 0;
}
