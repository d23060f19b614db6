import { z } from 'zod';
import { removeCopied, replaceCopied } from '../accounts/redis-record-copies';
import type { AccountId } from '../domain/account';
import type { EndpointId } from '../domain/endpoint';
import { keys } from '../domain/keys';
import { parsedOrUndefined } from '../platform/json';
import type { RedisClient } from '../platform/redis-connect';
import { bringBackVersion } from './redis-transformation-store.script';

const savedSchema = z.object({
  code: z.string(),
  /** Milliseconds since the Unix epoch. */
  savedAt: z.number(),
  /** The API key or portal session that saved it. */
  savedBy: z.string(),
  /** What that was called then. */
  savedByName: z.string().optional(),
});

/** A version of an endpoint's code. It never changes. */
export type SavedVersion = Readonly<z.infer<typeof savedSchema>> & { readonly version: number };

/** Whether a field of the key is a version. */
export function isVersion(field: string): boolean {
  return field !== LAST;
}

/** The code of transformations, by endpoint and version. */
export class TransformationStore {
  constructor(private readonly redis: RedisClient) {}

  /** @param accountId whose it is. Absent: it gets no copy. @returns its number: 1, 2, … */
  async save(
    endpointId: EndpointId,
    saved: Omit<SavedVersion, 'version'>,
    accountId?: AccountId,
  ): Promise<number> {
    const key = keys.transformations(endpointId);
    const version = await this.redis.hincrby(key, LAST, 1);
    const field = String(version);
    const save = () => this.redis.hset(key, field, JSON.stringify(saved));
    await (accountId === undefined ? save() : replaceCopied(this.redis, { key, field, accountId }, save));
    await this.#remove(endpointId, String(version - KEPT_VERSIONS), accountId);
    return version;
  }

  /** Store a version that Redis has lost, as it was. */
  async bringBack(endpointId: EndpointId, version: number, saved: string): Promise<void> {
    await bringBackVersion({ endpoint: endpointId, version, saved })(this.redis);
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
    for (const field of await this.redis.hkeys(keys.transformations(endpointId))) {
      await this.#remove(endpointId, field, accountId);
    }
  }

  async #remove(endpointId: EndpointId, field: string, accountId: AccountId | undefined): Promise<void> {
    const key = keys.transformations(endpointId);
    const remove = () => this.redis.hdel(key, field);
    const isCopied = accountId !== undefined && field !== LAST && Number(field) > 0;
    await (isCopied ? removeCopied(this.redis, { key, field, accountId }, remove) : remove());
  }
}

// The field that has the last number. It has no copy: the versions tell it.
const LAST = 'last';
/** So many are kept of each endpoint: the newest, of which the last is the one in force. */
const KEPT_VERSIONS = 20;

function decode(version: string, text: string): SavedVersion {
  return { version: Number(version), ...savedSchema.parse(parsedOrUndefined(text)) };
}
