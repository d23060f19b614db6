import type { Principal } from '../domain/account';
import { createLru } from '../platform/caches';
import type { Clock } from '../platform/clock';
import type { Allowance } from '../platform/duration';
import type { AllowanceStore, Usage, Window } from './redis-allowance-store';

export interface RateLimitParts {
  readonly allowanceStore: AllowanceStore;
  /** Of one API key or portal session; `undefined` for no limit. */
  readonly ofKey: Allowance | undefined;
  /** Of the whole account. */
  readonly ofAccount: Allowance | undefined;
  readonly clock: Clock;
}

/** The sender of a request, by its own account, whichever account it acts for. */
export type Spender = Pick<Principal, 'id' | 'accountId'>;

/** The standing of a key after its latest request, by the limit that leaves it less. */
export interface RateStanding {
  readonly limitOf: 'key' | 'account';
  readonly allowance: Allowance;
  readonly isWithin: boolean;
  /** The rest of this window's allowance, as far as this process knows. */
  readonly remaining: number;
  readonly resetsInMs: number;
  /** Names the windows that were spent from: see `giveBack`. */
  readonly windows: number;
}

interface Limit {
  readonly of: RateStanding['limitOf'];
  readonly window: Omit<Window, 'points'>;
  readonly lease: Lease;
}

const LEASED_WINDOWS = 20_000;

/**
 * Counts requests and events of an API key, and of its account, across all processes. A process takes a
 * hundredth of an allowance at a time and spends it in memory, so most requests need no command. Nobody ever
 * gets more than the allowance. They may get less, by up to a hundredth for each process beyond the one that
 * serves them. A request that costs more than a whole allowance, such as a long batch, takes all of it.
 */
export class RateLimit {
  readonly #leases = createLru<string, Lease>(LEASED_WINDOWS);

  constructor(private readonly parts: RateLimitParts) {}

  /** Spend points and give the spender's standing; `undefined` without any limit. */
  async spend(spender: Spender, points = 1): Promise<RateStanding | undefined> {
    const limits = this.#limitsOf(spender);
    return limits.length === 0
      ? undefined
      : (this.#spendLeased(limits, points) ?? (await this.#renewAndSpend(spender, limits, points)));
  }

  /**
   * Give back the points of a request whose key turned out to be invalid.
   *
   * @param windows of the standing then. Of other windows nothing was spent, so nothing goes back to them.
   */
  giveBack(spender: Spender, points: number, windows: number): void {
    const limits = this.#limitsOf(spender);
    if (windowsOf(limits) !== windows) return;
    for (const { lease } of limits) lease.spend(-points);
  }

  #limitsOf({ id, accountId }: Spender): readonly Limit[] {
    const { ofKey, ofAccount } = this.parts;
    const limits: Limit[] = [];
    if (ofKey) limits.push(this.#limitOf('key', id, `${accountId}/${id}`, ofKey));
    if (ofAccount) limits.push(this.#limitOf('account', undefined, accountId, ofAccount));
    return limits;
  }

  #limitOf(of: Limit['of'], apiKeyId: string | undefined, name: string, allowance: Allowance): Limit {
    let lease = this.#leases.get(name);
    if (!lease) {
      lease = new Lease(allowance);
      this.#leases.set(name, lease);
    }
    return { of, window: { apiKeyId, windowMs: allowance.windowMs }, lease };
  }

  /** Check and spend in one step: requests that wake up together must see what earlier ones have spent. */
  #spendLeased(limits: readonly Limit[], points: number): RateStanding | undefined {
    const now = this.parts.clock();
    const exhausted = limits.find(({ lease }) => lease.has(points, now) === 'too little');
    if (exhausted) return standingOf(exhausted, limits, false, now);
    if (limits.some(({ lease }) => lease.has(points, now) === 'unknown')) return undefined;
    for (const { lease } of limits) lease.spend(points);
    return standingOf(tightestOf(limits), limits, true, now);
  }

  /** One command takes what all waiting requests need, from both windows. */
  async #renewAndSpend(
    { accountId }: Spender,
    limits: readonly Limit[],
    points: number,
  ): Promise<RateStanding> {
    for (const { lease } of limits) lease.want(points);
    try {
      for (;;) {
        const lacking = limits.filter(({ lease }) => lease.has(points, this.parts.clock()) === 'unknown');
        const unasked = lacking.filter(({ lease }) => lease.renewal === undefined);
        if (unasked.length > 0) this.#renew(accountId, unasked);
        await Promise.all(lacking.flatMap(({ lease }) => lease.renewal ?? []));
        const standing = this.#spendLeased(limits, points);
        if (standing) return standing;
      }
    } finally {
      for (const { lease } of limits) lease.unwant(points);
    }
  }

  #renew(accountId: Spender['accountId'], limits: readonly Limit[]): void {
    const renewal = this.#take(accountId, limits).finally(() => {
      for (const { lease } of limits) lease.renewal = undefined;
    });
    for (const { lease } of limits) lease.renewal = renewal;
  }

  async #take(accountId: Spender['accountId'], limits: readonly Limit[]): Promise<void> {
    const windows = limits.map(({ window, lease }) => ({ ...window, points: lease.points }));
    const usages = await this.parts.allowanceStore.take(accountId, windows);
    const now = this.parts.clock();
    for (const [index, usage] of usages.entries()) {
      limits[index]?.lease.add(windows[index]?.points ?? 0, usage, now);
    }
  }
}

function tightestOf(limits: readonly Limit[]): Limit {
  return limits.reduce((one, other) => (other.lease.remaining < one.lease.remaining ? other : one));
}

function standingOf(
  { of, lease }: Limit,
  limits: readonly Limit[],
  isWithin: boolean,
  now: number,
): RateStanding {
  const { allowance, remaining, endsAt } = lease;
  const windows = windowsOf(limits);
  return { limitOf: of, allowance, isWithin, remaining, resetsInMs: endsAt - now, windows };
}

// Each counts up only, so the sum is another one as soon as one of them is.
function windowsOf(limits: readonly Limit[]): number {
  return limits.reduce((sum, { lease }) => sum + lease.window, 0);
}

// Share of the whole allowance: the most that a process may have taken and not spent at the end of a window.
const LEASED_SHARE = 0.01;

/** A part of a shared window that a process has taken and may spend without a command. */
class Lease {
  #left = 0;
  /** The points that no process had taken at the last command. */
  #untaken = 0;
  #endsAt = 0;
  /** How many windows there were before this one. */
  #window = 0;
  /** The sum that waiting requests need. */
  #wanted = 0;
  readonly #batch: number;
  /** Under way. It settles when more was taken. */
  renewal: Promise<void> | undefined;

  constructor(readonly allowance: Allowance) {
    this.#batch = Math.max(1, Math.floor(allowance.count * LEASED_SHARE));
  }

  /** The unspent points, as far as this process knows. */
  get remaining(): number {
    return this.#left + this.#untaken;
  }

  get endsAt(): number {
    return this.#endsAt;
  }

  get window(): number {
    return this.#window;
  }

  /** Whether this much can be spent: `unknown` if only Redis can tell. */
  has(points: number, now: number): 'enough' | 'unknown' | 'too little' {
    if (now >= this.#endsAt) return 'unknown';
    if (this.#left >= this.#costOf(points)) return 'enough';
    return this.#untaken > 0 ? 'unknown' : 'too little';
  }

  /** @param points below 0: they are given back. */
  spend(points: number): void {
    this.#left -= this.#costOf(points);
  }

  /** A request begins to wait for this much, or stops. */
  want(points: number): void {
    this.#wanted += this.#costOf(points);
  }

  unwant(points: number): void {
    this.#wanted -= this.#costOf(points);
  }

  /** How much to take: all that is needed, so that one command is enough, and something in advance. */
  get points(): number {
    return Math.max(this.#batch, this.#wanted - this.#left);
  }

  /** @param points the amount that was taken. */
  add(points: number, { taken, resetsInMs }: Usage, now: number): void {
    const { count, windowMs } = this.allowance;
    const endsAt = now + resetsInMs;
    // The rest of an earlier window does not count in the next one.
    if (now >= this.#endsAt || endsAt - this.#endsAt > windowMs / 2) {
      this.#left = 0;
      this.#window += 1;
    }
    this.#left += Math.max(0, points - Math.max(0, taken - count));
    this.#untaken = Math.max(0, count - taken);
    this.#endsAt = endsAt;
  }

  // A cost beyond the whole allowance would never be served.
  #costOf(points: number): number {
    return Math.min(points, this.allowance.count);
  }
}
