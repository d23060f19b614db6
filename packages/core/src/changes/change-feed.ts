import { steadyClock, systemClock } from '../kernel/clock';
import type { AccountId } from '../model/event';
import type { Emit, Signal } from '../model/signal';
import { Backlog } from './backlog';
import { changesOf, isTold } from './changes-of-signal';
import type { ChangeStore } from './redis-change-store';

export interface ChangeFeedOptions {
  readonly changeStore: Pick<ChangeStore, 'readWatched' | 'append'>;
  readonly emit: Emit;
}

const LOOK_EVERY_MS = 2_000;
/** So long after an account began to be watched, every process knows, or says later that it did not. */
export const KNOWN_WITHIN_MS = 3_000;
// One trip to Redis for what happens together.
const GATHERED_MS = 50;
const AFTER_FAULT_MS = 500;

/**
 * Writes what this process changes, for those who watch: a listener to its signals. While nobody watches an account,
 * its signals cost a look into a map, and nothing is written. What was not written for whatever reason is told by
 * a `reset`, as far as this process lives: lists and records are the truth.
 */
export class ChangeFeed {
  /** Of the accounts that are watched; `undefined` before it is known which. */
  #backlogs: ReadonlyMap<AccountId, Backlog> | undefined;
  /** Those of them that have something to write. */
  readonly #due = new Set<AccountId>();
  #lookedAt = steadyClock();
  #isUnheard = false;
  #lookTimer: NodeJS.Timeout | undefined;
  #writeTimer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #writing: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(private readonly options: ChangeFeedOptions) {}

  readonly listen = (signal: Signal): void => {
    if (!isTold(signal) || signal.accountId === undefined) return;
    if (this.#backlogs === undefined) this.#isUnheard = true;
    const backlog = this.#backlogs?.get(signal.accountId);
    if (backlog === undefined) return;
    const changes = changesOf(signal, systemClock());
    if (changes === 'too_many') backlog.overflow();
    else backlog.add(changes, steadyClock());
    this.#isDue(signal.accountId);
  };

  /** From now on it looks who is watched. Resolves when it has looked once, be it that it could or not. */
  async start(): Promise<void> {
    await this.#lookAndGoOn();
  }

  /** Writes what is left. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#lookTimer);
    clearTimeout(this.#writeTimer);
    await Promise.all([this.#looking, this.#writing]);
    await this.#write();
  }

  /** Looks which accounts are watched. */
  async runOnce(): Promise<void> {
    const startedAt = steadyClock();
    const watched = await this.options.changeStore.readWatched();
    const isLate = this.#isUnheard || steadyClock() - this.#lookedAt > KNOWN_WITHIN_MS;
    this.#isUnheard = false;
    this.#lookedAt = startedAt;
    this.#take(watched, isLate);
  }

  // Who has looked too late may not have heard of an account in time: what it did not write, nobody knows.
  #take(watched: readonly AccountId[], isLate: boolean): void {
    const known = this.#backlogs;
    this.#backlogs = new Map(watched.map((account) => [account, known?.get(account) ?? new Backlog()]));
    if (!isLate) return;
    for (const [account, backlog] of this.#backlogs) {
      backlog.miss();
      this.#isDue(account);
    }
  }

  #lookAndGoOn(): Promise<void> {
    this.#looking = this.runOnce()
      .catch((error: unknown) => {
        this.options.emit({ name: 'task.failed', task: 'look at watched accounts', error });
      })
      .finally(() => {
        if (!this.#isStopped) this.#lookTimer = setTimeout(() => void this.#lookAndGoOn(), LOOK_EVERY_MS);
      });
    return this.#looking;
  }

  #isDue(account: AccountId): void {
    this.#due.add(account);
    this.#writeIn(GATHERED_MS);
  }

  // One at a time: what comes while it writes is gathered, in backlogs that have a bound.
  #writeIn(delayMs: number): void {
    if (this.#isStopped) return;
    this.#writeTimer ??= setTimeout(() => {
      this.#writing = this.#write();
    }, delayMs);
  }

  async #write(): Promise<void> {
    const due = [...this.#due];
    this.#due.clear();
    const written = await Promise.all(due.map((account) => this.#writeFor(account)));
    this.#writeTimer = undefined;
    if (this.#due.size > 0) this.#writeIn(written.includes(false) ? AFTER_FAULT_MS : GATHERED_MS);
  }

  async #writeFor(account: AccountId): Promise<boolean> {
    const { changeStore, emit } = this.options;
    const backlog = this.#backlogs?.get(account);
    if (backlog === undefined) return true;
    const changes = backlog.take(steadyClock());
    try {
      if (changes.length > 0) await changeStore.append(account, changes);
      return true;
    } catch (error) {
      backlog.miss();
      emit({ name: 'task.failed', task: 'write changes', error });
      return false;
    } finally {
      if (!backlog.isEmpty) this.#due.add(account);
    }
  }
}
