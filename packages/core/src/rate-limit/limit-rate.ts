import { LRUCache } from 'lru-cache';
import type { Allowance } from '../config/allowance';
import type { Clock } from '../runtime/clock';
import type { AllowanceStore } from './redis-allowance-store';

export interface LimitRateDeps {
  readonly allowanceStore: AllowanceStore;
  readonly allowance: Allowance;
  readonly clock: Clock;
}

/** Where a key stands after one more request. */
export interface RateStanding {
  readonly isWithin: boolean;
  /** Requests left in this window, as far as this process knows. */
  readonly remaining: number;
  readonly resetsInMs: number;
}

/** What this process has taken from a key's window and may spend without asking. */
interface Lease {
  left: number;
  /** What nobody had taken when this was. */
  untaken: number;
  endsAt: number;
  /** Requests that wait for the next lease. */
  waiting: number;
  renewal: Promise<void> | undefined;
}

const LEASED_KEYS = 10_000;
// Of the whole allowance: what a process may have taken at the end of a window and not spent.
const LEASED_SHARE = 0.01;

/**
 * Counts the requests of an API key, in all processes together. A process takes a hundredth of the allowance at a
 * time and spends it in memory, so most requests ask nobody. No key ever gets more than its allowance; it may get
 * less by up to a hundredth for each process beyond the one that serves it.
 */
export function createLimitRate({ allowanceStore, allowance, clock }: LimitRateDeps) {
  const leases = new LRUCache<string, Lease>({ max: LEASED_KEYS });
  const batch = Math.max(1, Math.floor(allowance.count * LEASED_SHARE));

  return async function limitRate(apiKeyId: string): Promise<RateStanding> {
    const lease = leaseOf(apiKeyId);
    return spend(lease) ?? (await renewAndSpend(apiKeyId, lease));
  };

  function leaseOf(apiKeyId: string): Lease {
    const known = leases.get(apiKeyId);
    if (known) return known;
    const lease: Lease = { left: 0, untaken: 0, endsAt: 0, waiting: 0, renewal: undefined };
    leases.set(apiKeyId, lease);
    return lease;
  }

  /** In one step with looking: requests that wake up together must see what the ones before them have spent. */
  function spend(lease: Lease): RateStanding | undefined {
    const resetsInMs = lease.endsAt - clock();
    const isOpen = lease.left === 0 && lease.untaken > 0;
    if (resetsInMs <= 0 || isOpen) return undefined;
    const isWithin = lease.left > 0;
    if (isWithin) lease.left -= 1;
    return { isWithin, remaining: lease.left + lease.untaken, resetsInMs };
  }

  /** One command takes what all need who wait. */
  async function renewAndSpend(apiKeyId: string, lease: Lease): Promise<RateStanding> {
    lease.waiting += 1;
    try {
      for (;;) {
        lease.renewal ??= take(apiKeyId, lease);
        await lease.renewal;
        const standing = spend(lease);
        if (standing) return standing;
      }
    } finally {
      lease.waiting -= 1;
    }
  }

  async function take(apiKeyId: string, lease: Lease): Promise<void> {
    const points = Math.max(batch, lease.waiting);
    try {
      const { taken, resetsInMs } = await allowanceStore.take(apiKeyId, points);
      const excess = Math.max(0, taken - allowance.count);
      lease.left = Math.max(0, points - excess);
      lease.untaken = Math.max(0, allowance.count - taken);
      lease.endsAt = clock() + resetsInMs;
    } finally {
      lease.renewal = undefined;
    }
  }
}

export type LimitRate = ReturnType<typeof createLimitRate>;
