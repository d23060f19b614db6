import { setTimeout as wait } from 'node:timers/promises';
import { toFindings } from '../checks/finding';
import type { FaultScene } from '../fault-scene';
import { REFUSING_CONSTRAINT } from '../history/check-history';
import type { HistoryDatabase } from '../history/history-database';
import { during, type Strike } from './fault-kind';

// One event in ten of those with an id of ours, and fewer of those with one that the API makes.
const TAKEN = `event_id NOT LIKE '%7'`;
const TRIES = 40;
const TRY_AGAIN_AFTER_MS = 250;
// All others are to go on: so many at least, while some are refused.
const GOES_ON_WITHIN_MS = 20_000;

/** Others move meanwhile, and what was refused is told of with its reason. */
export async function refuseRows({ service: { history }, random, checkLater }: FaultScene): Promise<Strike> {
  let hasGoneOn = false;
  const strike = await during('PostgreSQL', async () => {
    await alter(history, `ADD CONSTRAINT ${REFUSING_CONSTRAINT} CHECK (${TAKEN}) NOT VALID`);
    const before = await countDeliveries(history);
    const until = Date.now() + GOES_ON_WITHIN_MS;
    await wait(random.between(3_000, 6_000));
    do {
      hasGoneOn = (await countDeliveries(history)) > before;
      if (!hasGoneOn) await wait(TRY_AGAIN_AFTER_MS);
    } while (!hasGoneOn && Date.now() < until);
    await alter(history, `DROP CONSTRAINT ${REFUSING_CONSTRAINT}`);
  });
  const failures = hasGoneOn ? [] : [`nothing moved within ${GOES_ON_WITHIN_MS / 1_000} s`];
  checkLater(async () => toFindings('what PostgreSQL refused held up all others', failures));
  return strike;
}

// It waits for a lock on all days, and movers come in between.
async function alter(history: HistoryDatabase, change: string): Promise<void> {
  for (let left = TRIES; ; left -= 1) {
    try {
      await history.query(`SET lock_timeout = '1s'; ALTER TABLE webhook_deliveries ${change}`);
      return;
    } catch (error) {
      if (left === 0) throw error;
      await wait(TRY_AGAIN_AFTER_MS);
    }
  }
}

async function countDeliveries(history: HistoryDatabase): Promise<number> {
  const [row] = await history.query<{ count: string }>('SELECT count(*) FROM webhook_deliveries');
  return Number(row?.count);
}

const LOSSES = [
  {
    lose: 'REVOKE INSERT ON webhook_deliveries FROM hookferry',
    getBack: 'GRANT INSERT ON webhook_deliveries TO hookferry',
  },
  {
    lose: 'REVOKE SELECT, UPDATE ON webhook_usage FROM hookferry',
    getBack: 'GRANT SELECT, UPDATE ON webhook_usage TO hookferry',
  },
  {
    lose: 'REVOKE USAGE ON SCHEMA public FROM hookferry, PUBLIC',
    getBack: 'GRANT USAGE ON SCHEMA public TO hookferry, PUBLIC',
  },
  {
    lose: `ALTER ROLE hookferry NOLOGIN;
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'hookferry'`,
    getBack: 'ALTER ROLE hookferry LOGIN',
  },
] as const;

/** What waits meanwhile moves when it is back: the end of the run tells. */
export async function loseRight({ service: { history }, random }: FaultScene): Promise<Strike> {
  const { lose, getBack } = random.pick(LOSSES);
  return await during('PostgreSQL', async () => {
    await history.query(lose);
    await wait(random.between(2_000, 6_000));
    await history.query(getBack);
  });
}
