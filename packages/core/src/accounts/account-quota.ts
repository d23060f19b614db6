import type { AccountId } from '../domain/account';
import type { Emit } from '../domain/signal';
import {
  type AccountUsage,
  type Door,
  lapseOf,
  type QuotaStandings,
  type UsageChange,
  type UsageKind,
} from '../domain/usage';
import { AppError } from '../platform/app-error';
import { createLru } from '../platform/caches';
import type { Clock } from '../platform/clock';
import { settledWithin, WakeUpTimer } from '../platform/timers';
import type { Standing, UsageStore } from './redis-usage-store';

export interface AccountQuotaParts {
  readonly usageStore: UsageStore;
  /** The default quota of an account; 0: unlimited. */
  readonly defaultBytes: number;
  readonly clock: Clock;
  readonly emit: Emit;
}

interface QuotaUsage {
  usedBytes: number;
  quotaBytes: number | undefined;
}

interface Known extends QuotaUsage {
  /** Whether lapsed parts are subtracted. */
  isExact: boolean;
  at: number;
}

const REMEMBERED_ACCOUNTS = 10_000;
/** An account beyond its quota is checked again at most this often, however many requests it makes. */
const LOOKED_AT_EVERY_MS = 1_000;
/** An older standing says nothing about now. */
const SHOWN_FOR_MS = 3_600_000;
const NEAR_SHARE = 0.8;

/**
 * Decides whether an account may store more. Publishing reads the usage together with what it reads or
 * compares anyway, and notes it here, so an account within its quota costs no command. An account beyond it is checked exactly, once a second at most. Requests that run at the same time
 * may exceed the quota together.
 */
export class AccountQuota {
  readonly #known = createLru<AccountId, Known>(REMEMBERED_ACCOUNTS);

  constructor(private readonly parts: AccountQuotaParts) {}

  /** Note how much an account stores, as just read. */
  readonly note = (accountId: AccountId, standing: Standing): void => {
    this.#remember(accountId, standing, false);
  };

  async look(accountId: AccountId): Promise<AccountUsage> {
    const { usageStore, clock } = this.parts;
    const { ownQuotaBytes, ...usage } = await usageStore.look(accountId, clock());
    const { quotaBytes } = this.#remember(accountId, { usedBytes: usage.usedBytes, ownQuotaBytes }, true);
    return { ...usage, quotaBytes };
  }

  /**
   * Decide by the last known usage. Only an account that was beyond its quota is checked again.
   *
   * @throws AppError `quota_exceeded`.
   */
  async requireRoomAsKnown(accountId: AccountId, door: Door): Promise<void> {
    const then = this.#known.get(accountId);
    if (then === undefined || !isOverQuota(then)) return;
    const isFresh = then.isExact && this.parts.clock() - then.at < LOOKED_AT_EVERY_MS;
    this.#refuseIfOverQuota(accountId, isFresh ? then : await this.look(accountId), door);
  }

  /** Whether the account had room when its usage was read last; `false` if it was never read. */
  hadRoom(accountId: AccountId): boolean {
    const then = this.#known.get(accountId);
    return then !== undefined && !isOverQuota(then);
  }

  /** Decide by the present usage. @throws AppError `quota_exceeded`. */
  async requireRoom(accountId: AccountId, door: Door): Promise<void> {
    this.#refuseIfOverQuota(accountId, await this.look(accountId), door);
  }

  /** The standings of the accounts that were noted within the last hour. */
  standings(): QuotaStandings {
    const since = this.parts.clock() - SHOWN_FOR_MS;
    const recent = [...this.#known.values()].filter(({ at }) => at >= since);
    return {
      usedBytes: recent.reduce((sum, { usedBytes }) => sum + usedBytes, 0),
      near: recent.filter((usage) => isNear(usage) && !isOverQuota(usage)).length,
      over: recent.filter(isOverQuota).length,
    };
  }

  #remember(accountId: AccountId, { usedBytes, ownQuotaBytes }: Standing, isExact: boolean): Known {
    const { clock, defaultBytes } = this.parts;
    const quotaBytes = ownQuotaBytes ?? defaultBytes;
    // 0 means no quota.
    const now = { usedBytes, quotaBytes: quotaBytes === 0 ? undefined : quotaBytes, isExact, at: clock() };
    const then = this.#known.get(accountId);
    // Each event notes it: a new entry would cost more.
    if (then) return Object.assign(then, now);
    this.#known.set(accountId, now);
    return now;
  }

  #refuseIfOverQuota(accountId: AccountId, usage: QuotaUsage, door: Door): void {
    if (!isOverQuota(usage)) return;
    this.parts.emit({ name: 'quota.exceeded', accountId, door });
    throw new AppError(
      'quota_exceeded',
      `The account stores ${usage.usedBytes} bytes, and its quota is ${usage.quotaBytes}. Wait until stored data expires, or ask the operator for a larger quota: see GET /v1/account/usage.`,
    );
  }
}

function isOverQuota({ usedBytes, quotaBytes = Number.POSITIVE_INFINITY }: QuotaUsage): boolean {
  return usedBytes >= quotaBytes;
}

function isNear({ usedBytes, quotaBytes = Number.POSITIVE_INFINITY }: QuotaUsage): boolean {
  return usedBytes >= quotaBytes * NEAR_SHARE;
}

export interface UsageRecorderParts {
  readonly usageStore: UsageStore;
  /** How long events and deliveries are kept. */
  readonly retentionMs: number;
  readonly clock: Clock;
  readonly emit: Emit;
}

const FLUSH_AFTER_MS = 5_000;
/** Beyond this number of accounts the sums are written at once. */
const MAX_ACCOUNTS = 1_000;
const STOP_PATIENCE_MS = 1_000;

/**
 * Adds up in memory what accounts store where no script can count it, and writes the sums five seconds after
 * the first one: one command for each account, none when nothing happens, and no delivery waits for it. A
 * process that is killed loses what it has not written. A connection that breaks before the reply may count
 * twice.
 */
export class UsageRecorder {
  #changes = new Map<AccountId, Map<string, UsageChange>>();
  readonly #timer = new WakeUpTimer(() => this.#writeAll());

  constructor(private readonly parts: UsageRecorderParts) {}

  /**
   * @param bytes below 0 for data that is removed before its time.
   * @param storedAt milliseconds since the Unix epoch.
   */
  readonly note = (
    accountId: AccountId,
    kind: UsageKind,
    bytes: number,
    storedAt = this.parts.clock(),
    keptMs = this.parts.retentionMs,
  ): void => {
    this.#add(accountId, { kind, bytes, lapsesAt: lapseOf(storedAt, keptMs) });
    this.#timer.wakeUpIn(this.#changes.size >= MAX_ACCOUNTS ? 0 : FLUSH_AFTER_MS);
  };

  /** Write the sums. Resolves when that was tried. */
  async flush(): Promise<void> {
    await this.#timer.runNow();
  }

  async stop(): Promise<void> {
    await settledWithin(
      STOP_PATIENCE_MS,
      this.#timer.stop().then(() => this.flush()),
    );
  }

  async #writeAll(): Promise<void> {
    const taken = this.#changes;
    this.#changes = new Map();
    const failures = await Promise.all(
      [...taken].map(([id, changes]) => this.#write(id, [...changes.values()])),
    );
    const error = failures.find((failure) => failure !== undefined);
    if (error === undefined) return;
    this.parts.emit({ name: 'task.failed', task: 'count stored bytes', error });
    this.#timer.wakeUpIn(FLUSH_AFTER_MS);
  }

  async #write(accountId: AccountId, changes: readonly UsageChange[]): Promise<unknown> {
    try {
      await this.parts.usageStore.count(accountId, changes, this.parts.clock());
      return undefined;
    } catch (error) {
      for (const change of changes) this.#add(accountId, change);
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
