import { z } from 'zod';
import type { Clock } from '../kernel/clock';
import { displayNameSchema } from '../model/account';
import { scopeSchema } from '../model/api-key';

export const scopeListSchema = z
  .array(scopeSchema)
  .min(1, 'must name at least one scope')
  .refine((list) => new Set(list).size === list.length, 'must not name a scope twice')
  .meta({ uniqueItems: true });

/** What may be said of a new API key. */
export function newApiKeySchema(clock: Clock) {
  return z
    .strictObject({
      name: displayNameSchema,
      scopes: scopeListSchema,
      expires_at: z.iso
        .datetime({ offset: true, error: 'must be a time such as 2030-01-31T00:00:00Z' })
        .transform((time) => Date.parse(time))
        .refine((epochMs) => epochMs > clock(), 'must be in the future')
        .nullish(),
    })
    .transform(({ expires_at: expiresAt, ...input }) => ({
      ...input,
      ...(expiresAt == null ? {} : { expiresAt }),
    }))
    .meta({ id: 'NewApiKey' });
}
export type NewApiKey = z.output<ReturnType<typeof newApiKeySchema>>;
