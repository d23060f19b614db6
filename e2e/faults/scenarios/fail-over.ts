import { setTimeout as wait } from 'node:timers/promises';
import { endpoints } from '../endpoints';
import type { Scene } from '../fault-scene';
import { during } from '../kinds/fault-kind';
import type { InjectedFault } from '../ledger';
import { Progress } from '../progress';
import { startClusterRedis } from '../redis/cluster-redis';
import type { RedisDeployment } from '../redis/redis-deployment';
import { QUICK_TIMING, type SeenFailOver, startSentinelRedis } from '../redis/sentinel-redis';
import { runService } from '../run-service';
import type { Scenario } from './scenario';

const RATES = { bulk: 10, volume: 40, sparse: 5, sequential: 4 };
const PATIENCE = { stuckAfterMs: 240_000, silentForMs: 30_000 };
const BEFORE_MS = 6_000;
const AFTER_MS = 6_000;
// The Sentinels agree within four or five seconds: for the rest there are two masters, and clients at the wrong one.
const CUT_OFF_MS = 12_000;
const ASYNCHRONOUS = 'replication is asynchronous: what the old master had not passed on is gone';

// So many fail-overs one after the other, with so long between them that the service is at work again.
const FLAPS = 5;
const BETWEEN_FLAPS_MS = 4_000;

interface Breakable extends RedisDeployment {
  /** How often in one run; by default once. */
  readonly times?: number;
  /** As Sentinels made them, where there are some. */
  readonly seenFailOvers?: readonly SeenFailOver[];
  breakMaster(): Promise<void>;
}

/** Redis that consists of several servers, one of which is lost. What Redis loses is counted, and is not ours. */
export const failOvers: readonly Scenario[] = [
  failOver('sentinel-kill', 'kill -9 of the master behind Sentinels', () => killedMaster([])),
  failOver(
    'sentinel-kill-return',
    'the same twice: each time the old master comes back as a replica of the new one',
    () => flappingMaster(2),
  ),
  failOver('sentinel-flap', `the same ${FLAPS} times in a row, under load all the while`, () =>
    flappingMaster(FLAPS),
  ),
  failOver(
    'sentinel-partition',
    'the master is cut off from its replica and the Sentinels for 12 s, and clients go on writing to it',
    () => partitionedMaster([]),
  ),
  failOver(
    'sentinel-partition-guarded',
    'the same with min-replicas-to-write 1 and min-replicas-max-lag 1',
    () => partitionedMaster(['--min-replicas-to-write', '1', '--min-replicas-max-lag', '1']),
  ),
  failOver('cluster-node-kill', 'kill -9 of the node of a Cluster that has the queues', clusterNode),
];

function failOver(name: string, what: string, start: () => Promise<Breakable>): Scenario {
  return {
    name,
    what,
    usualCount: 2,
    run: async (setting) => {
      const redis = await start();
      return await runService({
        ...setting,
        specs: endpoints,
        rates: RATES,
        patience: PATIENCE,
        progress: new Progress(setting.fault),
        startRedis: async () => redis,
        redisMayLose: ASYNCHRONOUS,
        act: async (scene) => await breakOnce(setting.fault, scene, redis),
      });
    },
  };
}

async function breakOnce(
  kind: string,
  { publisher }: Scene,
  redis: Breakable,
): Promise<readonly InjectedFault[]> {
  publisher.start();
  await wait(BEFORE_MS);
  const strikes: InjectedFault[] = [];
  for (let time = 0; time < (redis.times ?? 1); time += 1) {
    if (time > 0) await wait(BETWEEN_FLAPS_MS);
    const strike = await during('Redis', () => redis.breakMaster());
    strikes.push({ kind, mayRepeat: true, ...strike });
  }
  await wait(AFTER_MS);
  return withUnasked(strikes, redis.seenFailOvers ?? []);
}

/** On a busy machine, Sentinels take a master for dead that only is slow: each fail-over but those asked for is a strike as well. */
export function withUnasked(
  strikes: readonly InjectedFault[],
  seen: readonly SeenFailOver[],
): readonly InjectedFault[] {
  const asked = strikes.map(({ startedAt, endedAt }) =>
    seen.find((one) => one.endedAt >= startedAt && one.endedAt <= endedAt),
  );
  const unasked = seen.filter((one) => !asked.includes(one));
  const [{ kind } = { kind: '' }] = strikes;
  return [
    ...strikes,
    ...unasked.map((one) => ({
      kind,
      victim: 'Redis, of which nobody asked it',
      mayRepeat: true,
      isFurtherStrike: true as const,
      ...one,
    })),
  ];
}

async function killedMaster(options: readonly string[]): Promise<Breakable> {
  const redis = await startSentinelRedis(options);
  return {
    ...redis,
    async breakMaster() {
      await redis.master.kill();
      await redis.untilFailedOver();
      await redis.master.start();
      await redis.untilDemoted();
    },
  };
}

async function flappingMaster(times: number): Promise<Breakable> {
  const redis = await startSentinelRedis([], QUICK_TIMING);
  return {
    ...redis,
    times,
    async breakMaster() {
      await redis.bringBack(await redis.failOver());
    },
  };
}

async function partitionedMaster(options: readonly string[]): Promise<Breakable> {
  const redis = await startSentinelRedis(options);
  return {
    ...redis,
    async breakMaster() {
      redis.network.cutOff();
      await Promise.all([wait(CUT_OFF_MS), redis.untilFailedOver()]);
      redis.network.heal();
      await redis.untilDemoted();
    },
  };
}

async function clusterNode(): Promise<Breakable> {
  const redis = await startClusterRedis();
  return {
    ...redis,
    async breakMaster() {
      await redis.queueMaster.kill();
      await redis.untilFailedOver();
      await redis.queueMaster.start();
    },
  };
}
