import { formatTime } from '../runtime/clock';
import type { ListedApiKey } from './redis-api-key-store';

/** A key as the API and the command line show it. What would let anybody use it is not part of it. */
export function presentApiKey({ id, name, scopes, createdAt, expiresAt, lastUsedAt }: ListedApiKey) {
  return {
    id,
    name,
    scopes,
    created_at: formatTime(createdAt),
    expires_at: expiresAt === undefined ? null : formatTime(expiresAt),
    last_used_at: lastUsedAt === undefined ? null : formatTime(lastUsedAt),
  };
}
