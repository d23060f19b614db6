import { WakeUpTimer } from './timers';

const SWEEP_EVERY_S = 1;
// A sweep goes to Redis together with other scripts, if there are some within this time.
const PATIENCE_MS = 1_000;

/**
 * Work that is due at some time. The due and the running work is in Redis. Any process may claim it. If a process dies,
 * another one does its claimed work.
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

  /** Claim due work, at most this much. @param patienceMs how long it may wait to be sent together with other scripts. */
  protected abstract claim(most: number, patienceMs: number): Promise<readonly Claimed[]>;

  protected abstract work(claimed: Claimed): Promise<void>;

  /** A claim or a piece of work has failed. It is due again when the claim ends. */
  protected abstract onFailure(error: unknown): void;

  /** Aborted when the process stops. */
  protected get stopSignal(): AbortSignal {
    return this.#stopping.signal;
  }

  start(): void {
    this.#timer.wakeUpInAbout(SWEEP_EVERY_S);
  }

  /** Running work is interrupted, and another process does it again. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#timer.stop();
    await Promise.all(this.#underWay);
  }

  /** Do all due work, and wait until it has ended. */
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
