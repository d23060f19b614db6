import type { Change } from './change';

/** So many changes of an account may one process tell in a second. */
export const MOST_A_SECOND = 500;
const SECOND_MS = 1_000;

const RESET: Change = { kind: 'reset' };

/**
 * The changes of one account that are still to be written. It holds a bounded number: what is too much is left out, and a
 * `reset` after it says so, once a second at most.
 */
export class Backlog {
  #changes: Change[] = [];
  #room = MOST_A_SECOND;
  #refillAt = 0;
  #isBehind = false;

  /** @param now of a clock that never jumps. Milliseconds. */
  add(changes: readonly Change[], now: number): void {
    this.#refill(now);
    if (this.#isBehind) return;
    if (changes.length > Math.min(this.#room, MOST_A_SECOND - this.#changes.length)) return this.overflow();
    this.#room -= changes.length;
    this.#changes.push(...changes);
  }

  /** It was too much for this second, of which nothing more is told. */
  overflow(): void {
    this.#room = 0;
    this.#isBehind = true;
  }

  /** Something could not be written. */
  miss(): void {
    this.#isBehind = true;
  }

  /** What is to be written now. */
  take(now: number): readonly Change[] {
    this.#refill(now);
    const taken = this.#changes;
    this.#changes = [];
    if (!this.#isBehind || this.#room === 0) return taken;
    // Of what came before, whatever it was.
    this.#isBehind = false;
    this.#room -= 1;
    return [...taken, RESET];
  }

  get isEmpty(): boolean {
    return this.#changes.length === 0 && !this.#isBehind;
  }

  #refill(now: number): void {
    if (now < this.#refillAt) return;
    this.#room = MOST_A_SECOND;
    this.#refillAt = now + SECOND_MS;
  }
}
