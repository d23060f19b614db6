import type { AccountId } from '../domain/account';
import type { Emit, Signal, SignalListener } from '../domain/signal';
import type { Clock } from '../platform/clock';
import { settledWithin, WakeUpTimer } from '../platform/timers';
import { addLoad, type DayStore, type Load, type LoadMeasure, noLoad } from './redis-day-store';

const FLUSH_AFTER_MS = 10_000;
// They go to Redis together with other scripts, if there are some within this time.
const PATIENCE_MS = 1_000;
const MAX_ACCOUNTS = 10_000;
const STOP_PATIENCE_MS = 1_000;

export interface AccountLoadsParts {
  readonly dayStore: DayStore;
  readonly clock: Clock;
  readonly emit: Emit;
}

/**
 * Adds up in memory what accounts use, as this process announces it, and writes it ten seconds after the first of it: one
 * script however much it was, none when nothing happens. A failed write stays here for the next time.
 */
export class AccountLoads {
  readonly name = 'account loads';
  #loads = new Map<AccountId, Record<LoadMeasure, number>>();
  #patienceMs = PATIENCE_MS;
  readonly #timer = new WakeUpTimer(() => this.#write());

  constructor(private readonly parts: AccountLoadsParts) {}

  readonly listen: SignalListener = (signal: Signal) => {
    if (signal.name === 'event.accepted') {
      const load = this.#loadOf(signal.accountId);
      load.events += 1;
      load.bytes += signal.bytes;
    } else if (signal.name === 'transformation.charged') {
      this.#loadOf(signal.accountId).transformMs += Math.max(signal.tookMs, 0);
    }
  };

  /** Write the sums. Resolves when that was tried. */
  async flush(): Promise<void> {
    await this.#timer.runNow();
  }

  /** Write the sums for the last time. */
  async close(): Promise<void> {
    this.#patienceMs = 0;
    const stopping = this.#timer.stop().then(() => this.flush());
    await settledWithin(STOP_PATIENCE_MS, stopping);
  }

  #loadOf(id: AccountId): Record<LoadMeasure, number> {
    const known = this.#loads.get(id);
    if (known) return known;
    const load = noLoad();
    this.#loads.set(id, load);
    if (this.#loads.size === 1) this.#timer.wakeUpIn(FLUSH_AFTER_MS);
    if (this.#loads.size === MAX_ACCOUNTS) this.#timer.wakeUpIn(0);
    return load;
  }

  async #write(): Promise<void> {
    const taken = this.#loads;
    if (taken.size === 0) return;
    this.#loads = new Map();
    try {
      const { dayStore, clock } = this.parts;
      await dayStore.addLoads(whole(taken), clock(), this.#patienceMs);
    } catch (error) {
      this.parts.emit({ name: 'task.failed', task: 'count the load of accounts', error });
      this.#takeBack(taken);
    }
  }

  /** Accounts beyond the limit are not counted: the figures are for people to look at. */
  #takeBack(taken: ReadonlyMap<AccountId, Load>): void {
    for (const [id, load] of taken) {
      if (this.#loads.size >= MAX_ACCOUNTS) return;
      addLoad(this.#loadOf(id), load);
    }
  }
}

/** In whole milliseconds, rounded up to at least 1 if anything was used. */
function whole(loads: ReadonlyMap<AccountId, Load>): ReadonlyMap<AccountId, Load> {
  return new Map(
    [...loads].map(([id, load]) => [id, { ...load, transformMs: Math.ceil(load.transformMs) }] as const),
  );
}
