import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../../support/until';
import { findRepeated } from '../checks/check-record';
import { readList, type Told } from '../checks/check-whole-record';
import { type Finding, toFindings } from '../checks/finding';
import { endpoints } from '../endpoints';
import type { Scene } from '../fault-scene';
import { untilMoved } from '../history/check-history';
import { during } from '../kinds/fault-kind';
import { historyObstacle } from '../kinds/history-faults';
import type { InjectedFault } from '../ledger';
import { Progress } from '../progress';
import { runService } from '../run-service';
import { takeBackup } from './restore-drill';
import { DURABLE, type Scenario } from './scenario';

const RATES = { bulk: 10, volume: 20, sparse: 8, sequential: 4 };
const PATIENCE = { stuckAfterMs: 120_000, silentForMs: 20_000 };
const STEP_MS = 4_000;
// So that much has ended at any time, and has not moved.
const MOVE_AFTER_MS = 2_000;
// Workers connect again, and restore until when records have moved.
const SHOWN_WITHIN_MS = 10_000;

/** Redis goes back to where it was some seconds ago: what has moved since is in both. */
export const oldRedises: readonly Scenario[] = [oldRedis(false), oldRedis(true)];

function oldRedis(isDurable: boolean): Scenario {
  const name = `history-old-redis${isDurable ? '-durable' : ''}`;
  return {
    name,
    what: `Redis is lost and restored from a backup from before a move: what is in both is shown once, and not sent again${isDurable ? DURABLE : ''}`,
    usualCount: 2,
    obstacle: async () => historyObstacle(),
    run: async (setting) =>
      await runService({
        ...setting,
        fault: name,
        isDurable,
        specs: endpoints,
        rates: RATES,
        patience: PATIENCE,
        progress: new Progress(name),
        historyMoveAfterMs: MOVE_AFTER_MS,
        redisMayLose: 'what was written after the backup, and had not moved, is nowhere',
        act: async (scene) => await goBack(name, scene),
      }),
  };
}

async function goBack(name: string, scene: Scene): Promise<readonly InjectedFault[]> {
  const { service, publisher, checkLater, checkWhenMoved } = scene;
  const folder = await mkdtemp(join(tmpdir(), 'webhooks-backup-'));
  const backup = join(folder, 'dump.rdb');
  publisher.start();
  await wait(2 * STEP_MS);
  let moved: readonly string[] = [];
  const findings: Finding[] = [];
  const strike = await during('Redis', async () => {
    await takeBackup(service.redis, backup);
    await wait(STEP_MS);
    await publisher.pause();
    await wait(MOVE_AFTER_MS);
    await untilMoved(service, PATIENCE.stuckAfterMs, new Progress(name));
    moved = await readMoved(service);
    await service.redis.kill();
    await service.redis.startFromBackup(backup);
  });
  // Before anything more is published.
  findings.push(...(await compareSoon(scene, moved)));
  await rm(folder, { recursive: true, force: true });
  publisher.resume();
  await wait(STEP_MS);
  checkLater(async () => findings);
  checkWhenMoved(async () => compare('in the end', moved, await readList(service.client)));
  return [{ kind: name, mayRepeat: true, ...strike }];
}

async function readMoved({ history }: Scene['service']): Promise<readonly string[]> {
  const rows = await history.query<{ key: string }>(
    `SELECT event_id || ' at ' || webhook_id AS key FROM webhook_deliveries WHERE account_id = 'default'`,
  );
  return rows.map(({ key }) => key);
}

async function compareSoon({ service }: Scene, moved: readonly string[]): Promise<readonly Finding[]> {
  const giveUpAt = Date.now() + SHOWN_WITHIN_MS;
  return await until(async () => {
    const findings = compare('soon after', moved, await readList(service.client));
    return findings.length === 0 || Date.now() > giveUpAt ? findings : undefined;
  });
}

function compare(when: string, moved: readonly string[], listed: readonly Told[]): readonly Finding[] {
  const keys = listed.map(({ key }) => key);
  const known = new Set(keys);
  return [
    ...toFindings(`listed more than once, ${when}`, findRepeated(keys)),
    ...toFindings(
      `in the history, and not listed, ${when}`,
      moved.filter((key) => !known.has(key)),
    ),
  ];
}
