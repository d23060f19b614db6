import { findClosedPort } from '@hookferry/core/testing/local-server';
import { formRedisCluster } from '@hookferry/core/testing/redis-cluster';
import { roundsOf, type SuiteOptions } from '../options';
import { RedisProcess, runScript } from '../processes/measured-process';
import { medianOfEach, printTable } from '../report';
import { serviceOf } from './contenders';
import { type DrainFigures, measureDrain, workerSettings } from './measure';

/** One thing that grows, and what it is compared with: the first of its variants. */
interface ScaleScene {
  readonly title: string;
  /** Masters of a Cluster; without, it is one Redis. */
  readonly masters?: number;
  /** By what is different. */
  readonly variants: ReadonlyMap<number, Variant>;
}

interface Variant {
  readonly workers: number;
  readonly shards: number;
  readonly deliveries: number;
  readonly endpoints: number;
  /** Measured are these: all of them unless given. */
  readonly measured?: number;
  readonly isSkewed?: boolean;
}

/** @param deliveries that wait at the beginning; the scene of what is pending has fifty times as many at most. */
function allScenes(deliveries: number): ReadonlyMap<string, ScaleScene> {
  const usual = { workers: 1, shards: 1, endpoints: 300, deliveries };
  const among = (sizes: readonly number[], variantOf: (size: number) => Partial<Variant>) =>
    new Map(sizes.map((size) => [size, { ...usual, ...variantOf(size) }]));
  const scenes: Readonly<Record<string, ScaleScene>> = {
    workers: {
      title: 'workers, one Redis',
      // As many for each: a process needs some thousands before it is as fast as it gets.
      variants: among([1, 2, 4], (workers) => ({ workers, deliveries: deliveries * workers })),
    },
    shards: {
      title: 'shards, a Cluster of three masters, two workers, 3,000 webhooks',
      masters: 3,
      variants: among([1, 3, 6], (shards) => ({ workers: 2, shards, endpoints: 3_000 })),
    },
    pending: {
      title: 'deliveries pending',
      variants: among([deliveries, deliveries * 50], (pending) => ({
        deliveries: pending,
        measured: deliveries,
      })),
    },
    endpoints: {
      title: 'webhooks, with skewed traffic',
      variants: among([10, 5 * deliveries], (endpoints) => ({ endpoints, isSkewed: true })),
    },
  };
  return new Map(Object.entries(scenes));
}

const DELIVERIES = 20_000;
const DELIVERIES_SHORT = 2_000;
// Until then processes start, and connections are made.
const WARM_UP = 0.15;

/** What becomes of rate and cost when something grows: workers, shards, deliveries that wait, webhooks. */
export function scaleScenes(options: SuiteOptions): ReadonlyMap<string, () => Promise<object>> {
  const { short, build, deliveries = short ? DELIVERIES_SHORT : DELIVERIES } = options;
  const measure = async (name: string, scene: ScaleScene) => {
    const measured = await measureScene(name, scene, build, roundsOf(options));
    print(scene, measured);
    return Object.fromEntries(measured);
  };
  return new Map(
    [...allScenes(deliveries)].map(([name, scene]) => [name, () => measure(name, scene)] as const),
  );
}

/** Round by round all variants in turn, so that the machine's moods even out. */
async function measureScene(
  name: string,
  { variants, masters }: ScaleScene,
  build: string,
  rounds: number,
): Promise<readonly (readonly [string, DrainFigures])[]> {
  const results = new Map<number, DrainFigures[]>([...variants.keys()].map((size) => [size, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const [size, variant] of variants) {
      const one = await measureVariant(variant, masters, build);
      results.get(size)?.push(one);
      const rate = Math.round(one.deliveriesPerSecond);
      process.stderr.write(`  round ${round} of ${rounds}: ${name} ${size}, ${rate}/s\n`);
    }
  }
  return [...results].map(([size, list]) => [String(size), medianOfEach(list)]);
}

async function measureVariant(
  variant: Variant,
  masters: number | undefined,
  build: string,
): Promise<DrainFigures> {
  const { deliveries, measured = deliveries, workers, shards } = variant;
  const redis = masters === undefined ? [await RedisProcess.start()] : await startCluster(masters);
  try {
    const redisUrl = masters === undefined ? (redis[0]?.url ?? '') : urlOfCluster(redis);
    const settings = { ...workerSettings(redisUrl), QUEUE_SHARDS: String(shards) };
    const { script, fill } = serviceOf(build);
    return await measureDrain({
      redis,
      deliveries,
      fill: (receiverUrl) => fill({ ...variant, redisUrl, receiverUrl }),
      startWorkers: () => Array.from({ length: workers }, () => runScript(script, settings)),
      from: Math.floor(measured * WARM_UP),
      // The last ones wait for the slowest worker.
      until: Math.floor(measured * (1 - WARM_UP / 3)),
    });
  } finally {
    await Promise.all(redis.map((node) => node.close()));
  }
}

function print({ title }: ScaleScene, measured: readonly (readonly [string, DrainFigures])[]): void {
  const [, base] = measured[0] ?? [];
  if (!base) return;
  const costOf = ({ workerMicros, redisMicros }: DrainFigures) => workerMicros + redisMicros;
  printTable(title, [
    [
      '',
      'deliveries/s',
      'of the first',
      'worker CPU, µs',
      'Redis CPU, µs',
      'of the first',
      'busiest Redis / even',
    ],
    ...measured.map(([label, one]) => [
      label,
      one.deliveriesPerSecond.toFixed(0),
      (one.deliveriesPerSecond / base.deliveriesPerSecond).toFixed(2),
      one.workerMicros.toFixed(0),
      one.redisMicros.toFixed(0),
      (costOf(one) / costOf(base)).toFixed(2),
      one.redisUnevenness.toFixed(2),
    ]),
  ]);
}

/** Start a Redis Cluster of a measurement's own, on loopback: masters alone, with equal ranges of slots. */
async function startCluster(masters: number): Promise<readonly RedisProcess[]> {
  const busPorts = await Promise.all(Array.from({ length: masters }, () => findClosedPort()));
  const nodes = await Promise.all(
    busPorts.map((port) => RedisProcess.start(['--cluster-enabled', 'yes', '--cluster-port', String(port)])),
  );
  await formRedisCluster(
    nodes.map(({ port }) => port),
    busPorts,
  );
  return nodes;
}

function urlOfCluster(nodes: readonly RedisProcess[]): string {
  return `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
}
