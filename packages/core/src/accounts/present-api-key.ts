import { z } from 'zod';
import { formatTime, formatTimeOrNull, timeSchema } from '../kernel/clock';
import { scopeSchema } from '../model/api-key';
import type { ListedApiKey } from './redis-api-key-store';

export const apiKeyViewSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    scopes: z.array(scopeSchema).readonly(),
    created_at: timeSchema,
    expires_at: timeSchema.nullable(),
    last_used_at: timeSchema.nullable(),
  })
  .meta({ id: 'ApiKey' });

/** A key as the API and the command line show it. What would let anybody use it is not part of it. */
export function presentApiKey({
  id,
  name,
  scopes,
  createdAt,
  expiresAt,
  lastUsedAt,
}: ListedApiKey): z.infer<typeof apiKeyViewSchema> {
  return {
    id,
    name,
    scopes,
    created_at: formatTime(createdAt),
    expires_at: formatTimeOrNull(expiresAt),
    last_used_at: formatTimeOrNull(lastUsedAt),
  };
}
