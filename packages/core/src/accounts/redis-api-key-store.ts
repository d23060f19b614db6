import { type AccountId, type ApiKey, apiKeySchema } from '../domain/account';
import type { Act } from '../domain/audit';
import { keys } from '../domain/keys';
import { ParsedCache, type Remembered } from '../platform/caches';
import { formatTime } from '../platform/clock';
import type { RedisClient } from '../platform/redis-connect';
import { idOfMember, readNewestFirst, timedMember } from '../platform/redis-timeline';
import { changesBetween, newFields, plainFields } from './audit/field-changes';
import { makeChange } from './audit/redis-recorded-change';
import {
  leaveApiKeys,
  noteApiKeyUse,
  removeApiKey,
  replaceApiKey,
  saveApiKey,
} from './redis-api-key-store.script';
import { removeCopied, replaceCopied } from './redis-record-copies';

export interface ListedApiKey extends ApiKey {
  /** To the minute. Milliseconds since the Unix epoch. */
  readonly lastUsedAt?: number;
}

export interface ApiKeyPage {
  readonly apiKeys: readonly ListedApiKey[];
  readonly nextCursor: string | undefined;
}

const CACHED_KEYS = 10_000;

// Longer than any request takes between reading that another key exists and removing this one.
const LEAVING_SECONDS = 60;

/**
 * Keys are found by their id alone, before their account is known, so a key's record and its account's list
 * are apart. The list is written first and removed last: an entry without a record is skipped.
 */
export class ApiKeyStore {
  readonly #cache = new ParsedCache(parse, { entries: CACHED_KEYS });

  constructor(private readonly redis: RedisClient) {}

  /**
   * Always read from Redis, so that a revoked key is invalid for whatever starts after it. Parsed once per
   * change.
   */
  async find(id: string): Promise<ApiKey | undefined> {
    const raw = await this.redis.get(keys.apiKey(id));
    if (raw !== null) return this.#cache.get(id, raw);
    this.#cache.forget(id);
    return undefined;
  }

  /** The key as it was read last. It may be revoked by now. */
  lastRead(id: string): Remembered<ApiKey> | undefined {
    return this.#cache.last(id);
  }

  /** @param act absent: it is on no record. */
  async save(apiKey: ApiKey, act?: Act): Promise<void> {
    const { id, accountId, createdAt, name, scopes, eventTypes, expiresAt } = apiKey;
    await this.redis.zadd(keys.apiKeyIds(accountId), 0, timedMember(createdAt, id));
    const changes = newFields({ name, scopes, eventTypes, expiresAt: expiresAt && formatTime(expiresAt) });
    const recorded = act && { act, accountId, targetId: id, changes };
    const saved = saveApiKey({ id, record: JSON.stringify(apiKey) });
    await replaceCopied(this.redis, copiedOf(apiKey), () => makeChange(this.redis, saved, recorded));
  }

  /**
   * Let a key end at that time, unless it ends before, and name its successor, unless it has one. Gives the key as it is then;
   * `undefined`: it was revoked.
   */
  async endFor(
    successor: ApiKey,
    { id, accountId }: ApiKey,
    endsAt: number,
    act?: Act,
  ): Promise<ApiKey | undefined> {
    for (;;) {
      const raw = await this.redis.get(keys.apiKey(id));
      if (raw === null) return undefined;
      const stored = parse(raw);
      if (stored.rotatedTo !== undefined) return stored;
      const expiresAt = Math.min(stored.expiresAt ?? Number.POSITIVE_INFINITY, endsAt);
      const ended: ApiKey = { ...stored, expiresAt, rotatedTo: successor.id };
      const after = JSON.stringify(ended);
      const changes = changesBetween(
        plainFields({ expiresAt: stored.expiresAt && formatTime(stored.expiresAt) }),
        plainFields({ expiresAt: formatTime(expiresAt), rotatedTo: successor.id }),
      );
      const recorded = act && { act, accountId, targetId: id, changes };
      const replaced = replaceApiKey({ id, before: raw, after });
      const isDone = () => makeChange(this.redis, replaced, recorded);
      if (await replaceCopied(this.redis, copiedOf({ id, accountId }), isDone)) return ended;
    }
  }

  /** Give whether it existed. @param act absent: it is on no record. */
  async remove({ id, accountId, createdAt, name }: ApiKey, act?: Act): Promise<boolean> {
    this.#cache.forget(id);
    const changes = changesBetween(plainFields({ name }), {});
    const recorded = act && { act, accountId, targetId: id, changes };
    const removed = await removeCopied(this.redis, copiedOf({ id, accountId }), () =>
      makeChange(this.redis, removeApiKey({ id }), recorded),
    );
    await this.redis.zrem(keys.apiKeyIds(accountId), timedMember(createdAt, id));
    return removed;
  }

  /**
   * Whether a key that is about to be removed may rely on another one to stay: of two that rely on each
   * other, only one may.
   *
   * @param stayingId absent if it relies on none.
   */
  async leave({ id, accountId }: ApiKey, stayingId?: string): Promise<boolean> {
    const leaving = { account: accountId, leavingId: id, stayingId, seconds: LEAVING_SECONDS };
    return await leaveApiKeys(leaving)(this.redis);
  }

  /** Newest first; `before` is the `nextCursor` of the page before. */
  async list(accountId: AccountId, limit: number, before?: string): Promise<ApiKeyPage> {
    const { members, nextCursor } = await readNewestFirst(
      this.redis,
      keys.apiKeyIds(accountId),
      limit,
      before,
    );
    return {
      apiKeys: (await Promise.all(members.map((member) => this.#readListed(member)))).flat(),
      nextCursor,
    };
  }

  async noteUse(id: string, usedAt: number): Promise<void> {
    await noteApiKeyUse({ id, usedAt })(this.redis);
  }

  async #readListed(member: string): Promise<ListedApiKey[]> {
    const id = idOfMember(member);
    const [raw, usedAt] = await this.redis.mget(keys.apiKey(id), keys.apiKeyUsed(id));
    if (raw == null) return [];
    const apiKey = parse(raw);
    // Several processes that create the same bootstrap key at the same time each leave an entry in the list.
    if (timedMember(apiKey.createdAt, id) !== member) return [];
    return [{ ...apiKey, ...(usedAt == null ? {} : { lastUsedAt: Number(usedAt) }) }];
  }
}

function copiedOf({ id, accountId }: Pick<ApiKey, 'id' | 'accountId'>) {
  return { key: keys.apiKey(id), accountId };
}

function parse(raw: string): ApiKey {
  return apiKeySchema.parse(JSON.parse(raw));
}
