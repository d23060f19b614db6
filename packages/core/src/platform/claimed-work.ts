import { WakeUpTimer } from './timers';

const SWEEP_EVERY_S = 1;
// A sweep goes to Redis along with other scripts, if there are some within this time.
const PATIENCE_MS = 1_000;

/**
 * Work that is due at some time. What is due, and what is under way, is in Redis: any process may claim any, and what a
 * process that dies had claimed is done by another one.
 */
export abstract class ClaimedWork<Claimed> {
  readonly #stopping = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  readonly #timer = new WakeUpTimer(async () => {
    await this.#sweep(PATIENCE_MS);
    this.start();
  });

  /** @param atOnce the most that this process does at the same time. */
  constructor(private readonly atOnce: number) {}

  /** Claim what is due, so many at most. @param patienceMs how long it may wait for scripts to go along with. */
  protected abstract claim(most: number, patienceMs: number): Promise<readonly Claimed[]>;

  protected abstract work(claimed: Claimed): Promise<void>;

  /** A claim or a work has failed: it is due again once nobody has it. */
  protected abstract onFailure(error: unknown): void;

  /** Aborted when the process stops. */
  protected get stopSignal(): AbortSignal {
    return this.#stopping.signal;
  }

  start(): void {
    this.#timer.wakeUpInAbout(SWEEP_EVERY_S);
  }

  /** What is under way is broken off, and done again by another process. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#timer.stop();
    await Promise.all(this.#underWay);
  }

  /** Do all that is due, and wait for its end. */
  async runOnce(): Promise<void> {
    await this.#sweep(0);
    await Promise.all(this.#underWay);
  }

  async #sweep(patienceMs: number): Promise<void> {
    const room = this.atOnce - this.#underWay.size;
    if (room < 1) return;
    try {
      for (const each of await this.claim(room, patienceMs)) this.#track(this.work(each));
    } catch (error) {
      this.onFailure(error);
    }
  }

  #track(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => this.onFailure(error))
      .finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
  }
}
