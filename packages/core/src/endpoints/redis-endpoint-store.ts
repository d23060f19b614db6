import { AppError } from '../errors/app-error';
import type { AccountId } from '../events/event';
import { keys } from '../redis/keys';
import type { RedisClient } from '../redis/redis-connect';
import { withStorageErrors } from '../redis/redis-errors';
import { ParsedCache } from '../runtime/parsed-cache';
import { type Endpoint, type EndpointId, type EndpointRef, isEndpointId, parseEndpoint } from './endpoint';

export interface EndpointPage {
  readonly endpoints: readonly Endpoint[];
  readonly nextCursor: EndpointId | undefined;
}

const CACHED_ENDPOINTS = 50_000;

// All keys of an account have its hash tag, so each change below is one atomic script, in a Cluster too.
// KEYS: endpoints, endpoint-ids, endpoints-version, endpoint-uids.
// ARGV: id, the record as it must be now ('' for none), the new record, its uid before, its uid now, the most endpoints.
const SAVE_IF_UNCHANGED = `
  local id, current, uid_before, uid = ARGV[1], redis.call('HGET', KEYS[1], ARGV[1]) or '', ARGV[4], ARGV[5]
  if current ~= ARGV[2] then return 'changed' end
  if uid ~= '' and (redis.call('HGET', KEYS[4], uid) or id) ~= id then return 'uid_taken' end
  if current == '' and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[6]) then return 'too_many' end
  if uid_before ~= uid and uid_before ~= '' then redis.call('HDEL', KEYS[4], uid_before) end
  if uid ~= '' then redis.call('HSET', KEYS[4], uid, id) end
  redis.call('HSET', KEYS[1], id, ARGV[3])
  redis.call('ZADD', KEYS[2], 0, id)
  redis.call('INCR', KEYS[3])
  return 'saved'`;

// ARGV: id.
const REMOVE = `
  local record = redis.call('HGET', KEYS[1], ARGV[1])
  if not record then return 0 end
  local uid = cjson.decode(record).uid
  if uid then redis.call('HDEL', KEYS[4], uid) end
  redis.call('HDEL', KEYS[1], ARGV[1])
  redis.call('ZREM', KEYS[2], ARGV[1])
  redis.call('INCR', KEYS[3])
  return 1`;

/** Endpoints, each found by its account and id only: another account's is simply not there. */
export function createRedisEndpointStore(redis: RedisClient) {
  const cache = new ParsedCache(parseEndpoint, CACHED_ENDPOINTS);

  async function run(script: string, accountId: AccountId, ...values: string[]): Promise<unknown> {
    const account = [
      keys.endpoints(accountId),
      keys.endpointIds(accountId),
      keys.endpointsVersion(accountId),
      keys.endpointUids(accountId),
    ];
    return await redis.eval(script, account.length, ...account, ...values);
  }

  async function find(accountId: AccountId, id: EndpointId): Promise<Endpoint | undefined> {
    const raw = await redis.hget(keys.endpoints(accountId), id);
    return raw === null ? undefined : cache.get(id, raw);
  }

  return withStorageErrors({
    /** Always read from Redis, so that a change is in force for whatever starts after it; parsed once per change. */
    find,

    /**
     * @param most endpoints that the account may have.
     * @throws AppError `conflict` when another endpoint has its uid, `limit_reached`.
     */
    async create(endpoint: Endpoint, most = Number.MAX_SAFE_INTEGER): Promise<void> {
      const { accountId, id, uid = '' } = endpoint;
      const saved = await run(
        SAVE_IF_UNCHANGED,
        accountId,
        id,
        '',
        JSON.stringify(endpoint),
        '',
        uid,
        String(most),
      );
      if (saved === 'uid_taken') throw uidTaken(uid);
      if (saved === 'too_many') throw tooMany(most);
    },

    /**
     * Replaces the endpoint by what `change` makes of it; `undefined` when it is not there. Another change in
     * between is never overwritten: `change` is asked again, with the newer one.
     *
     * @throws AppError `conflict` when another endpoint has its new uid.
     */
    async update(
      accountId: AccountId,
      id: EndpointId,
      change: (endpoint: Endpoint) => Endpoint,
    ): Promise<Endpoint | undefined> {
      for (;;) {
        const raw = await redis.hget(keys.endpoints(accountId), id);
        if (raw === null) return undefined;
        const before = parseEndpoint(raw);
        const changed = change(before);
        const uids = [before.uid ?? '', changed.uid ?? ''];
        const saved = await run(SAVE_IF_UNCHANGED, accountId, id, raw, JSON.stringify(changed), ...uids, '0');
        if (saved === 'saved') return changed;
        if (saved === 'uid_taken') throw uidTaken(changed.uid ?? '');
      }
    },

    /** Whether it was there. Its history goes with it. */
    async remove(accountId: AccountId, id: EndpointId): Promise<boolean> {
      return (await run(REMOVE, accountId, id)) === 1;
    },

    /** The id of the endpoint that a client names; for a text that is an id, without looking whether it exists. */
    async idOf(accountId: AccountId, ref: EndpointRef): Promise<EndpointId | undefined> {
      if (isEndpointId(ref)) return ref;
      const id = await redis.hget(keys.endpointUids(accountId), ref);
      return id === null ? undefined : (id as EndpointId);
    },

    /** Newest first; `before` is the last id of the page before. */
    async list(accountId: AccountId, limit: number, before?: EndpointId): Promise<EndpointPage> {
      const from = before === undefined ? '+' : `(${before}`;
      const ids = await redis.zrevrangebylex(keys.endpointIds(accountId), from, '-', 'LIMIT', 0, limit + 1);
      const pageIds = ids.slice(0, limit);
      const raws = pageIds.length === 0 ? [] : await redis.hmget(keys.endpoints(accountId), ...pageIds);
      return {
        endpoints: raws.flatMap((raw) => (raw === null ? [] : [parseEndpoint(raw)])),
        nextCursor: ids.length > limit ? (pageIds.at(-1) as EndpointId) : undefined,
      };
    },

    /** Grows with each change to the account's endpoints. */
    async version(accountId: AccountId): Promise<string> {
      return (await redis.get(keys.endpointsVersion(accountId))) ?? '0';
    },

    async listAll(accountId: AccountId): Promise<Endpoint[]> {
      const raws = await redis.hvals(keys.endpoints(accountId));
      return raws.map(parseEndpoint);
    },
  });
}

function uidTaken(uid: string): AppError {
  return new AppError('conflict', `Another webhook of this account has the uid "${uid}".`);
}

function tooMany(most: number): AppError {
  return new AppError('limit_reached', `An account may have ${most} webhooks. Delete one to make room.`);
}

export type EndpointStore = ReturnType<typeof createRedisEndpointStore>;
