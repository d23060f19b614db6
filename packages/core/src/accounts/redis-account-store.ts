import { QUEUE_PREFIX } from '@hookferry/producer/contract';
import { changesBetween, type Fields, plainFields } from '../audit/field-changes';
import { defineChange, type Recorded } from '../audit/redis-recorded-change';
import {
  type Account,
  type AccountId,
  accountSchema,
  DEFAULT_ACCOUNT,
  type DefaultSigning,
} from '../domain/account';
import type { Act, FieldChange } from '../domain/audit';
import { keys, queueKeysOf } from '../domain/keys';
import type { EndpointVerification } from '../domain/verification';
import { ParsedCache } from '../platform/caches';
import type { RedisClient } from '../platform/redis-connect';
import { defineScript, type RunScript } from '../platform/redis-script';
import { idOfMember, readNewestFirst, timedMember } from '../platform/redis-timeline';

export interface AccountPage {
  readonly accounts: readonly Account[];
  readonly nextCursor: string | undefined;
}

/** An absent member stays; `null` removes it. */
export interface AccountChange {
  readonly weight: number | undefined;
  readonly quotaBytes: number | null | undefined;
  readonly historyDays?: number | null | undefined;
  readonly defaultSigning?: DefaultSigning | undefined;
  readonly cloudEventsSource?: string | null | undefined;
  readonly endpointVerification?: EndpointVerification | null | undefined;
}

/** The facts of an account that decide about its events. */
export interface AccountStanding {
  /** Whether it is being erased, or was erased and its id is still taken. */
  readonly isErased: boolean;
  /** `undefined`: there is no such account, or it has no retention of its own. */
  readonly historyDays: number | undefined;
}

const CACHED_ACCOUNTS = 10_000;

// The weights on the first shard. Workers copy them to the others.
const ACCOUNT_WEIGHTS = queueKeysOf(QUEUE_PREFIX).accountWeights;

// KEYS: accounts, account-ids, erased-accounts. ARGV: id, the record, its member, now. The id of an erased
// account stays taken until no data of that time can come back.
const CREATE = defineChange(
  '1',
  `
  local taken_until = redis.call('ZSCORE', KEYS[3], ARGV[1])
  if taken_until and tonumber(taken_until) > tonumber(ARGV[4]) then return 0 end
  if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2]) == 0 then return 0 end
  redis.call('ZREM', KEYS[3], ARGV[1])
  redis.call('ZADD', KEYS[2], 0, ARGV[3])
  record_act()
  return 1`,
);

// KEYS: accounts. ARGV: id, the record as it must be now, the new one.
const REPLACE_IF_UNCHANGED = defineChange(
  '1',
  `
  if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
  record_act()
  return 1`,
);

// KEYS: accounts, account-ids, erased-accounts. ARGV: id, its member, now, until when the id is taken.
const REMOVE = defineScript(`
  redis.call('HDEL', KEYS[1], ARGV[1])
  redis.call('ZREM', KEYS[2], ARGV[2])
  redis.call('ZADD', KEYS[3], ARGV[4], ARGV[1])
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', ARGV[3])`);

const ALL_KEYS = [keys.accounts, keys.accountIds, keys.erasedAccounts];

export class AccountStore {
  readonly #cache = new ParsedCache(parse, { entries: CACHED_ACCOUNTS });

  constructor(private readonly redis: RedisClient) {}

  /**
   * Give whether it is new. An existing account stays as it is, and the id of an erased one stays taken for a
   * while.
   *
   * @param act absent: it is on no record. Likewise below.
   */
  async create(account: Account, act?: Act): Promise<boolean> {
    const { id, createdAt } = account;
    const member = timedMember(createdAt, id);
    const args = [id, JSON.stringify(account), member, createdAt];
    const recorded = recordedOf(act, id, changesBetween({}, fieldsOf(account)));
    const isNew = (await CREATE(this.redis, ALL_KEYS, args, recorded)) === 1;
    if (isNew) await this.#copy(account);
    return isNew;
  }

  /**
   * Give the account after the change; `undefined` if it does not exist. An account that is being erased
   * stays as it is.
   */
  async change(id: AccountId, change: AccountChange, act?: Act): Promise<Account | undefined> {
    for (;;) {
      const raw = await this.redis.hget(keys.accounts, id);
      if (raw === null) return undefined;
      const account = parse(raw);
      if (account.erasingSince !== undefined) return account;
      const changed = changedBy(account, change);
      const args = [id, raw, JSON.stringify(changed)];
      const recorded = recordedOf(act, id, changesBetween(fieldsOf(account), fieldsOf(changed)));
      if ((await REPLACE_IF_UNCHANGED(this.redis, [keys.accounts], args, recorded)) === 0) continue;
      await this.#copy(changed);
      return changed;
    }
  }

  /**
   * Give the marked account; `undefined` if it does not exist. An account that is being erased already stays
   * as it is.
   */
  async markErasing(id: AccountId, erasingSince: number, act?: Act): Promise<Account | undefined> {
    for (;;) {
      const raw = await this.redis.hget(keys.accounts, id);
      if (raw === null) return undefined;
      const account = parse(raw);
      if (account.erasingSince !== undefined) return account;
      const marked = { ...account, erasingSince };
      const args = [id, raw, JSON.stringify(marked)];
      const recorded = recordedOf(act, id);
      if ((await REPLACE_IF_UNCHANGED(this.redis, [keys.accounts], args, recorded)) === 1) return marked;
    }
  }

  /** Forget an account, except for its id, which stays taken until `takenUntil`. */
  async remove({ id, createdAt }: Account, now: number, takenUntil: number): Promise<void> {
    // Before the record: an erasure that breaks off in between comes here again.
    await this.redis.hdel(ACCOUNT_WEIGHTS, id);
    await this.redis.unlink(keys.usage(id), keys.usedBytes(id), keys.quota(id));
    await this.#run(REMOVE, id, timedMember(createdAt, id), String(now), String(takenUntil));
  }

  async findStanding(id: AccountId): Promise<AccountStanding> {
    const [raw, takenUntil] = await Promise.all([
      this.redis.hget(keys.accounts, id),
      this.redis.zscore(keys.erasedAccounts, id),
    ]);
    if (raw === null) return { isErased: takenUntil !== null, historyDays: undefined };
    const { erasingSince, historyDays } = this.#cache.get(id, raw);
    return { isErased: erasingSince !== undefined, historyDays };
  }

  async find(id: AccountId): Promise<Account | undefined> {
    const raw = await this.redis.hget(keys.accounts, id);
    return raw === null ? undefined : this.#cache.get(id, raw);
  }

  /** Newest first; `before` is the `nextCursor` of the page before. */
  async list(limit: number, before?: string): Promise<AccountPage> {
    const { members, nextCursor } = await readNewestFirst(this.redis, keys.accountIds, limit, before);
    const ids = members.map(idOfMember);
    const raws = ids.length === 0 ? [] : await this.redis.hmget(keys.accounts, ...ids);
    return { accounts: raws.flatMap((raw) => (raw === null ? [] : [parse(raw)])), nextCursor };
  }

  #run(script: RunScript, ...args: readonly string[]) {
    return script(this.redis, ALL_KEYS, args);
  }

  // Copy them to where they are read without the account: to the queues, and beside the account's usage,
  // which in a Cluster are on other nodes.
  async #copy({ id, weight, quotaBytes }: Account): Promise<void> {
    if (weight !== undefined) await this.redis.hset(ACCOUNT_WEIGHTS, id, weight);
    if (quotaBytes === undefined) await this.redis.del(keys.quota(id));
    else await this.redis.set(keys.quota(id), quotaBytes);
  }
}

function changedBy(
  {
    quotaBytes: quotaBefore,
    historyDays: daysBefore,
    cloudEventsSource: sourceBefore,
    endpointVerification: verificationBefore,
    ...account
  }: Account,
  {
    weight,
    quotaBytes = quotaBefore,
    historyDays = daysBefore,
    defaultSigning,
    cloudEventsSource = sourceBefore,
    endpointVerification = verificationBefore,
  }: AccountChange,
): Account {
  return {
    ...account,
    ...(weight === undefined ? {} : { weight }),
    ...(quotaBytes === undefined || quotaBytes === null ? {} : { quotaBytes }),
    ...(historyDays === undefined || historyDays === null ? {} : { historyDays }),
    ...(defaultSigning === undefined ? {} : { defaultSigning }),
    ...(cloudEventsSource === undefined || cloudEventsSource === null ? {} : { cloudEventsSource }),
    ...(endpointVerification === undefined || endpointVerification === null ? {} : { endpointVerification }),
  };
}

// Actions on an account are in the operator's log, and are kept longer than the account.
function recordedOf(
  act: Act | undefined,
  targetId: AccountId,
  changes: readonly FieldChange[] = [],
): Recorded | undefined {
  return act && { act, accountId: DEFAULT_ACCOUNT, targetId, changes };
}

function fieldsOf({ name, weight, quotaBytes, historyDays, defaultSigning }: Account): Fields {
  return plainFields({ name, weight, quotaBytes, historyDays, defaultSigning });
}

function parse(raw: string): Account {
  return accountSchema.parse(JSON.parse(raw));
}
