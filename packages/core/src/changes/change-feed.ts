import { type Clock, steadyClock } from '../kernel/clock';
import { settledWithin } from '../kernel/within';
import type { AccountId } from '../model/event';
import type { Emit, Signal } from '../model/signal';
import { Backlog } from './backlog';
import { changesOf, isTold, type ToldSignal } from './changes-of-signal';
import type { ChangeStore } from './redis-change-store';

export interface ChangeFeedOptions {
  readonly changeStore: Pick<ChangeStore, 'readWatched' | 'append'>;
  /** For how long it gathers what happens together, for one trip to Redis. Milliseconds. */
  readonly gatherMs: number;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** So long it goes by what it knows of who is watched: so long after an account began to be watched every change is told. */
export const KNOWN_FOR_MS = 2_000;
/** An API process tells sooner than a worker does: that there is a delivery comes before what becomes of it. */
export const API_GATHER_MS = 10;
export const WORKER_GATHER_MS = 50;

const AFTER_FAULT_MS = 500;
// Signals that wait until it is known who is watched: as a rule for milliseconds.
const MOST_UNDECIDED = 1_000;
// Nothing depends on it.
const STOP_PATIENCE_MS = 1_000;

/**
 * Writes what this process changes, for those who watch: a listener to its signals. It asks who is watched when something
 * has happened, once in two seconds at most; then a signal of an account that nobody watches costs a look into a map. What
 * was not written for whatever reason is told by a `reset`, as far as this process lives: lists and records are the truth.
 */
export class ChangeFeed {
  /** Of the accounts that are watched. */
  #backlogs: ReadonlyMap<AccountId, Backlog> = new Map();
  #askedAt = Number.NEGATIVE_INFINITY;
  #undecided: ToldSignal[] = [];
  #hasLeftOut = false;
  /** Accounts that have something to write. */
  readonly #due = new Set<AccountId>();
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(private readonly options: ChangeFeedOptions) {}

  readonly listen = (signal: Signal): void => {
    if (!isTold(signal)) return;
    // In their order: none overtakes those that wait.
    if (this.#undecided.length === 0 && this.#isKnown()) this.#tell(signal);
    else if (this.#undecided.length < MOST_UNDECIDED) this.#undecided.push(signal);
    else this.#hasLeftOut = true;
    if (this.#undecided.length > 0) this.#workIn(this.options.gatherMs);
  };

  /** Writes what is left, unless Redis is away. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await settledWithin(
      STOP_PATIENCE_MS,
      this.#working.then(() => this.#work()),
    );
  }

  #isKnown(): boolean {
    return steadyClock() - this.#askedAt < KNOWN_FOR_MS;
  }

  #tell(signal: ToldSignal): void {
    const backlog = this.#backlogs.get(signal.accountId);
    if (backlog === undefined) return;
    const changes = changesOf(signal, this.options.clock());
    if (changes === 'too_many') backlog.overflow();
    else backlog.add(changes, steadyClock());
    this.#due.add(signal.accountId);
    this.#workIn(this.options.gatherMs);
  }

  // One at a time: what comes while it works is gathered, within bounds.
  #workIn(delayMs: number): void {
    if (this.#isStopped) return;
    this.#timer ??= setTimeout(() => {
      this.#working = this.#workAndGoOn();
    }, delayMs);
  }

  async #workAndGoOn(): Promise<void> {
    const isDone = await this.#work();
    this.#timer = undefined;
    if (this.#undecided.length + this.#due.size === 0) return;
    this.#workIn(isDone ? this.options.gatherMs : AFTER_FAULT_MS);
  }

  /** Gives whether Redis did what it was asked for. */
  async #work(): Promise<boolean> {
    const isDecided = this.#undecided.length === 0 || (await this.#decide());
    const due = [...this.#due];
    this.#due.clear();
    const written = await Promise.all(due.map((account) => this.#writeFor(account)));
    return isDecided && !written.includes(false);
  }

  async #decide(): Promise<boolean> {
    const { changeStore, emit } = this.options;
    const askedAt = steadyClock();
    try {
      const watched = await changeStore.readWatched();
      const known = this.#backlogs;
      this.#backlogs = new Map(watched.map((account) => [account, known.get(account) ?? new Backlog()]));
      this.#askedAt = askedAt;
    } catch (error) {
      emit({ name: 'task.failed', task: 'look at watched accounts', error });
    }
    // An answer that took so long says nothing of what came last.
    if (!this.#isKnown()) return false;
    const decided = this.#undecided;
    this.#undecided = [];
    for (const signal of decided) this.#tell(signal);
    if (this.#hasLeftOut) this.#missForAll();
    return true;
  }

  #missForAll(): void {
    this.#hasLeftOut = false;
    for (const [account, backlog] of this.#backlogs) {
      backlog.miss();
      this.#due.add(account);
    }
  }

  async #writeFor(account: AccountId): Promise<boolean> {
    const { changeStore, emit } = this.options;
    const backlog = this.#backlogs.get(account);
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
