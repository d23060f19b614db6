import type { AccountId } from '../events/event';
import { keys } from '../redis/keys';
import type { RedisClient } from '../redis/redis-connect';
import { withStorageErrors } from '../redis/redis-errors';
import { idOfMember, readNewestFirst, timedMember } from '../redis/redis-newest-first';
import { ParsedCache } from '../runtime/parsed-cache';
import { type Account, accountSchema } from './account';

export interface AccountPage {
  readonly accounts: readonly Account[];
  readonly nextCursor: string | undefined;
}

const CACHED_ACCOUNTS = 10_000;

// KEYS: accounts, account-ids.
const CREATE = `
  if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2]) == 0 then return 0 end
  redis.call('ZADD', KEYS[2], 0, ARGV[3])
  return 1`;

export function createRedisAccountStore(redis: RedisClient) {
  const parse = (raw: string): Account => accountSchema.parse(JSON.parse(raw));
  const cache = new ParsedCache(parse, CACHED_ACCOUNTS);

  return withStorageErrors({
    /** Whether it is new: one that is there already stays as it is. */
    async create(account: Account): Promise<boolean> {
      const { id, createdAt } = account;
      const member = timedMember(createdAt, id);
      const created = await redis.eval(
        CREATE,
        2,
        keys.accounts,
        keys.accountIds,
        id,
        JSON.stringify(account),
        member,
      );
      return created === 1;
    },

    async find(id: AccountId): Promise<Account | undefined> {
      const raw = await redis.hget(keys.accounts, id);
      return raw === null ? undefined : cache.get(id, raw);
    },

    /** Newest first; `before` is the `nextCursor` of the page before. */
    async list(limit: number, before?: string): Promise<AccountPage> {
      const { members, nextCursor } = await readNewestFirst(redis, keys.accountIds, limit, before);
      const ids = members.map(idOfMember);
      const raws = ids.length === 0 ? [] : await redis.hmget(keys.accounts, ...ids);
      return { accounts: raws.flatMap((raw) => (raw === null ? [] : [parse(raw)])), nextCursor };
    },
  });
}

export type AccountStore = ReturnType<typeof createRedisAccountStore>;
