import { createLru } from '../kernel/lru';
import type { AccountId } from '../model/event';
import type { SignalListener } from '../model/signal';

/** Which share of the attempts the largest accounts had. Between 0 and 1. */
export interface LargestShares {
  readonly largest: number;
  readonly tenLargest: number;
}

const WINDOW_MS = 60_000;
// Accounts that have a share worth mentioning come again and again: of more than so many, others are forgotten first.
const COUNTED_ACCOUNTS = 1_000;
const SEVERAL = 10;

interface Window {
  readonly beganAt: number;
  total: number;
  readonly counts: ReturnType<typeof createLru<AccountId, number>>;
}

/**
 * How evenly accounts share this process: counts the attempts of each, in memory, over the last one to two minutes. What
 * comes out are two numbers that name nobody.
 */
export class AccountShares {
  #window: Window;
  #before: Window;

  /** @param clock milliseconds, of a clock that never jumps. */
  constructor(private readonly clock: () => number) {
    this.#window = emptyWindow(clock());
    this.#before = emptyWindow(Number.NEGATIVE_INFINITY);
  }

  readonly listen: SignalListener = (signal) => {
    if (signal.name !== 'delivery.attempted') return;
    this.#turnOver();
    this.#window.total += 1;
    this.#window.counts.set(signal.accountId, (this.#window.counts.get(signal.accountId) ?? 0) + 1);
  };

  /** `undefined` when there were no attempts. */
  read(): LargestShares | undefined {
    this.#turnOver();
    const total = this.#before.total + this.#window.total;
    if (total === 0) return undefined;
    const counts = new Map(this.#before.counts.entries());
    for (const [account, count] of this.#window.counts.entries()) {
      counts.set(account, (counts.get(account) ?? 0) + count);
    }
    const largest = [...counts.values()].toSorted((a, b) => b - a).slice(0, SEVERAL);
    const sum = largest.reduce((all, count) => all + count, 0);
    return { largest: (largest[0] ?? 0) / total, tenLargest: sum / total };
  }

  #turnOver(): void {
    const now = this.clock();
    const age = now - this.#window.beganAt;
    if (age < WINDOW_MS) return;
    this.#before = age < 2 * WINDOW_MS ? this.#window : emptyWindow(now);
    this.#window = emptyWindow(now);
  }
}

function emptyWindow(beganAt: number): Window {
  return { beganAt, total: 0, counts: createLru<AccountId, number>(COUNTED_ACCOUNTS) };
}
