import { chunksOf } from '../../platform/batches';
import { settledWithin, WakeUpTimer } from '../../platform/timers';
import { type AccountReach, readReaches } from '../database/pg-reach';
import type { MoverParts } from './mover-parts';

const ACCOUNTS_AT_ONCE = 100;
const TRY_AGAIN_MS = 5_000;
const EVERY_MS = 3_600_000;
const STOP_PATIENCE_MS = 1_000;

/**
 * Restores in Redis the newest times of moved deliveries, from the history. After a fail-over, or from a backup, Redis has
 * older times, and readers would miss records that only the history has.
 */
export class ReachRestore {
  readonly #timer = new WakeUpTimer(() => this.#restore());
  readonly #onReady = () => this.#timer.wakeUpIn(0);

  constructor(private readonly parts: MoverParts) {}

  start(): void {
    this.parts.redis.on('ready', this.#onReady);
    this.#timer.wakeUpIn(0);
  }

  async stop(): Promise<void> {
    this.parts.redis.off('ready', this.#onReady);
    await settledWithin(STOP_PATIENCE_MS, this.#timer.stop());
  }

  async runOnce(): Promise<void> {
    const { historyDatabase } = this.parts;
    for (const some of chunksOf(await readReaches(historyDatabase), ACCOUNTS_AT_ONCE)) {
      await Promise.all(some.map((reach) => this.#raise(reach)));
    }
  }

  async #raise({ accountId, ...reach }: AccountReach): Promise<void> {
    const { movedStore, openAccounts, atomic } = this.parts;
    // No record of an erased account may come back.
    if (await openAccounts.find(accountId)) await atomic([movedStore.raiseReach(accountId, reach)]);
  }

  async #restore(): Promise<void> {
    try {
      await this.runOnce();
      this.#timer.wakeUpIn(EVERY_MS);
    } catch (error) {
      this.parts.emit({ name: 'task.failed', task: 'restore the bounds of moved records', error });
      this.#timer.wakeUpIn(TRY_AGAIN_MS);
    }
  }
}
