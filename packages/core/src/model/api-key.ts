import { createHash, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { accountIdSchema } from './event';

export const scopes = [
  'webhooks:read',
  'webhooks:write',
  'events:write',
  'deliveries:read',
  'deliveries:write',
  'admin',
  'portal:write',
] as const;
export const scopeSchema = z.enum(scopes, `must be one of ${scopes.join(', ')}`).meta({ id: 'Scope' });
export type Scope = z.infer<typeof scopeSchema>;

/** The middle part of a key, which names it without giving it away. */
export const apiKeyIdSchema = z.string().regex(/^[0-9a-z]{16}$/);

/** An API key as it is stored. The key itself is not: only the SHA-256 of the whole of it. */
export const apiKeySchema = z.object({
  id: z.string(),
  accountId: accountIdSchema,
  /** Hex. */
  sha256: z.string(),
  scopes: z.array(scopeSchema).readonly(),
  name: z.string(),
  /** Milliseconds since the Unix epoch. */
  createdAt: z.number(),
  /** The first moment at which it no longer counts. */
  expiresAt: z.number().optional(),
});
export type ApiKey = Readonly<z.infer<typeof apiKeySchema>>;

// `whk_`, the id, `_`, the secret part: a form that secret scanners can find.
const KEY_FORM = /^whk_([0-9a-z]{16})_[0-9A-Za-z]{32,128}$/;

/** The id within a key; `undefined` when the text does not have the form of a key. */
export function idOfKey(key: string): string | undefined {
  return KEY_FORM.exec(key)?.[1];
}

export function hashKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** Compares in constant time. */
export function isSameKey(stored: Pick<ApiKey, 'sha256'>, key: string): boolean {
  return timingSafeEqual(Buffer.from(stored.sha256, 'hex'), createHash('sha256').update(key).digest());
}
