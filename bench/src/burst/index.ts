import { setTimeout as wait } from 'node:timers/promises';
import { choose, type SuiteOptions } from '../options';
import { watchOthers } from '../processes/measured-process';
import { printTable, writeJson } from '../report';
import { firstArrivals, type Latency, micros, summarise } from '../traffic/events';
import { type Facts, type Scene, scenesOf } from './scenes';
import { addAccount, inWorld, type World } from './world';

/** From the request to publish until it came to the healthy endpoint, by when the request was sent. */
interface Row {
  readonly name: string;
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

/** What an endpoint with light traffic notices when others get a great deal at once, or fail in their ways. */
export async function runBurstSuite(options: SuiteOptions): Promise<void> {
  const rows: Row[] = [];
  for (const [, scene] of choose('scene', scenesOf(options.short), options.scene)) {
    process.stderr.write(`  ${scene.name}\n`);
    rows.push(await measureScene(scene, options));
  }
  printLatencies(rows);
  printFacts(rows);
  await writeJson(options.json, { rows: rows.map(toJson) });
}

function printLatencies(rows: readonly Row[]): void {
  const headings = ['', 'p50 before', 'during', 'after', 'p99 before', 'during', 'after'];
  printTable('From publishing to an endpoint of another account, 20 events a second, ms', [
    [...headings, 'p99 ratio', 'lasted, s', 'missing', 'cores of others'],
    ...rows.map(({ name, quiet, during, after, duringSeconds, coresOfOthers, missing }) => [
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
    ...rows.flatMap(({ name, facts }) =>
      Object.entries(facts).map(([fact, value], i) => [i === 0 ? name : '', fact, readable(value)]),
    ),
  ]);
}

function readable(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(value < 100 ? 2 : 0);
}

function toJson({ name, quiet, during, after, duringSeconds, coresOfOthers, missing, facts }: Row) {
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

const STREAM = 'light';
const PER_SECOND = 20;
const WARM_UP_EVENTS = 300;
const WARM_UP_AT_ONCE = 8;
// What the warm-up leaves behind is not quiet.
const SETTLE_MS = 1_000;
const LIMIT_MS = 30_000;

/** What an endpoint with light traffic, of an account of its own, notices of a scene. */
async function measureScene(scene: Scene, { build, shards = 1, short }: SuiteOptions): Promise<Row> {
  return await inWorld(build, shards, async (world) => {
    const { redis, service, sender, receiver, troubleSender } = world;
    const { target } = await addAccount(world, STREAM, receiver.urlOf('ok', STREAM));
    const makeTrouble = await scene.prepare(world);
    await sender.ask('publish', { target, firstEvent: 0, events: WARM_UP_EVENTS, atOnce: WARM_UP_AT_ONCE });
    await receiver.waitFor(STREAM, WARM_UP_EVENTS, LIMIT_MS);
    await wait(SETTLE_MS);

    const stream = { stream: STREAM, target, firstEvent: WARM_UP_EVENTS, perSecond: PER_SECOND };
    await sender.ask('startStream', stream);
    await wait(short ? 3_000 : 10_000);
    const others = watchOthers([redis, service.api, service.worker, receiver, sender, troubleSender]);
    const beganAt = micros();
    const facts = await makeTrouble();
    const endedAt = micros();
    const coresOfOthers = others();
    await wait(short ? 2_000 : 5_000);
    const sentAt = await sender.ask('stopStream', STREAM);
    await receiver.waitFor(STREAM, WARM_UP_EVENTS + sentAt.length, LIMIT_MS);

    const { latencies, missing } = await latenciesOf(world, sentAt);
    const between = (from: number, until: number) =>
      summarise(latencies.filter(({ at }) => at >= from && at < until).map(({ ms }) => ms));
    return {
      name: scene.name,
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

async function latenciesOf({ receiver }: World, sentAt: readonly number[]) {
  const now = micros();
  const arrivedAt = firstArrivals(await receiver.ask('list', STREAM));
  const arrivals = sentAt.map((_, i) => arrivedAt.get(WARM_UP_EVENTS + i));
  return {
    latencies: sentAt.map((at, i) => ({ at, ms: ((arrivals[i] ?? now) - at) / 1_000 })),
    missing: arrivals.filter((at) => at === undefined).length,
  };
}
