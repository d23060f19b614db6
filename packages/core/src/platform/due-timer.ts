import { beats } from './timers';

export interface DueTimerOptions {
  /**
   * Does the due work. Must not reject. Gives the milliseconds until the next work is due, if that is known.
   *
   * @param patienceMs how long its commands may wait to be sent together with other scripts.
   */
  readonly run: (patienceMs: number) => Promise<number | undefined>;
  /** Sends the waiting commands at once. */
  readonly flush: () => Promise<unknown>;
}

// A periodic run may wait this long, to be sent together with the worker's other scripts.
const PATIENCE_MS = 1_000;
// A periodic run begins within a second, and has its answer within the patience. Earlier work has a timer of its own.
const SOON_MS = 1_000 + PATIENCE_MS;
// Work that is due at the same time arrives within a moment. One run does all of it.
const GATHERED_MS = 10;

/** Searches for due work: at the time of the next known one, and about every second for work of other processes. */
export class DueTimer {
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #runs: Promise<unknown> = Promise.resolve();
  #isStopped = true;
  readonly #onBeat = () => this.#run(PATIENCE_MS);

  constructor(private readonly options: DueTimerOptions) {}

  start(): void {
    this.#isStopped = false;
    this.#wakeUpIn(0);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    beats.cancel(this.#onBeat);
    await this.options.flush();
    await this.#runs;
  }

  /** Expect something to be due. */
  expectIn(delayMs: number): void {
    if (!this.#isStopped && delayMs < SOON_MS) this.#wakeUpIn(delayMs);
  }

  #wakeUpIn(delayMs: number): void {
    const at = performance.now() + Math.max(delayMs, GATHERED_MS);
    if (this.#timer !== undefined && this.#timerAt <= at) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#run(0);
      },
      Math.max(delayMs, GATHERED_MS),
    );
  }

  #run(patienceMs: number): void {
    this.#runs = Promise.all([this.#runs, this.#runNow(patienceMs)]);
  }

  async #runNow(patienceMs: number): Promise<void> {
    const nextMs = await this.options.run(patienceMs);
    if (this.#isStopped) return;
    if (nextMs !== undefined && nextMs < SOON_MS) this.#wakeUpIn(nextMs);
    beats.callIn(1, this.#onBeat);
  }
}
