import { AppError } from '../kernel/app-error';
import type { Clock } from '../kernel/clock';
import { createLru } from '../kernel/lru';
import type { AccountId } from '../model/event';
import type { Emit } from '../model/signal';
import type { AccountUsage, Door } from '../model/usage';
import type { Standing, UsageStore } from './redis-usage-store';

export interface AccountQuotaDeps {
  readonly usageStore: Pick<UsageStore, 'look'>;
  /** What an account may store if its operator says nothing else of it; 0: as much as there is room for. */
  readonly defaultBytes: number;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** What is known of the accounts that this process has to do with. */
export interface QuotaStandings {
  readonly usedBytes: number;
  readonly near: number;
  readonly over: number;
}

interface Known {
  readonly usedBytes: number;
  readonly quotaBytes: number | undefined;
  /** Whether what has lapsed is taken off. */
  readonly isExact: boolean;
  readonly at: number;
}

const REMEMBERED_ACCOUNTS = 10_000;
/** An account that stores too much is looked at again so often at most, however many requests it makes. */
const LOOKED_AT_EVERY_MS = 1_000;
/** What was not heard of for longer says nothing about now. */
const SHOWN_FOR_MS = 3_600_000;
const NEAR_SHARE = 0.8;

/**
 * Whether an account may store more. Who publishes reads how much there is with the version of the account's endpoints,
 * which is read anyway, and notes it here: so an account that is within its quota costs no command. One that is not is
 * looked at exactly, once a second at most. Requests that are under way at the same time may go beyond it together.
 */
export function createAccountQuota({ usageStore, defaultBytes, clock, emit }: AccountQuotaDeps) {
  const known = createLru<AccountId, Known>(REMEMBERED_ACCOUNTS);

  function note(accountId: AccountId, { usedBytes, ownQuotaBytes }: Standing, isExact = false): Known {
    const now: Known = { usedBytes, quotaBytes: quotaOf(ownQuotaBytes), isExact, at: clock() };
    known.set(accountId, now);
    return now;
  }

  // 0 is none.
  function quotaOf(ownQuotaBytes = defaultBytes): number | undefined {
    return ownQuotaBytes === 0 ? undefined : ownQuotaBytes;
  }

  async function look(accountId: AccountId): Promise<AccountUsage> {
    const { ownQuotaBytes, ...usage } = await usageStore.look(accountId, clock());
    const { quotaBytes } = note(accountId, { usedBytes: usage.usedBytes, ownQuotaBytes }, true);
    return { ...usage, quotaBytes };
  }

  /** By what is known here; only an account that was beyond its quota then is looked at. @throws AppError `quota_exceeded`. */
  async function requireRoomAsKnown(accountId: AccountId, door: Door): Promise<void> {
    const then = known.get(accountId);
    if (then === undefined || !isOver(then)) return;
    const isFresh = then.isExact && clock() - then.at < LOOKED_AT_EVERY_MS;
    refuseIfOver(accountId, isFresh ? then : await look(accountId), door);
  }

  /** By how it stands now. @throws AppError `quota_exceeded`. */
  async function requireRoom(accountId: AccountId, door: Door): Promise<void> {
    refuseIfOver(accountId, await look(accountId), door);
  }

  function refuseIfOver(accountId: AccountId, usage: Usage, door: Door): void {
    if (!isOver(usage)) return;
    emit({ name: 'quota.exceeded', accountId, door });
    throw new AppError(
      'quota_exceeded',
      `The account stores ${usage.usedBytes} bytes and may store ${usage.quotaBytes}: see GET /v1/account/usage.`,
    );
  }

  /** Of the accounts that were heard of within the last hour. */
  function standings(): QuotaStandings {
    const since = clock() - SHOWN_FOR_MS;
    const recent = [...known.values()].filter(({ at }) => at >= since);
    return {
      usedBytes: recent.reduce((sum, { usedBytes }) => sum + usedBytes, 0),
      near: recent.filter((usage) => isNear(usage) && !isOver(usage)).length,
      over: recent.filter(isOver).length,
    };
  }

  return {
    note: (accountId: AccountId, standing: Standing) => void note(accountId, standing),
    look,
    requireRoomAsKnown,
    requireRoom,
    standings,
  };
}

export type AccountQuota = ReturnType<typeof createAccountQuota>;

type Usage = Pick<Known, 'usedBytes' | 'quotaBytes'>;

function isOver({ usedBytes, quotaBytes = Number.POSITIVE_INFINITY }: Usage): boolean {
  return usedBytes >= quotaBytes;
}

function isNear({ usedBytes, quotaBytes = Number.POSITIVE_INFINITY }: Usage): boolean {
  return usedBytes >= quotaBytes * NEAR_SHARE;
}
