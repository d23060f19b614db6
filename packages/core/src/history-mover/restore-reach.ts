import type { OpenAccounts } from '../accounts/resolve-account';
import type { PgDatabase } from '../database/pg-database';
import { type AccountReach, readReaches } from '../database/pg-reach';
import type { Emit } from '../domain/signal';
import type { MovedStore } from '../events/redis-moved';
import { chunksOf } from '../platform/batches';
import type { RedisClient } from '../platform/redis-connect';
import { settledWithin, WakeUpTimer } from '../platform/timers';

export interface RestoreReachContext {
  readonly historyDatabase: PgDatabase;
  readonly movedStore: Pick<MovedStore, 'raiseReach'>;
  readonly openAccounts: Pick<OpenAccounts, 'find'>;
  /** What has connected again may be a Redis that does not know what has moved last. */
  readonly redis: Pick<RedisClient, 'on' | 'off'>;
  readonly emit: Emit;
}

const ACCOUNTS_AT_ONCE = 100;
const TRY_AGAIN_MS = 5_000;
const EVERY_MS = 3_600_000;
const STOP_PATIENCE_MS = 1_000;

/**
 * Tells Redis how far what has moved reaches, by what is in the history. After a fail-over, or from a backup, Redis knows of
 * an earlier time: readers would take what it has for all there is.
 */
export class ReachRestore {
  readonly #timer = new WakeUpTimer(() => this.#restore());
  readonly #onReady = () => this.#timer.wakeUpIn(0);

  constructor(private readonly context: RestoreReachContext) {}

  start(): void {
    this.context.redis.on('ready', this.#onReady);
    this.#timer.wakeUpIn(0);
  }

  async stop(): Promise<void> {
    this.context.redis.off('ready', this.#onReady);
    await settledWithin(STOP_PATIENCE_MS, this.#timer.stop());
  }

  async runOnce(): Promise<void> {
    const { historyDatabase } = this.context;
    for (const some of chunksOf(await readReaches(historyDatabase), ACCOUNTS_AT_ONCE)) {
      await Promise.all(some.map((reach) => this.#raise(reach)));
    }
  }

  async #raise({ accountId, ...reach }: AccountReach): Promise<void> {
    const { movedStore, openAccounts } = this.context;
    // Nothing comes back of an account that is erased.
    if (await openAccounts.find(accountId)) await movedStore.raiseReach(accountId, reach);
  }

  async #restore(): Promise<void> {
    try {
      await this.runOnce();
      this.#timer.wakeUpIn(EVERY_MS);
    } catch (error) {
      this.context.emit({ name: 'task.failed', task: 'restore the bounds of moved records', error });
      this.#timer.wakeUpIn(TRY_AGAIN_MS);
    }
  }
}
