import type { Emit } from '../../domain/signal';
import type { ClaimedTry, VerificationStore } from '../../endpoints/verification/redis-verification-store';
import type { Clock } from '../../platform/clock';
import { WakeUpTimer } from '../../platform/timers';
import { type VerifyEndpointContext, verifyEndpoint } from '../verify-endpoint';

export interface VerifierContext extends VerifyEndpointContext {
  readonly verificationStore: Pick<VerificationStore, 'claimDue' | 'end' | 'takeTry'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

const SWEEP_EVERY_MS = 1_000;
// A sweep goes to Redis along with other scripts, if there are some within this time.
const PATIENCE_MS = 1_000;
/** Tries that one process makes at the same time: they are apart from deliveries, and none is urgent. */
const AT_ONCE = 16;

/**
 * Makes the tries to verify endpoints that are due. Any process may make any: what is due, and what is under way, is in
 * Redis, so that the tries of a process that dies are made by another one.
 */
export class Verifier {
  readonly #stopping = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  readonly #timer = new WakeUpTimer(async () => {
    await this.#sweep(PATIENCE_MS);
    this.start();
  });

  constructor(private readonly context: VerifierContext) {}

  start(): void {
    this.#timer.wakeUpIn(SWEEP_EVERY_MS);
  }

  /** Tries under way are broken off, and made again by another process. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#timer.stop();
    await Promise.all(this.#underWay);
  }

  /** Make all tries that are due, and wait for their end. */
  async runOnce(): Promise<void> {
    await this.#sweep(0);
    await Promise.all(this.#underWay);
  }

  async #sweep(patienceMs: number): Promise<void> {
    const { verificationStore, clock, emit } = this.context;
    const room = AT_ONCE - this.#underWay.size;
    if (room < 1) return;
    try {
      const claimed = await verificationStore.claimDue(clock(), room, patienceMs);
      for (const each of claimed) this.#track(this.#try(each));
    } catch (error) {
      emit({ name: 'task.failed', task: 'verify endpoint', error });
    }
  }

  async #try(claimed: ClaimedTry): Promise<void> {
    const { verificationStore, clock, emit } = this.context;
    try {
      const nextAt = await verifyEndpoint(this.context, claimed, claimed.claimedUntil, this.#stopping.signal);
      await verificationStore.end(claimed, nextAt, clock());
    } catch (error) {
      // It is due again once nobody has it.
      emit({ name: 'task.failed', task: 'verify endpoint', error });
    }
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
  }
}
