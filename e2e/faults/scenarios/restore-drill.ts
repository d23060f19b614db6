import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { RedisServer } from '../../support/redis-server';
import { until } from '../../support/until';
import { describeRestore } from '../describe-restore';
import { endpoints, UNAVAILABLE } from '../endpoints';
import type { Scene } from '../fault-scene';
import { during } from '../kinds/fault-kind';
import { historyObstacle } from '../kinds/history-faults';
import type { InjectedFault } from '../ledger';
import { Progress } from '../progress';
import { runService } from '../run-service';
import { DURABLE, type Scenario } from './scenario';

const RATES = { bulk: 10, volume: 10, sparse: 8, sequential: 4 };
const PATIENCE = { stuckAfterMs: 240_000, silentForMs: 20_000 };
const STEP_MS = 4_000;

/** Redis is lost with its disk, and started from a backup that is some seconds old. */
export const restoreDrills: readonly Scenario[] = [restoreDrill(false), restoreDrill(true)];

function restoreDrill(isDurable: boolean): Scenario {
  const name = `restore-drill${isDurable ? '-durable' : ''}`;
  return {
    name,
    what: `Redis is lost with all its files and restored from a backup: says what is delivered again, and what is gone${isDurable ? DURABLE : ''}`,
    usualCount: 1,
    obstacle: async () => (isDurable ? historyObstacle() : undefined),
    run: async (setting) => {
      let backupAt = Number.POSITIVE_INFINITY;
      return await runService({
        ...setting,
        fault: name,
        isDurable,
        specs: endpoints,
        rates: RATES,
        patience: PATIENCE,
        progress: new Progress(name),
        redisMayLose: 'what was written after the backup is not in it',
        keep: async (ledger) => {
          process.stderr.write(`${describeRestore(ledger, endpoints, backupAt).join('\n')}\n`);
          await setting.keep(ledger);
        },
        act: async (scene) => {
          const strike = await loseAndRestore(name, scene);
          backupAt = strike.startedAt;
          return [strike];
        },
      });
    },
  };
}

async function loseAndRestore(
  kind: string,
  { service, receivers, publisher }: Scene,
): Promise<InjectedFault> {
  const folder = await mkdtemp(join(tmpdir(), 'webhooks-backup-'));
  const backup = join(folder, 'dump.rdb');
  publisher.start();
  await wait(STEP_MS);
  // So that something waits when the backup is made, and has arrived when it is restored.
  receivers.send({ kind: 'unavailable', endpoint: UNAVAILABLE, isOn: true });
  await wait(STEP_MS / 2);
  const strike = await during('Redis', async () => {
    await takeBackup(service.redis, backup);
    receivers.send({ kind: 'unavailable', endpoint: UNAVAILABLE, isOn: false });
    await wait(STEP_MS);
    await service.redis.kill();
    await service.redis.startFromBackup(backup);
  });
  await rm(folder, { recursive: true, force: true });
  await wait(STEP_MS);
  return { kind, mayRepeat: true, ...strike };
}

/** The whole data set as of one moment. */
export async function takeBackup({ port, folder }: RedisServer, file: string): Promise<void> {
  const client = new Redis(port, '127.0.0.1');
  await client.bgsave();
  await until(async () =>
    /rdb_bgsave_in_progress:0/.test(await client.info('persistence')) ? true : undefined,
  );
  client.disconnect();
  await copyFile(join(folder, 'dump.rdb'), file);
}
