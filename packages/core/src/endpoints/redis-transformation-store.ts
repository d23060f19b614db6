import { z } from 'zod';
import type { EndpointId } from '../domain/endpoint';
import { keys } from '../domain/keys';
import { parsedOrUndefined } from '../platform/json';
import type { RedisClient } from '../platform/redis-connect';
import { saveVersion } from './redis-transformation-store.script';

const savedSchema = z.object({
  code: z.string(),
  /** Milliseconds since the Unix epoch. */
  savedAt: z.number(),
  /** The API key or portal session that saved it. */
  savedBy: z.string(),
});

/** A version of an endpoint's code. It never changes. */
export type SavedVersion = Readonly<z.infer<typeof savedSchema>> & { readonly version: number };

/** The code of transformations, by endpoint and version. */
export class TransformationStore {
  constructor(private readonly redis: RedisClient) {}

  /** @returns its number: 1, 2, … */
  async save(endpointId: EndpointId, saved: Omit<SavedVersion, 'version'>): Promise<number> {
    return await saveVersion({ endpoint: endpointId, saved: JSON.stringify(saved) })(this.redis);
  }

  /** `undefined`: there is none, or none any more. */
  async find(endpointId: EndpointId, version: number): Promise<SavedVersion | undefined> {
    const text = await this.redis.hget(keys.transformations(endpointId), String(version));
    return text === null ? undefined : decode(String(version), text);
  }

  /** Newest first. */
  async list(endpointId: EndpointId): Promise<readonly SavedVersion[]> {
    const { last: _last, ...texts } = await this.redis.hgetall(keys.transformations(endpointId));
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
