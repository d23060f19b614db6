import { QUEUE_PREFIX } from '@hookferry/producer/contract';
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
import { idOfMember, readNewestFirst, timedMember } from '../platform/redis-timeline';
import { changesBetween, type Fields, plainFields } from './audit/field-changes';
import { makeChange, type Recorded } from './audit/redis-recorded-change';
import { createAccount, removeAccount, replaceAccount } from './redis-account-store.script';
import { PauseStore } from './redis-pause-store';
import { removeCopied, replaceCopied } from './redis-record-copies';

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

/** What decides about the events of an account. */
export type AccountStanding =
  | {
      readonly state: 'open';
      /** `undefined`: it has no retention of its own. */
      readonly historyDays: number | undefined;
    }
  | {
      /** It is being erased, or was erased and its id is still taken. */
      readonly state: 'erased';
      /** Milliseconds since the Unix epoch. `undefined`: the erasure has ended. */
      readonly erasingSince: number | undefined;
    }
  | { readonly state: 'unknown' };

const CACHED_ACCOUNTS = 10_000;

// The weights on the first shard. Workers copy them to the others.
const ACCOUNT_WEIGHTS = queueKeysOf(QUEUE_PREFIX).accountWeights;

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
    const created = createAccount({ id, record: JSON.stringify(account), member, now: createdAt });
    const recorded = recordedOf(act, id, changesBetween({}, fieldsOf(account)));
    const isNew = await replaceCopied(this.redis, copiedOf(id), () =>
      makeChange(this.redis, created, recorded),
    );
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
      const replaced = replaceAccount({ id, before: raw, after: JSON.stringify(changed) });
      const recorded = recordedOf(act, id, changesBetween(fieldsOf(account), fieldsOf(changed)));
      const isDone = () => makeChange(this.redis, replaced, recorded);
      if (!(await replaceCopied(this.redis, copiedOf(id), isDone))) continue;
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
      const replaced = replaceAccount({ id, before: raw, after: JSON.stringify(marked) });
      const isDone = () => makeChange(this.redis, replaced, recordedOf(act, id));
      if (await replaceCopied(this.redis, copiedOf(id), isDone)) return marked;
    }
  }

  /** Forget an account, except for its id, which stays taken until `takenUntil`. */
  async remove({ id, createdAt }: Account, now: number, takenUntil: number): Promise<void> {
    // Before the record: an erasure that breaks off in between comes here again.
    await this.redis.hdel(ACCOUNT_WEIGHTS, id);
    await new PauseStore(this.redis).forget(id);
    await this.redis.unlink(keys.usage(id), keys.usedBytes(id), keys.quota(id));
    const remove = removeAccount({ id, member: timedMember(createdAt, id), now, takenUntil });
    await removeCopied(this.redis, copiedOf(id), () => remove(this.redis));
  }

  async findStanding(id: AccountId): Promise<AccountStanding> {
    const [raw, takenUntil] = await Promise.all([
      this.redis.hget(keys.accounts, id),
      this.redis.zscore(keys.erasedAccounts, id),
    ]);
    if (raw === null)
      return takenUntil === null ? { state: 'unknown' } : { state: 'erased', erasingSince: undefined };
    const { erasingSince, historyDays } = this.#cache.get(id, raw);
    return erasingSince === undefined ? { state: 'open', historyDays } : { state: 'erased', erasingSince };
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

  // Copy them to where they are read without the account: to the queues, and beside the account's usage,
  // which in a Cluster are on other nodes.
  async #copy({ id, weight, quotaBytes }: Account): Promise<void> {
    if (weight !== undefined) await this.redis.hset(ACCOUNT_WEIGHTS, id, weight);
    if (quotaBytes === undefined) await this.redis.del(keys.quota(id));
    else await this.redis.set(keys.quota(id), quotaBytes);
  }
}

const copiedOf = (id: AccountId) => ({ key: keys.accounts, field: id, accountId: id });

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
