import { DELIVERIES_QUEUE } from '../domain/queues';
import type { Emit } from '../domain/signal';
import type { Clock } from '../platform/clock';
import { DueTimer } from '../platform/due-timer';
import type { Atomic } from '../platform/redis-atomic';
import { putBackDue } from './bullmq-due-deliveries.script';
import { createJobKeys } from './bullmq-layout';

export interface DueDeliveriesOptions {
  /** Of the shard. */
  readonly prefix: string;
  readonly atomic: Atomic;
  readonly clock: Clock;
  readonly emit: Emit;
}

/**
 * Delivery jobs are delayed by this much longer than they need. BullMQ would put them back with their
 * original priority: behind today's jobs, or before them, thousands at once when a receiver has failed as
 * many. So this file puts them back first, with their position in the present fair order, and BullMQ is the
 * fallback.
 */
export const DUE_GRACE_MS = 250;

const AT_ONCE = 200;

/**
 * Puts deliveries back onto their queue when their next attempt is due, each at its position in the fair
 * order.
 */
export class DueDeliveries {
  readonly #base: string;
  readonly #timer: DueTimer;

  constructor(private readonly options: DueDeliveriesOptions) {
    this.#base = createJobKeys(options.prefix, DELIVERIES_QUEUE).base;
    const { atomic } = options;
    this.#timer = new DueTimer({ run: (patienceMs) => this.#run(patienceMs), flush: () => atomic([]) });
  }

  start(): void {
    this.#timer.start();
  }

  async stop(): Promise<void> {
    await this.#timer.stop();
  }

  /** Expect a delivery to be due at a time. Deliveries of other processes are found within about a second. */
  expect(dueAt: number): void {
    this.#timer.expectIn(dueAt - this.options.clock());
  }

  /**
   * Put back all that are due. Gives when the next one is due, if there is one.
   *
   * @param patienceMs how long that may wait to go together with other scripts.
   */
  async runOnce(patienceMs = 0): Promise<number | undefined> {
    for (;;) {
      const putBack = putBackDue({
        base: this.#base,
        dueUntil: this.options.clock() + DUE_GRACE_MS,
        most: AT_ONCE,
      });
      const [{ count, nextDueAt }] = await this.options.atomic([putBack], patienceMs);
      if (count < AT_ONCE) return nextDueAt === undefined ? undefined : nextDueAt - DUE_GRACE_MS;
    }
  }

  async #run(patienceMs: number): Promise<number | undefined> {
    const { clock, emit } = this.options;
    try {
      const next = await this.runOnce(patienceMs);
      return next === undefined ? undefined : next - clock();
    } catch (error) {
      emit({ name: 'task.failed', task: 'queue due deliveries', error });
      return undefined;
    }
  }
}
