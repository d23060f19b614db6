import type { SignalListener } from '../model/signal';

/** How many attempts this process makes: counts them from one look to the next. */
export class AttemptRate {
  #attempts = 0;
  #since: number;

  /** @param clock milliseconds, of a clock that never jumps. */
  constructor(private readonly clock: () => number) {
    this.#since = clock();
  }

  readonly listen: SignalListener = (signal) => {
    if (signal.name === 'delivery.attempted') this.#attempts += 1;
  };

  /** Attempts each second since it was asked last. */
  take(): number {
    const now = this.clock();
    const perSecond = (this.#attempts * 1_000) / Math.max(now - this.#since, 1);
    this.#attempts = 0;
    this.#since = now;
    return perSecond;
  }
}
