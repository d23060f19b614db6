import { z } from 'zod';
import type { EndpointId } from '../domain/endpoint';
import { keys } from '../domain/keys';
import { parsedOrUndefined } from '../platform/json';
import type { RedisClient } from '../platform/redis-connect';
import { defineScript } from '../platform/redis-script';

/** So many are kept of each endpoint: the newest, of which the last is the one in force. */
const KEPT_VERSIONS = 20;

const savedSchema = z.object({
  code: z.string(),
  /** Milliseconds since the Unix epoch. */
  savedAt: z.number(),
  /** The API key or portal session that saved it. */
  savedBy: z.string(),
});

/** A version of an endpoint's code. It never changes. */
export type SavedVersion = Readonly<z.infer<typeof savedSchema>> & { readonly version: number };

const LAST = 'last';

// KEYS: the versions. ARGV: the new one. Gives its number.
const SAVE = defineScript(`
  local version = redis.call('HINCRBY', KEYS[1], '${LAST}', 1)
  redis.call('HSET', KEYS[1], string.format('%d', version), ARGV[1])
  redis.call('HDEL', KEYS[1], string.format('%d', version - ${KEPT_VERSIONS}))
  return version`);

/** The code of transformations, by endpoint and version. */
export class TransformationStore {
  constructor(private readonly redis: RedisClient) {}

  /** @returns its number: 1, 2, … */
  async save(endpointId: EndpointId, saved: Omit<SavedVersion, 'version'>): Promise<number> {
    return Number(await SAVE(this.redis, [keys.transformations(endpointId)], [JSON.stringify(saved)]));
  }

  /** `undefined`: there is none, or none any more. */
  async find(endpointId: EndpointId, version: number): Promise<SavedVersion | undefined> {
    const text = await this.redis.hget(keys.transformations(endpointId), String(version));
    return text === null ? undefined : decode(String(version), text);
  }

  /** Newest first. */
  async list(endpointId: EndpointId): Promise<readonly SavedVersion[]> {
    const { [LAST]: _last, ...texts } = await this.redis.hgetall(keys.transformations(endpointId));
    return Object.entries(texts)
      .map(([version, text]) => decode(version, text))
      .toSorted((a, b) => b.version - a.version);
  }

  async remove(endpointId: EndpointId): Promise<void> {
    await this.redis.unlink(keys.transformations(endpointId));
  }
}

function decode(version: string, text: string): SavedVersion {
  return { version: Number(version), ...savedSchema.parse(parsedOrUndefined(text)) };
}
