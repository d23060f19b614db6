import { setTimeout as wait } from 'node:timers/promises';
import { watchOthers } from '../processes/measured-process';
import { printTable, writeJson } from '../report';
import type { SuiteOptions } from '../suite';
import { firstArrivals, type Latency, micros, summarise } from '../traffic/events';
import { type Facts, type Scene, scenesOf } from './scenes';
import { addAccount, inWorld, type World, type WorldOptions } from './world';

interface Row {
  readonly name: string;
  readonly result: SceneResult;
}

/** What an endpoint with light traffic notices when others get a great deal at once, or fail in their ways. */
export async function runBurstSuite({ short, build, json, scene, shards }: SuiteOptions): Promise<void> {
  const times = short ? { quietSeconds: 3, afterSeconds: 2 } : { quietSeconds: 10, afterSeconds: 5 };
  const rows: Row[] = [];
  for (const each of wishedScenes(scenesOf(short), scene)) {
    process.stderr.write(`  ${each.name}\n`);
    rows.push({ name: each.name, result: await measureScene(each, { build, shards, ...times }) });
  }
  printLatencies(rows);
  printFacts(rows);
  await writeJson(json, { rows: rows.map(toJson) });
}

function wishedScenes(scenes: ReadonlyMap<string, Scene>, wished: string | undefined): readonly Scene[] {
  if (wished === undefined) return [...scenes.values()];
  const scene = scenes.get(wished);
  if (!scene)
    throw new Error(`There is no scene "${wished}". The scenes are: ${[...scenes.keys()].join(', ')}.`);
  return [scene];
}

function printLatencies(rows: readonly Row[]): void {
  printTable('From publishing to an endpoint of another account, 20 events a second, ms', [
    [
      '',
      'p50 before',
      'during',
      'after',
      'p99 before',
      'during',
      'after',
      'p99 ratio',
      'lasted, s',
      'missing',
      'cores of others',
    ],
    ...rows.map(({ name, result: { quiet, during, after, duringSeconds, coresOfOthers, missing } }) => [
      name,
      ...[quiet.p50, during.p50, after.p50, quiet.p99, during.p99, after.p99].map((ms) => ms.toFixed(1)),
      (during.p99 / quiet.p99).toFixed(1),
      duringSeconds.toFixed(1),
      String(missing),
      coresOfOthers.toFixed(1),
    ]),
  ]);
}

function printFacts(rows: readonly Row[]): void {
  printTable('What came of the trouble itself', [
    ['', 'figure', 'value'],
    ...rows.flatMap(({ name, result }) =>
      Object.entries(result.facts).map(([fact, value], i) => [i === 0 ? name : '', fact, readable(value)]),
    ),
  ]);
}

function readable(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(value < 100 ? 2 : 0);
}

function toJson({
  name,
  result: { quiet, during, after, duringSeconds, coresOfOthers, missing, facts },
}: Row) {
  return {
    name,
    quiet_p50: quiet.p50,
    quiet_p99: quiet.p99,
    during_p50: during.p50,
    during_p99: during.p99,
    after_p50: after.p50,
    after_p99: after.p99,
    during_s: duringSeconds,
    missing,
    cores_of_others: coresOfOthers,
    ...facts,
  };
}

interface SceneOptions extends WorldOptions {
  readonly quietSeconds: number;
  readonly afterSeconds: number;
}

/** From the request to publish until it came to the healthy endpoint, by when the request was sent. */
interface SceneResult {
  readonly quiet: Latency;
  readonly during: Latency;
  readonly after: Latency;
  readonly duringSeconds: number;
  /** How many cores others than all this took while it lasted. */
  readonly coresOfOthers: number;
  /** Events that never came in time. Their age at the end then counts as their time. */
  readonly missing: number;
  readonly facts: Facts;
}

const STREAM = 'light';
const PER_SECOND = 20;
const WARM_UP_EVENTS = 300;
const WARM_UP_AT_ONCE = 8;
// What the warm-up leaves behind is not quiet.
const SETTLE_MS = 1_000;
const LIMIT_MS = 30_000;

/** What an endpoint with light traffic, of an account of its own, notices of a scene. */
async function measureScene(scene: Scene, options: SceneOptions): Promise<SceneResult> {
  return await inWorld(options, async (world) => {
    const { sender, receiver } = world;
    const { target } = await addAccount(world, STREAM, receiver.urlOf('ok', STREAM));
    const makeTrouble = await scene.prepare(world);
    await sender.publish({ target, firstEvent: 0, events: WARM_UP_EVENTS, atOnce: WARM_UP_AT_ONCE });
    await receiver.waitFor(STREAM, WARM_UP_EVENTS, LIMIT_MS);
    await wait(SETTLE_MS);

    await sender.startStream({ stream: STREAM, target, firstEvent: WARM_UP_EVENTS, perSecond: PER_SECOND });
    await wait(options.quietSeconds * 1_000);
    const others = watchOthers(processesOf(world));
    const beganAt = micros();
    const facts = await makeTrouble();
    const endedAt = micros();
    const coresOfOthers = others();
    await wait(options.afterSeconds * 1_000);
    const sentAt = await sender.stopStream(STREAM);
    await receiver.waitFor(STREAM, WARM_UP_EVENTS + sentAt.length, LIMIT_MS);

    const { latencies, missing } = await latenciesOf(world, sentAt);
    const between = (from: number, until: number) =>
      summarise(latencies.filter(({ at }) => at >= from && at < until).map(({ ms }) => ms));
    return {
      quiet: between(0, beganAt),
      during: between(beganAt, endedAt),
      after: between(endedAt, Number.POSITIVE_INFINITY),
      duringSeconds: (endedAt - beganAt) / 1_000_000,
      coresOfOthers,
      missing,
      facts,
    };
  });
}

function processesOf({ redis, service, receiver, sender, troubleSender }: World) {
  return [redis, service.api, service.worker, receiver, sender, troubleSender];
}

async function latenciesOf({ receiver }: World, sentAt: readonly number[]) {
  const now = micros();
  const arrivedAt = firstArrivals(await receiver.list(STREAM));
  const arrivals = sentAt.map((_, i) => arrivedAt.get(WARM_UP_EVENTS + i));
  return {
    latencies: sentAt.map((at, i) => ({ at, ms: ((arrivals[i] ?? now) - at) / 1_000 })),
    missing: arrivals.filter((at) => at === undefined).length,
  };
}
