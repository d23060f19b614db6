import type { AccountId } from '../domain/account';
import type { Emit } from '../domain/signal';
import { type AccountUsage, type Door, lapseOf, type UsageChange, type UsageKind } from '../domain/usage';
import { AppError } from '../platform/app-error';
import { createLru } from '../platform/caches';
import type { Clock } from '../platform/clock';
import { settledWithin } from '../platform/timers';
import type { Standing, UsageStore } from './redis-usage-store';

export interface AccountQuotaOptions {
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
export class AccountQuota {
  readonly #known = createLru<AccountId, Known>(REMEMBERED_ACCOUNTS);

  constructor(private readonly options: AccountQuotaOptions) {}

  /** Note how much an account stores, as was just read. */
  note(accountId: AccountId, standing: Standing): void {
    this.#remember(accountId, standing, false);
  }

  async look(accountId: AccountId): Promise<AccountUsage> {
    const { usageStore, clock } = this.options;
    const { ownQuotaBytes, ...usage } = await usageStore.look(accountId, clock());
    const { quotaBytes } = this.#remember(accountId, { usedBytes: usage.usedBytes, ownQuotaBytes }, true);
    return { ...usage, quotaBytes };
  }

  /** By what is known here; only an account that was beyond its quota then is looked at. @throws AppError `quota_exceeded`. */
  async requireRoomAsKnown(accountId: AccountId, door: Door): Promise<void> {
    const then = this.#known.get(accountId);
    if (then === undefined || !isOver(then)) return;
    const isFresh = then.isExact && this.options.clock() - then.at < LOOKED_AT_EVERY_MS;
    this.#refuseIfOver(accountId, isFresh ? then : await this.look(accountId), door);
  }

  /** By how it stands now. @throws AppError `quota_exceeded`. */
  async requireRoom(accountId: AccountId, door: Door): Promise<void> {
    this.#refuseIfOver(accountId, await this.look(accountId), door);
  }

  /** Of the accounts that were heard of within the last hour. */
  standings(): QuotaStandings {
    const since = this.options.clock() - SHOWN_FOR_MS;
    const recent = [...this.#known.values()].filter(({ at }) => at >= since);
    return {
      usedBytes: recent.reduce((sum, { usedBytes }) => sum + usedBytes, 0),
      near: recent.filter((usage) => isNear(usage) && !isOver(usage)).length,
      over: recent.filter(isOver).length,
    };
  }

  #remember(accountId: AccountId, { usedBytes, ownQuotaBytes }: Standing, isExact: boolean): Known {
    const { clock, defaultBytes } = this.options;
    const quotaBytes = ownQuotaBytes ?? defaultBytes;
    // 0 stands for no quota.
    const now = { usedBytes, quotaBytes: quotaBytes === 0 ? undefined : quotaBytes, isExact, at: clock() };
    this.#known.set(accountId, now);
    return now;
  }

  #refuseIfOver(accountId: AccountId, usage: Usage, door: Door): void {
    if (!isOver(usage)) return;
    this.options.emit({ name: 'quota.exceeded', accountId, door });
    throw new AppError(
      'quota_exceeded',
      `The account stores ${usage.usedBytes} bytes and may store ${usage.quotaBytes}: see GET /v1/account/usage.`,
    );
  }
}

type Usage = Pick<Known, 'usedBytes' | 'quotaBytes'>;

function isOver({ usedBytes, quotaBytes = Number.POSITIVE_INFINITY }: Usage): boolean {
  return usedBytes >= quotaBytes;
}

function isNear({ usedBytes, quotaBytes = Number.POSITIVE_INFINITY }: Usage): boolean {
  return usedBytes >= quotaBytes * NEAR_SHARE;
}

export interface UsageRecorderOptions {
  readonly usageStore: Pick<UsageStore, 'count'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

const FLUSH_AFTER_MS = 5_000;
/** When more accounts than this have something to be counted within that time, it is written at once. */
const MAX_ACCOUNTS = 1_000;
const STOP_PATIENCE_MS = 1_000;

/**
 * Adds up in memory what accounts store where no script of theirs could count it, and writes it down five seconds after
 * the first of it: one command for each account, none when nothing happens, and no delivery waits for it. A process that is
 * killed forgets what it has not written, and a connection that breaks before the answer may count twice.
 */
export class UsageRecorder {
  #changes = new Map<AccountId, Map<string, UsageChange>>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(private readonly options: UsageRecorderOptions) {}

  /**
   * @param bytes below 0 for what is gone before its time.
   * @param storedAt milliseconds since the Unix epoch.
   */
  note(accountId: AccountId, kind: UsageKind, bytes: number, storedAt: number, keptMs: number): void {
    this.#add(accountId, { kind, bytes, lapsesAt: lapseOf(storedAt, keptMs) });
    if (this.#changes.size >= MAX_ACCOUNTS) void this.flush();
    else this.#flushSoon();
  }

  /** Writes down what there is. Resolves when that was tried. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const taken = this.#changes;
    this.#changes = new Map();
    const validationErrors = await Promise.all(
      [...taken].map(([id, changes]) => this.#write(id, [...changes.values()])),
    );
    const error = validationErrors.find((fault) => fault !== undefined);
    if (error !== undefined) this.options.emit({ name: 'task.failed', task: 'count usage', error });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await settledWithin(STOP_PATIENCE_MS, this.flush());
  }

  #flushSoon(): void {
    if (!this.#isStopped) this.#timer ??= setTimeout(() => void this.flush(), FLUSH_AFTER_MS);
  }

  async #write(accountId: AccountId, changes: readonly UsageChange[]): Promise<unknown> {
    try {
      await this.options.usageStore.count(accountId, changes, this.options.clock());
      return undefined;
    } catch (error) {
      for (const change of changes) this.#add(accountId, change);
      this.#flushSoon();
      return error;
    }
  }

  #add(accountId: AccountId, { kind, bytes, lapsesAt }: UsageChange): void {
    const ofAccount = this.#changes.get(accountId) ?? new Map<string, UsageChange>();
    this.#changes.set(accountId, ofAccount);
    const part = `${kind}:${lapsesAt}`;
    ofAccount.set(part, { kind, bytes: bytes + (ofAccount.get(part)?.bytes ?? 0), lapsesAt });
  }
}
