import { setTimeout as wait } from 'node:timers/promises';
import { watchOthers } from '../processes/watch-others';
import { firstArrivals, type Latency, summarise } from '../traffic/latencies';
import { micros } from '../traffic/micros';
import type { Facts, Scene } from './scene';
import { addAccount, inWorld, type World, type WorldOptions } from './world';

export interface SceneOptions extends WorldOptions {
  readonly quietSeconds: number;
  readonly afterSeconds: number;
}

/** From the request to publish until it came to the healthy endpoint, by when the request was sent. */
export interface SceneResult {
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
export async function measureScene(scene: Scene, options: SceneOptions): Promise<SceneResult> {
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
