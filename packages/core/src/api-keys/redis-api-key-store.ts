import { keys } from '../redis/keys';
import type { RedisClient } from '../redis/redis-connect';
import { withStorageErrors } from '../redis/redis-errors';
import { ParsedCache } from '../runtime/parsed-cache';
import { type ApiKey, apiKeySchema } from './api-key';

const CACHED_KEYS = 10_000;

export function createRedisApiKeyStore(redis: RedisClient) {
  const cache = new ParsedCache((raw): ApiKey => apiKeySchema.parse(JSON.parse(raw)), CACHED_KEYS);

  return withStorageErrors({
    async find(id: string): Promise<ApiKey | undefined> {
      const raw = await redis.get(keys.apiKey(id));
      return raw === null ? undefined : cache.get(id, raw);
    },

    async save(apiKey: ApiKey): Promise<void> {
      await redis.set(keys.apiKey(apiKey.id), JSON.stringify(apiKey));
    },
  });
}

export type ApiKeyStore = ReturnType<typeof createRedisApiKeyStore>;
