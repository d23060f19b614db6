import { z } from 'zod';
import { displayNameSchema } from '../accounts/display-name';
import type { Clock } from '../runtime/clock';
import { scopeSchema } from './api-key';

/** What may be said of a new API key. */
export function newApiKeySchema(clock: Clock) {
  return z
    .strictObject({
      name: displayNameSchema,
      scopes: z
        .array(scopeSchema)
        .min(1, 'must name at least one scope')
        .refine((scopes) => new Set(scopes).size === scopes.length, 'must not name a scope twice'),
      expires_at: z.iso
        .datetime({ offset: true, error: 'must be a time such as 2030-01-31T00:00:00Z' })
        .transform((time) => Date.parse(time))
        .refine((epochMs) => epochMs > clock(), 'must be in the future')
        .nullish(),
    })
    .transform(({ name, scopes, expires_at: expiresAt }) => ({
      name,
      scopes,
      ...(expiresAt == null ? {} : { expiresAt }),
    }));
}
export type NewApiKey = z.output<ReturnType<typeof newApiKeySchema>>;
