import { z } from 'zod';
import { removeCopied, replaceCopied } from '../accounts/redis-record-copies';
import type { AccountId } from '../domain/account';
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

  /** @param accountId whose it is. Absent: it gets no copy. @returns its number: 1, 2, … */
  async save(
    endpointId: EndpointId,
    saved: Omit<SavedVersion, 'version'>,
    accountId?: AccountId,
  ): Promise<number> {
    const save = saveVersion({ endpoint: endpointId, saved: JSON.stringify(saved) });
    if (accountId === undefined) return await save(this.redis);
    const record = { key: keys.transformations(endpointId), accountId };
    const version = await replaceCopied(this.redis, { ...record, field: LAST }, () => save(this.redis));
    await replaceCopied(this.redis, { ...record, field: String(version) }, async () => {});
    return version;
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

  async remove(accountId: AccountId, endpointId: EndpointId): Promise<void> {
    const key = keys.transformations(endpointId);
    for (const field of await this.redis.hkeys(key)) {
      await removeCopied(this.redis, { key, field, accountId }, () => this.redis.hdel(key, field));
    }
  }
}

// The field that has the last number.
const LAST = 'last';

function decode(version: string, text: string): SavedVersion {
  return { version: Number(version), ...savedSchema.parse(parsedOrUndefined(text)) };
}
