import { setTimeout as wait } from 'node:timers/promises';
import { endpoints } from '../endpoints';
import { during } from '../kinds/fault-kind';
import { historyObstacle } from '../kinds/history-faults';
import type { InjectedFault } from '../ledger';
import { Progress } from '../progress';
import { powerCutObstacle, type SyncPolicy, startPowerCutRedis } from '../redis/power-cut-redis';
import { runService } from '../run-service';
import { DURABLE, type Scenario } from './scenario';

const RATES = { bulk: 10, volume: 60, sparse: 5, sequential: 4 };
const PATIENCE = { stuckAfterMs: 240_000, silentForMs: 30_000 };
const CUTS = 6;
const BETWEEN_MS = { lowest: 2_500, highest: 5_000 } as const;
// A request that Redis had on record, and the disk had not, is made again: from so long before the cut on.
const UNSYNCED_FOR_MS = 3_000;

/** The machine of Redis loses its power: what was not on disk is gone. */
export const powerCuts: readonly Scenario[] = [
  powerCut('everysec', 'appendfsync everysec: what was acknowledged since the last sync is gone'),
  powerCut('always', undefined),
  powerCut('everysec', 'appendfsync everysec: what was written since the last sync is gone', true),
];

function powerCut(policy: SyncPolicy, redisMayLose: string | undefined, isDurable = false): Scenario {
  const name = `power-cut-${policy}${isDurable ? '-durable' : ''}`;
  return {
    name,
    what: `Redis ends, and its file keeps only what was synced to disk (appendfsync ${policy})${isDurable ? DURABLE : ''}`,
    usualCount: 1,
    obstacle: async () => (await powerCutObstacle()) ?? (isDurable ? historyObstacle() : undefined),
    run: async (setting) => {
      const redis = await startPowerCutRedis(policy);
      return await runService({
        ...setting,
        fault: name,
        isDurable,
        specs: endpoints,
        rates: RATES,
        patience: PATIENCE,
        progress: new Progress(name),
        startRedis: async () => redis,
        ...(redisMayLose === undefined ? {} : { redisMayLose }),
        async act({ publisher }) {
          publisher.start();
          const strikes: InjectedFault[] = [];
          for (let cut = 0; cut < CUTS; cut += 1) {
            await wait(setting.random.between(BETWEEN_MS.lowest, BETWEEN_MS.highest));
            const strike = await during('Redis', async () => void (await redis.cutPower()));
            const startedAt = strike.startedAt - (policy === 'everysec' ? UNSYNCED_FOR_MS : 0);
            strikes.push({ kind: name, mayRepeat: true, ...strike, startedAt });
          }
          await wait(BETWEEN_MS.lowest);
          return strikes;
        },
      });
    },
  };
}
