import { randomBytes } from 'node:crypto';
import { z } from 'zod';

const PREFIX = 'whsec_';
const NEW_SECRET_BYTES = 32;
// Standard Webhooks 1.0 asks for keys of 24 to 64 bytes.
const MIN_BYTES = 24;
const MAX_BYTES = 64;

/** A new signing secret: `whsec_` and the base64 of 32 random bytes. */
export function newSecret(): string {
  return PREFIX + randomBytes(NEW_SECRET_BYTES).toString('base64');
}

/** A secret that a client brings along. */
export const secretSchema = z
  .string()
  .refine(isSecret, {
    message: `must be "${PREFIX}" and the base64 of ${MIN_BYTES} to ${MAX_BYTES} random bytes`,
  })
  .meta({ example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwHfIO5KOKWTs=' });

function isSecret(text: string): boolean {
  if (!text.startsWith(PREFIX)) return false;
  const encoded = text.slice(PREFIX.length);
  const bytes = Buffer.from(encoded, 'base64');
  // Node's decoder skips what is not base64; only a text that comes back the same was base64.
  return bytes.toString('base64') === encoded && bytes.length >= MIN_BYTES && bytes.length <= MAX_BYTES;
}
