import type { AccountId } from '../../domain/account';
import type { PgDatabase } from './pg-database';

/** The newest times of what an account has in the history. Milliseconds since the Unix epoch. */
export interface AccountReach {
  readonly accountId: AccountId;
  readonly acceptedAt: number;
  /** The end of the minute of the newest attempt; 0: there was none. */
  readonly attemptAt: number;
}

const MINUTE_MS = 60_000;

// The bytes of each day tell which one to look at.
const READ_REACHES = `
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
export async function readReaches(database: PgDatabase): Promise<readonly AccountReach[]> {
  const { rows } = await database.connected((client) => client.query<ReachRow>(READ_REACHES));
  return rows.map(({ account_id: accountId, accepted_at: acceptedAt, attempt_start: start }) => ({
    accountId,
    acceptedAt: acceptedAt.getTime(),
    attemptAt: start === null ? 0 : start.getTime() + MINUTE_MS - 1,
  }));
}

interface ReachRow {
  readonly account_id: AccountId;
  readonly accepted_at: Date;
  readonly attempt_start: Date | null;
}
