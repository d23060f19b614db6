import { beats } from './timers';

export interface DueTimerOptions {
  /**
   * Does what is due, and must not reject. Gives in how many milliseconds more is due, as far as it knows.
   *
   * @param patienceMs how long that may wait to go along with other scripts.
   */
  readonly run: (patienceMs: number) => Promise<number | undefined>;
  /** Sends what waits like this at once. */
  readonly flush: () => Promise<unknown>;
}

// A run that nobody has asked for goes to Redis along with the worker's other scripts, within this time.
const PATIENCE_MS = 1_000;
// It begins within a second, and has its answer within the patience: what is due before that has a timer of its own.
const SOON_MS = 1_000 + PATIENCE_MS;
// What is due together comes within a moment: one run serves it all.
const GATHERED_MS = 10;

/** Looks for what is due: at the time of the next one, and about every second for those of other processes. */
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
