import type { AccountId } from '../domain/account';
import type { SignalListener } from '../domain/signal';
import { createLru } from '../platform/caches';
import { gauge, type PromGauge, type Sample } from './prom-gauges';

const budgets = ['quick', 'slow'] as const;
const quantiles = [0.5, 0.9, 1] as const;

type ByBudget = Readonly<Record<(typeof budgets)[number], number>>;

export interface WorkerSources {
  readonly slots: Readonly<Record<'inUse' | 'allowed', ByBudget>>;
  /** Of endpoints with running attempts. */
  readonly concurrency: { limits(): readonly { readonly limit: number; readonly underWay: number }[] };
  readonly shares: AccountShares;
}

/** A worker's own gauges, beside those of each process. */
export const workerGauges: readonly PromGauge<WorkerSources>[] = [
  gauge({
    name: 'webhooks_slots_in_use',
    help: 'Attempts under way, by budget: quick (just begun), and slow (under way for more than 250 ms).',
    labels: { budget: budgets },
    read: ({ slots }) => byBudget(slots.inUse),
  }),
  gauge({
    name: 'webhooks_slots',
    help: 'The most attempts that may be under way, by budget. The quick budget shrinks while the process is late.',
    labels: { budget: budgets },
    read: ({ slots }) => byBudget(slots.allowed),
  }),
  gauge({
    name: 'webhooks_endpoint_concurrency_limit',
    help: 'The limit of attempts at once of a webhook in this worker: quantiles over the webhooks with attempts under way (1: the highest limit). Missing when there are none.',
    labels: { quantile: quantiles.map(String) },
    read: ({ concurrency }) => quantilesOf(concurrency.limits().map(({ limit }) => limit)),
  }),
  gauge({
    name: 'webhooks_endpoints_at_limit',
    help: 'Webhooks that have reached their limit of attempts at once in this worker.',
    read: ({ concurrency }) => concurrency.limits().filter(({ limit, underWay }) => underWay >= limit).length,
  }),
  gauge({
    name: 'webhooks_largest_accounts_share',
    help: 'Share of the attempts of the last one to two minutes that the largest account had, or the ten largest together: 0 to 1. Each worker counts its own: aggregate with avg or max. Missing when there were none.',
    labels: { accounts: ['1', '10'] },
    read: ({ shares }) => largestOf(shares.read()),
  }),
];

function byBudget(numbers: ByBudget): readonly Sample[] {
  return budgets.map((budget) => ({ labels: { budget }, value: numbers[budget] }));
}

/** By the nearest rank: each is a limit that some endpoint has. */
function quantilesOf(limits: readonly number[]): readonly Sample[] {
  const sorted = limits.toSorted((a, b) => a - b);
  return quantiles.flatMap((quantile) => {
    const value = sorted[Math.ceil(quantile * sorted.length) - 1];
    return value === undefined ? [] : [{ labels: { quantile: String(quantile) }, value }];
  });
}

function largestOf(shares: LargestShares | undefined): readonly Sample[] {
  if (!shares) return [];
  return [
    { labels: { accounts: '1' }, value: shares.largest },
    { labels: { accounts: '10' }, value: shares.tenLargest },
  ];
}

/** The largest accounts' shares of the attempts. Between 0 and 1. */
interface LargestShares {
  readonly largest: number;
  readonly tenLargest: number;
}

const WINDOW_MS = 60_000;
// Accounts with a relevant share come again and again: of more than this many, others are forgotten first.
const COUNTED_ACCOUNTS = 1_000;
const SEVERAL = 10;

interface Window {
  readonly beganAt: number;
  total: number;
  readonly counts: ReturnType<typeof createLru<AccountId, number>>;
}

/**
 * How evenly accounts share this process: counts the attempts of each, in memory, over the last one to two
 * minutes. It reports two numbers that name no account.
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
