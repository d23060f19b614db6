import { RedisClusterProcess } from '../processes/redis-cluster-process';
import { RedisProcess } from '../processes/redis-process';
import { median } from '../report/median';
import { printTable } from '../report/print-table';
import { writeJson } from '../report/write-json';
import type { SuiteOptions } from '../suite';
import { type DrainFigures, measureDrain } from './measure-drain';
import { type ScaleScene, scaleScenes, type Variant } from './scenes';

const DELIVERIES = 20_000;
const DELIVERIES_SHORT = 2_000;
const ROUNDS = 3;

/** What becomes of rate and cost when something grows: workers, shards, deliveries that wait, webhooks. */
export async function runScaleSuite({
  short,
  build,
  deliveries = short ? DELIVERIES_SHORT : DELIVERIES,
  rounds = short ? 1 : ROUNDS,
  scene: wished,
  json,
}: SuiteOptions): Promise<void> {
  const scenes = scaleScenes(deliveries).filter(({ name }) => wished === undefined || name === wished);
  if (scenes.length === 0) {
    const names = scaleScenes(deliveries).map(({ name }) => name);
    throw new Error(`There is no scene "${wished ?? ''}"; there are: ${names.join(', ')}.`);
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
  const cluster = masters === undefined ? undefined : await RedisClusterProcess.start(masters);
  const redis = cluster?.masters ?? [await RedisProcess.start()];
  try {
    const redisUrl = cluster?.url ?? redis[0]?.url ?? '';
    return await measureDrain({ ...variant, build, redis, redisUrl });
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
