import type { AccountId } from '../../domain/account';
import { chunksOf } from '../../platform/batches';
import { settledWithin, WakeUpTimer } from '../../platform/timers';
import type { PgDatabase } from '../database/pg-database';
import type { MoverParts } from './mover-parts';

const ACCOUNTS_AT_ONCE = 100;
const TRY_AGAIN_MS = 5_000;
const EVERY_MS = 3_600_000;
const STOP_PATIENCE_MS = 1_000;

/**
 * Restores in Redis the newest times of moved deliveries, from the history. After a fail-over, or from a backup, Redis has
 * older times, and readers would miss records that only the history has.
 */
export class MovedUntilRestore {
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
    for (const some of chunksOf(await readMovedUntil(historyDatabase), ACCOUNTS_AT_ONCE)) {
      await Promise.all(some.map((movedUntil) => this.#raise(movedUntil)));
    }
  }

  async #raise({ accountId, ...movedUntil }: AccountMovedUntil): Promise<void> {
    const { movedStore, openAccounts, atomic } = this.parts;
    // No record of an erased account may come back.
    if (await openAccounts.find(accountId)) await atomic([movedStore.raiseMovedUntil(accountId, movedUntil)]);
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

/** The newest times of what an account has in the history. Milliseconds since the Unix epoch. */
interface AccountMovedUntil {
  readonly accountId: AccountId;
  readonly acceptedAt: number;
  /** The end of the minute of the newest attempt; 0: there was none. */
  readonly attemptAt: number;
}

const MINUTE_MS = 60_000;

// The bytes of each day tell which one to look at.
const READ_MOVED_UNTIL = `
  SELECT u.account_id, max(newest.accepted_at) AS accepted_at, max(attempt.start) AS attempt_start
  FROM (SELECT account_id, keep_days, max(day) AS day FROM webhook_usage GROUP BY account_id, keep_days) AS u
  CROSS JOIN LATERAL (
    SELECT e.accepted_at FROM webhook_events AS e
    WHERE e.account_id = u.account_id AND e.keep_days = u.keep_days
      AND e.accepted_at >= u.day::timestamp AT TIME ZONE 'UTC'
      AND e.accepted_at < (u.day + 1)::timestamp AT TIME ZONE 'UTC'
    ORDER BY e.accepted_at DESC LIMIT 1
  ) AS newest
  LEFT JOIN LATERAL (
    SELECT max(r.start) AS start FROM webhook_rollups AS r
    WHERE r.account_id = u.account_id AND r.grain = '1m' AND r.dimension = 'outcome' AND r.keep_days = u.keep_days
      AND r.start >= u.day::timestamp AT TIME ZONE 'UTC'
  ) AS attempt ON true
  GROUP BY u.account_id`;

/** Of all accounts that have something there. */
async function readMovedUntil(database: PgDatabase): Promise<readonly AccountMovedUntil[]> {
  const rows = await database.query<MovedUntilRow>(READ_MOVED_UNTIL);
  return rows.map(({ account_id: accountId, accepted_at: acceptedAt, attempt_start: start }) => ({
    accountId,
    acceptedAt: acceptedAt.getTime(),
    attemptAt: start === null ? 0 : start.getTime() + MINUTE_MS - 1,
  }));
}

interface MovedUntilRow {
  readonly account_id: AccountId;
  readonly accepted_at: Date;
  readonly attempt_start: Date | null;
}
