import { hkdfSync, randomBytes } from 'node:crypto';

/** Gives as many bytes, which nobody can guess. */
export type SecretBytes = (count: number) => Buffer;

export const newSecretBytes: SecretBytes = (count) => randomBytes(count);

/**
 * Bytes that nobody can guess who does not know `secret`, and that are the same ones each time they are made from the
 * same two, in the same order.
 */
export function createSeededSecretBytes(secret: string, seed: string): SecretBytes {
  let calls = 0;
  return (count) => Buffer.from(hkdfSync('sha256', secret, seed, `secret bytes ${calls++}`, count));
}
