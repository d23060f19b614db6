import type { AccountId } from '../events/event';
import { keys } from '../redis/keys';
import type { RedisClient } from '../redis/redis-connect';
import { withStorageErrors } from '../redis/redis-errors';
import { ParsedCache } from '../runtime/parsed-cache';
import { type Sealer, secretUnreadable } from '../secrets/seal';
import type { Endpoint, EndpointId } from './endpoint';
import { createEndpointCodec, parseSubscriber, type Subscriber } from './stored-endpoint';

export interface EndpointPage {
  readonly endpoints: readonly Endpoint[];
  readonly nextCursor: EndpointId | undefined;
}

const CACHED_ENDPOINTS = 50_000;

// All keys of an account have its hash tag, so each change below is one atomic script, in a Cluster too.
// KEYS: endpoints, endpoint-ids, endpoints-version.
const SAVE_IF_UNCHANGED = `
  local current = redis.call('HGET', KEYS[1], ARGV[1]) or ''
  if current ~= ARGV[2] then return 0 end
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
  redis.call('ZADD', KEYS[2], 0, ARGV[1])
  redis.call('INCR', KEYS[3])
  return 1`;

const REMOVE = `
  if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
  redis.call('ZREM', KEYS[2], ARGV[1])
  redis.call('INCR', KEYS[3])
  return 1`;

/**
 * Endpoints, each found by its account and id only: another account's is simply not there. What is secret is sealed
 * on its way in and opened on its way out; a record whose secrets can't be opened is `secret_unreadable`.
 */
export function createRedisEndpointStore(redis: RedisClient, sealer: Sealer) {
  const { encode, decode } = createEndpointCodec(sealer);
  const cache = new ParsedCache(decode, CACHED_ENDPOINTS);
  const keysOf = (accountId: AccountId) =>
    [keys.endpoints(accountId), keys.endpointIds(accountId), keys.endpointsVersion(accountId)] as const;

  async function find(accountId: AccountId, id: EndpointId): Promise<Endpoint | undefined> {
    const raw = await redis.hget(keys.endpoints(accountId), id);
    return raw === null ? undefined : ownedBy(accountId, cache.get(id, raw));
  }

  return withStorageErrors({
    /** Always read from Redis, so that a change is in force for whatever starts after it; parsed once per change. */
    find,

    /** Whether it is new: an endpoint that is there already stays as it is. */
    async create(endpoint: Endpoint): Promise<boolean> {
      const created = await redis.eval(
        SAVE_IF_UNCHANGED,
        3,
        ...keysOf(endpoint.accountId),
        endpoint.id,
        '',
        encode(endpoint),
      );
      return created === 1;
    },

    /**
     * Replaces the endpoint by what `change` makes of it; `undefined` when it is not there. Another change in
     * between is never overwritten: `change` is asked again, with the newer one.
     */
    async update(
      accountId: AccountId,
      id: EndpointId,
      change: (endpoint: Endpoint) => Endpoint,
    ): Promise<Endpoint | undefined> {
      for (;;) {
        const raw = await redis.hget(keys.endpoints(accountId), id);
        if (raw === null) return undefined;
        const changed = change(ownedBy(accountId, decode(raw)));
        const saved = await redis.eval(SAVE_IF_UNCHANGED, 3, ...keysOf(accountId), id, raw, encode(changed));
        if (saved === 1) return changed;
      }
    },

    /** Whether it was there. Its history goes with it. */
    async remove(accountId: AccountId, id: EndpointId): Promise<boolean> {
      const removed = await redis.eval(REMOVE, 3, ...keysOf(accountId), id);
      return removed === 1;
    },

    /** Newest first; `before` is the last id of the page before. */
    async list(accountId: AccountId, limit: number, before?: EndpointId): Promise<EndpointPage> {
      const from = before === undefined ? '+' : `(${before}`;
      const ids = await redis.zrevrangebylex(keys.endpointIds(accountId), from, '-', 'LIMIT', 0, limit + 1);
      const pageIds = ids.slice(0, limit);
      const raws = pageIds.length === 0 ? [] : await redis.hmget(keys.endpoints(accountId), ...pageIds);
      return {
        endpoints: raws.flatMap((raw) => (raw === null ? [] : [ownedBy(accountId, decode(raw))])),
        nextCursor: ids.length > limit ? (pageIds.at(-1) as EndpointId) : undefined,
      };
    },

    /** Which of these the account does not have. */
    async findMissing(accountId: AccountId, ids: readonly EndpointId[]): Promise<EndpointId[]> {
      const raws = await redis.hmget(keys.endpoints(accountId), ...ids);
      return ids.filter((_id, index) => raws[index] === null);
    },

    /** Grows with each change to the account's endpoints. */
    async version(accountId: AccountId): Promise<string> {
      return (await redis.get(keys.endpointsVersion(accountId))) ?? '0';
    },

    /** All of them, without what only a delivery needs. */
    async listSubscribers(accountId: AccountId): Promise<readonly Subscriber[]> {
      const raws = await redis.hvals(keys.endpoints(accountId));
      return raws.map(parseSubscriber);
    },
  });
}

export type EndpointStore = ReturnType<typeof createRedisEndpointStore>;

// A record that somebody has copied to another account would show its secrets to that one.
function ownedBy(accountId: AccountId, endpoint: Endpoint): Endpoint {
  if (endpoint.accountId !== accountId) throw secretUnreadable();
  return endpoint;
}
