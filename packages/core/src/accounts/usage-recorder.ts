import type { Clock } from '../kernel/clock';
import { settledWithin } from '../kernel/within';
import type { AccountId } from '../model/event';
import type { Emit } from '../model/signal';
import { lapseOf, type UsageChange, type UsageKind } from '../model/usage';
import type { UsageStore } from './redis-usage-store';

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
    const faults = await Promise.all(
      [...taken].map(([id, changes]) => this.#write(id, [...changes.values()])),
    );
    const error = faults.find((fault) => fault !== undefined);
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
