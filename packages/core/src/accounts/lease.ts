import type { Allowance } from '../kernel/allowance';
import type { Usage } from './redis-allowance-store';

// Of the whole allowance: what a process may have taken at the end of a window and not spent.
const LEASED_SHARE = 0.01;

/** What a process has taken from a window that all share, and may spend without asking. */
export class Lease {
  #left = 0;
  /** What nobody had taken when this process asked last. */
  #untaken = 0;
  #endsAt = 0;
  /** What those want who wait for more. */
  #wanted = 0;
  readonly #batch: number;
  /** Under way: it settles when more was taken. */
  renewal: Promise<void> | undefined;

  constructor(readonly allowance: Allowance) {
    this.#batch = Math.max(1, Math.floor(allowance.count * LEASED_SHARE));
  }

  /** What nobody has spent, as far as this process knows. */
  get remaining(): number {
    return this.#left + this.#untaken;
  }

  get endsAt(): number {
    return this.#endsAt;
  }

  /** Whether so much can be spent: `unknown` if only Redis can tell. */
  has(points: number, now: number): 'enough' | 'unknown' | 'too little' {
    if (now >= this.#endsAt) return 'unknown';
    if (this.#left >= this.#costOf(points)) return 'enough';
    return this.#untaken > 0 ? 'unknown' : 'too little';
  }

  spend(points: number): void {
    this.#left -= this.#costOf(points);
  }

  /** Somebody waits for so much, or not any more. */
  want(points: number): void {
    this.#wanted += this.#costOf(points);
  }

  unwant(points: number): void {
    this.#wanted -= this.#costOf(points);
  }

  /** How much to take: all that is wanted, so that one command is enough, and something in advance. */
  get points(): number {
    return Math.max(this.#batch, this.#wanted - this.#left);
  }

  /** @param points what was taken. */
  add(points: number, { taken, resetsInMs }: Usage, now: number): void {
    const { count, windowMs } = this.allowance;
    const endsAt = now + resetsInMs;
    // What is left of a window before is not good for the next.
    if (now >= this.#endsAt || endsAt - this.#endsAt > windowMs / 2) this.#left = 0;
    this.#left += Math.max(0, points - Math.max(0, taken - count));
    this.#untaken = Math.max(0, count - taken);
    this.#endsAt = endsAt;
  }

  // What is more than the whole would never be served.
  #costOf(points: number): number {
    return Math.min(points, this.allowance.count);
  }
}
