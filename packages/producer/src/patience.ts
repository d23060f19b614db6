import { setTimeout as wait } from 'node:timers/promises';

// In the next turn of the event loop what has arrived is read.
const A_TURN_MS = 10;

/**
 * The time for some work of several waits. While this process stands still, on a busy machine or in a long turn of its own, it
 * reads no reply. Time that is over late shows that: it is given back, once, no more than there was, and at least a turn.
 */
export class Patience {
  #until: number;
  #isGivenBack = false;

  constructor(private readonly ms: number) {
    this.#until = performance.now() + ms;
  }

  /** Milliseconds, 0 when it is over. */
  get leftMs(): number {
    const now = performance.now();
    const lateMs = now - this.#until;
    if (lateMs >= 0 && !this.#isGivenBack) {
      this.#isGivenBack = true;
      this.#until = now + Math.min(Math.max(lateMs, A_TURN_MS), this.ms);
    }
    return Math.max(this.#until - now, 0);
  }

  /** The result of the work. @throws Error if the time is over before it. The result is then ignored. */
  async of<T>(work: Promise<T>): Promise<T> {
    const stop = new AbortController();
    const silence = this.#untilOver(stop.signal);
    // Nobody waits for the one that ends second.
    silence.catch(() => {});
    work.catch(() => {});
    try {
      return await Promise.race([work, silence]);
    } finally {
      stop.abort();
    }
  }

  async #untilOver(signal: AbortSignal): Promise<never> {
    for (let leftMs = this.leftMs; leftMs > 0; leftMs = this.leftMs)
      await wait(leftMs, undefined, { signal });
    throw new Error('No reply came in time.');
  }
}
