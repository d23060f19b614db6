import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { Redis } from 'ioredis';
import { MeasuredProcess, RedisProcess } from '../processes/measured-process';
import { median, printTable, writeJson } from '../report';
import type { SuiteOptions } from '../suite';
import { fill } from './fill';
import { type DrainFigures, measureDrain, workerSettings } from './index';

/** One thing that grows, and what it is compared with: the first of its variants. */
interface ScaleScene {
  readonly name: string;
  readonly title: string;
  /** Masters of a Cluster; without, it is one Redis. */
  readonly masters?: number;
  readonly variants: readonly Variant[];
}

interface Variant {
  readonly label: string;
  readonly workers: number;
  readonly shards: number;
  readonly deliveries: number;
  readonly endpoints: number;
  /** Measured are these: all of them unless given. */
  readonly measured?: number;
  readonly isSkewed?: boolean;
}

const usual = { workers: 1, shards: 1, endpoints: 300 };

/** @param deliveries that wait at the beginning; the scene of what is pending has fifty times as many at most. */
function scaleScenes(deliveries: number): readonly ScaleScene[] {
  const measured = deliveries;
  return [
    {
      name: 'workers',
      title: 'workers, one Redis',
      // As many for each: a process needs some thousands before it is as fast as it gets.
      variants: [1, 2, 4].map((workers) => ({
        ...usual,
        label: `${workers}`,
        workers,
        deliveries: deliveries * workers,
      })),
    },
    {
      name: 'shards',
      title: 'shards, a Cluster of three masters, two workers, 3,000 webhooks',
      masters: 3,
      variants: [1, 3, 6].map((shards) => ({
        ...usual,
        label: `${shards}`,
        workers: 2,
        shards,
        deliveries,
        endpoints: 3_000,
      })),
    },
    {
      name: 'pending',
      title: 'deliveries pending',
      variants: [1, 50].map((factor) => ({
        ...usual,
        label: `${deliveries * factor}`,
        deliveries: deliveries * factor,
        measured,
      })),
    },
    {
      name: 'endpoints',
      title: 'webhooks, with skewed traffic',
      variants: [10, 5 * deliveries].map((endpoints) => ({
        ...usual,
        label: `${endpoints}`,
        deliveries,
        endpoints,
        isSkewed: true,
      })),
    },
  ];
}

const DELIVERIES = 20_000;
const DELIVERIES_SHORT = 2_000;
const ROUNDS = 3;
// Until then processes start, and connections are made.
const WARM_UP = 0.15;

/** What becomes of rate and cost when something grows: workers, shards, deliveries that wait, webhooks. */
export async function runScaleScenes({
  short,
  build,
  deliveries = short ? DELIVERIES_SHORT : DELIVERIES,
  rounds = short ? 1 : ROUNDS,
  scene: wished,
  json,
}: SuiteOptions): Promise<void> {
  const scenes = scaleScenes(deliveries).filter(({ name }) => wished === 'all' || name === wished);
  if (scenes.length === 0) {
    const names = scaleScenes(deliveries).map(({ name }) => name);
    throw new Error(`There is no scene "${wished ?? ''}". The scenes are: ${[...names, 'all'].join(', ')}.`);
  }
  const figures: Record<string, Record<string, DrainFigures>> = {};
  for (const scene of scenes) {
    const measured = await measureScene(scene, build, rounds);
    figures[scene.name] = Object.fromEntries(measured);
    print(scene, measured);
  }
  await writeJson(json, figures);
}

/** Round by round all variants in turn, so that the machine's moods even out. */
async function measureScene(
  scene: ScaleScene,
  build: string,
  rounds: number,
): Promise<readonly (readonly [string, DrainFigures])[]> {
  const results = scene.variants.map((variant) => ({ variant, list: [] as DrainFigures[] }));
  for (let round = 1; round <= rounds; round += 1) {
    for (const { variant, list } of results) {
      const one = await measureVariant(scene, variant, build);
      list.push(one);
      const rate = Math.round(one.deliveriesPerSecond);
      process.stderr.write(`  round ${round} of ${rounds}: ${scene.name} ${variant.label}, ${rate}/s\n`);
    }
  }
  return results.map(({ variant, list }) => [variant.label, medianOf(list)] as const);
}

async function measureVariant(
  { masters }: ScaleScene,
  variant: Variant,
  build: string,
): Promise<DrainFigures> {
  const { deliveries, measured = deliveries, workers, shards } = variant;
  const redis = masters === undefined ? [await RedisProcess.start()] : await startCluster(masters);
  try {
    const redisUrl = masters === undefined ? (redis[0]?.url ?? '') : urlOfCluster(redis);
    const settings = { ...workerSettings(redisUrl), QUEUE_SHARDS: String(shards) };
    const script = join(build, 'apps/worker/dist/main.js');
    return await measureDrain({
      redis,
      deliveries,
      fill: (receiverUrl) => fill({ ...variant, redisUrl, receiverUrl }),
      startWorkers: () => Array.from({ length: workers }, () => new MeasuredProcess(script, settings)),
      from: Math.floor(measured * WARM_UP),
      // The last ones wait for the slowest worker.
      until: Math.floor(measured * (1 - WARM_UP / 3)),
    });
  } finally {
    await Promise.all(redis.map((node) => node.stop()));
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

function medianOf(list: readonly DrainFigures[]): DrainFigures {
  const of = (figure: keyof DrainFigures) => median(list.map((one) => one[figure]));
  return {
    deliveriesPerSecond: of('deliveriesPerSecond'),
    workerMicros: of('workerMicros'),
    redisMicros: of('redisMicros'),
    redisUnevenness: of('redisUnevenness'),
    redisBytes: of('redisBytes'),
  };
}

const SLOTS = 16_384;
const LOOK_EVERY_MS = 50;

/** Start a Redis Cluster of a measurement's own, on loopback: masters alone, with equal ranges of slots. */
async function startCluster(masters: number): Promise<readonly RedisProcess[]> {
  const busPorts = await Promise.all(Array.from({ length: masters }, () => findClosedPort()));
  const nodes = await Promise.all(
    busPorts.map((port) => RedisProcess.start(['--cluster-enabled', 'yes', '--cluster-port', String(port)])),
  );
  const clients = nodes.map(({ url }) => new Redis(url));
  const startOf = (node: number) => Math.floor((node * SLOTS) / masters);
  for (const [i, client] of clients.entries()) {
    await client.cluster('ADDSLOTSRANGE', startOf(i), startOf(i + 1) - 1);
    await client.call('CLUSTER', 'MEET', '127.0.0.1', portOf(nodes[0]), busPorts[0] ?? 0);
  }
  for (const client of clients) {
    while (!isWhole(await client.cluster('INFO'), masters)) await wait(LOOK_EVERY_MS);
    client.disconnect();
  }
  return nodes;
}

function urlOfCluster(nodes: readonly RedisProcess[]): string {
  return `redis+cluster://${nodes.map((node) => `127.0.0.1:${portOf(node)}`).join(',')}`;
}

function portOf(node: RedisProcess | undefined): number {
  return Number(new URL(node?.url ?? 'redis://localhost').port);
}

function isWhole(info: string, nodes: number): boolean {
  return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${nodes}`);
}
