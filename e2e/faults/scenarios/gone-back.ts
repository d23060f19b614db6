import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { ApiClient } from '../../support/api-client';
import type { RedisServer } from '../../support/redis-server';
import { until } from '../../support/until';
import { askPatiently } from '../ask-patiently';
import { findRepeated } from '../checks/check-record';
import { readList, type Told } from '../checks/check-whole-record';
import { type Finding, toFindings } from '../checks/finding';
import { describeRestore } from '../describe-restore';
import { endpoints, UNAVAILABLE } from '../endpoints';
import type { Scene } from '../fault-scene';
import { untilMoved } from '../history/check-history';
import { during } from '../kinds/fault-kind';
import { historyObstacle } from '../kinds/history-faults';
import type { InjectedFault, ReceivedRequest } from '../ledger';
import type { Mode } from '../mode';
import { Progress } from '../progress';
import type { Publisher } from '../publisher';
import { powerCutObstacle, type SyncPolicy, startPowerCutRedis } from '../redis/power-cut-redis';
import type { RegisteredEndpoint } from '../register-endpoints';
import { type RunOptions, runService } from '../run-service';
import type { Scenario, ScenarioSetting } from './scenario';

const STEP_MS = 4_000;
const LOSSES = 2;

/** How Redis goes back. */
type Story = Pick<Scenario, 'name' | 'what' | 'usualCount' | 'obstacle'> & {
  readonly tell: (
    setting: ScenarioSetting,
  ) => Promise<Pick<RunOptions, 'rates' | 'patience' | 'act'> & Partial<RunOptions>>;
};

/** Redis goes back to an earlier state. What it loses by that is counted, and is not ours. */
export const goneBack: readonly Scenario[] = [
  powerCut('everysec', 'what was acknowledged since the last sync is gone'),
  powerCut('always', undefined),
  restoreDrill(),
  redisBeforeAMove(),
  redisGone(),
].map(scenario);

async function whyNotConfirmed(mode: Mode | undefined): Promise<string | undefined> {
  return mode === 'confirmed' ? 'a replica follows a Redis that went back, and goes back with it' : undefined;
}

function scenario({ tell, ...story }: Story): Scenario {
  return {
    ...story,
    run: async (setting) =>
      await runService({
        ...setting,
        specs: endpoints,
        progress: new Progress(setting.fault),
        ...(await tell(setting)),
      }),
  };
}

const CUTS = 6;
const BETWEEN_CUTS_MS = { lowest: 2_500, highest: 5_000 } as const;
// A request that Redis had on record, and the disk had not, is made again: from so long before the cut on.
const UNSYNCED_FOR_MS = 3_000;

/** The machine of Redis loses its power: what was not on disk is gone. */
function powerCut(policy: SyncPolicy, loss: string | undefined): Story {
  return {
    name: `power-cut-${policy}`,
    what: `Redis ends, and its file keeps only what was synced to disk (appendfsync ${policy})`,
    usualCount: 1,
    obstacle: async (mode) =>
      (loss === undefined ? undefined : await whyNotConfirmed(mode)) ?? (await powerCutObstacle()),
    tell: async ({ fault: kind, random }) => {
      const redis = await startPowerCutRedis(policy);
      return {
        rates: { bulk: 10, volume: 60, sparse: 5, sequential: 4 },
        patience: { stuckAfterMs: 240_000, silentForMs: 30_000 },
        startRedis: async () => redis,
        ...(loss === undefined ? {} : { redisMayLose: `appendfsync ${policy}: ${loss}` }),
        async act({ publisher }) {
          publisher.start();
          const strikes: InjectedFault[] = [];
          for (let cut = 0; cut < CUTS; cut += 1) {
            await wait(random.between(BETWEEN_CUTS_MS.lowest, BETWEEN_CUTS_MS.highest));
            const strike = await during('Redis', async () => void (await redis.cutPower()));
            const startedAt = strike.startedAt - (policy === 'everysec' ? UNSYNCED_FOR_MS : 0);
            strikes.push({ kind, mayRepeat: true, ...strike, startedAt });
          }
          await wait(BETWEEN_CUTS_MS.lowest);
          return strikes;
        },
      };
    },
  };
}

/** Redis is lost with its disk, and started from a backup that is some seconds old. */
function restoreDrill(): Story {
  return {
    name: 'restore-drill',
    what: 'Redis is lost with all its files and restored from a backup: says what is delivered again, and what is gone',
    usualCount: 1,
    obstacle: whyNotConfirmed,
    tell: async ({ fault: kind, keep }) => {
      let backupAt = Number.POSITIVE_INFINITY;
      return {
        rates: { bulk: 10, volume: 10, sparse: 8, sequential: 4 },
        patience: { stuckAfterMs: 240_000, silentForMs: 20_000 },
        redisMayLose: 'what was written after the backup is not in it',
        keep: async (ledger) => {
          process.stderr.write(`${describeRestore(ledger, endpoints, backupAt).join('\n')}\n`);
          await keep(ledger);
        },
        act: async (scene) => {
          const strike = await loseAndRestore(scene);
          backupAt = strike.startedAt;
          return [{ kind, mayRepeat: true, ...strike }];
        },
      };
    },
  };
}

async function loseAndRestore({ service, receivers, publisher }: Scene) {
  publisher.start();
  await wait(STEP_MS);
  // So that something waits when the backup is made, and has arrived when it is restored.
  receivers.send({ kind: 'unavailable', endpoint: UNAVAILABLE, isOn: true });
  await wait(STEP_MS / 2);
  const strike = await during('Redis', () =>
    withBackup(service.redis, async (backup) => {
      receivers.send({ kind: 'unavailable', endpoint: UNAVAILABLE, isOn: false });
      await wait(STEP_MS);
      await service.redis.kill();
      await service.redis.startFromBackup(backup);
    }),
  );
  await wait(STEP_MS);
  return strike;
}

const OLD_REDIS_PATIENCE = { stuckAfterMs: 120_000, silentForMs: 20_000 };
// So that much has ended at any time, and has not moved.
const OLD_REDIS_MOVE_AFTER_MS = 2_000;
// Workers connect again, and restore until when records have moved.
const SHOWN_WITHIN_MS = 10_000;

/** Redis goes back to where it was some seconds ago: what has moved since is in both. */
function redisBeforeAMove(): Story {
  return {
    name: 'history-old-redis',
    what: 'Redis is lost and restored from a backup from before a move: what is in both is shown once, and not sent again',
    usualCount: 2,
    obstacle: async (mode) => (await whyNotConfirmed(mode)) ?? historyObstacle(),
    tell: async ({ fault: kind }) => ({
      rates: { bulk: 10, volume: 20, sparse: 8, sequential: 4 },
      patience: OLD_REDIS_PATIENCE,
      historyMoveAfterMs: OLD_REDIS_MOVE_AFTER_MS,
      redisMayLose: 'what was written after the backup, and had not moved, is nowhere',
      act: async (scene) => [{ kind, mayRepeat: true, ...(await goBackBehindAMove(kind, scene)) }],
    }),
  };
}

async function goBackBehindAMove(name: string, scene: Scene) {
  const { service, publisher, checkLater, checkWhenMoved } = scene;
  publisher.start();
  await wait(2 * STEP_MS);
  let moved: readonly string[] = [];
  const strike = await during('Redis', () =>
    withBackup(service.redis, async (backup) => {
      await wait(STEP_MS);
      await publisher.pause();
      await wait(OLD_REDIS_MOVE_AFTER_MS);
      await untilMoved(service, OLD_REDIS_PATIENCE.stuckAfterMs, new Progress(name));
      moved = await readMoved(service);
      await service.redis.kill();
      await service.redis.startFromBackup(backup);
    }),
  );
  // Before anything more is published.
  const findings = await compareSoon(scene, moved);
  publisher.resume();
  await wait(STEP_MS);
  checkLater(async () => findings);
  checkWhenMoved(async () => compare('in the end', moved, await readList(service.client)));
  return strike;
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

const BEFORE_A_LOSS = 100;
const GIVE_UP_AFTER_MS = 120_000;

/** Redis starts with nothing: its webhooks, keys and events come back from PostgreSQL. */
function redisGone(): Story {
  return {
    name: 'redis-gone',
    what: `Redis is lost with all its files, and starts empty, ${LOSSES} times`,
    usualCount: 1,
    obstacle: async (mode) =>
      mode === 'durable' ? undefined : 'webhooks and keys are gone: only with PostgreSQL do they come back',
    tell: async ({ fault: kind }) => ({
      rates: { bulk: 10, volume: 20, sparse: 8, sequential: 4 },
      patience: { stuckAfterMs: 240_000, silentForMs: 20_000 },
      redisMayLose: 'everything',
      act: async (scene) => await loseEverything(kind, scene),
    }),
  };
}

async function loseEverything(kind: string, scene: Scene): Promise<readonly InjectedFault[]> {
  const { service, publisher, registered, receivers, checkLater, checkWhenMoved } = scene;
  const { body } = await askPatiently<{ key: string }>(service.client, 201, 'POST', '/v1/api-keys', {
    name: 'of a client',
    scopes: ['webhooks:read', 'accounts:act'],
  });
  const client = new ApiClient(service.client.baseUrl, body.key);
  const webhooks = await readWebhooks(client, registered);
  const strikes: InjectedFault[] = [];
  let startedAt = Date.now();
  publisher.start();
  for (let loss = 0; loss < LOSSES; loss += 1) {
    await wait(2 * STEP_MS);
    await untilAcknowledged(publisher, BEFORE_A_LOSS);
    let moved = new Set<string>();
    const { endedAt } = await during('Redis', async () => {
      await service.redis.kill();
      moved = new Set(await readMoved(service));
      await service.redis.startEmpty();
    });
    // Whatever has ended is sent again, unless it had moved.
    strikes.push({ kind, victim: 'Redis', mayRepeat: true, startedAt, endedAt });
    checkWhenMoved(async () => findRepeatedOf(moved, endedAt, receivers.requests, registered));
    startedAt = endedAt;
  }
  await untilAcknowledged(publisher, BEFORE_A_LOSS);
  checkLater(async () => {
    const now = await readWebhooks(client, registered);
    return toFindings(
      'a webhook is not as it was',
      webhooks.flatMap((text, i) => (text === now[i] ? [] : [`${text}: ${now[i]}`])),
    );
  });
  return strikes;
}

/** So many more than now, or as many as a slow machine takes. */
async function untilAcknowledged(publisher: Publisher, count: number): Promise<void> {
  const [enough, giveUpAt] = [publisher.acknowledgedCount + count, Date.now() + GIVE_UP_AFTER_MS];
  await until(async () =>
    publisher.acknowledgedCount >= enough || Date.now() > giveUpAt ? true : undefined,
  );
}

/** As a client sees them, without what attempts tell of them. */
async function readWebhooks(
  client: ApiClient,
  registered: readonly RegisteredEndpoint[],
): Promise<readonly string[]> {
  return await Promise.all(
    registered.map(async ({ webhookId, headers }) => {
      const path = `/v1/webhooks/${webhookId}`;
      const { body } = await askPatiently<object>(client, 200, 'GET', path, undefined, headers);
      return JSON.stringify({ ...body, health: undefined });
    }),
  );
}

function findRepeatedOf(
  moved: ReadonlySet<string>,
  since: number,
  requests: readonly ReceivedRequest[],
  registered: readonly RegisteredEndpoint[],
): readonly Finding[] {
  const idOf = new Map(registered.map(({ spec, webhookId }) => [spec.name, webhookId]));
  const repeated = requests.filter(
    ({ eventId, endpoint, arrivedAt }) =>
      arrivedAt > since && moved.has(`${eventId} at ${idOf.get(endpoint)}`),
  );
  return toFindings(
    'sent again although it had moved to the history',
    repeated.map(({ eventId, endpoint }) => `${eventId} at ${endpoint}`),
  );
}

/** What is in the history, as `readList` names it. */
async function readMoved({ history }: Scene['service']): Promise<readonly string[]> {
  const rows = await history.query<{ key: string }>(
    `SELECT event_id || ' at ' || webhook_id AS key FROM webhook_deliveries WHERE account_id = 'default'`,
  );
  return rows.map(({ key }) => key);
}

/** Does something with a copy of the whole data set as of one moment. */
async function withBackup(
  { port, folder }: RedisServer,
  work: (backup: string) => Promise<void>,
): Promise<void> {
  const own = await mkdtemp(join(tmpdir(), 'webhooks-backup-'));
  const backup = join(own, 'dump.rdb');
  const client = new Redis(port, '127.0.0.1');
  await client.bgsave();
  await until(async () =>
    /rdb_bgsave_in_progress:0/.test(await client.info('persistence')) ? true : undefined,
  );
  client.disconnect();
  await copyFile(join(folder, 'dump.rdb'), backup);
  await work(backup);
  await rm(own, { recursive: true, force: true });
}
