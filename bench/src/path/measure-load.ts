import { setTimeout as wait } from 'node:timers/promises';
import { watchOthers } from '../processes/watch-others';
import { firstArrivals, type Latency, summarise } from '../traffic/latencies';
import { STREAM, type Stage } from './stage';

export interface LoadFigures extends Latency {
  /** Processor time for each event, in microseconds. */
  readonly apiMicros: number;
  readonly workerMicros: number;
  readonly redisMicros: number;
  readonly totalMicros: number;
  /** From the first request to the last delivery. */
  readonly deliveredPerSecond: number;
  /** How many cores others took meanwhile. */
  readonly coresOfOthers: number;
}

const AT_ONCE = 32;
// What is done about a delivery once it was received belongs to its cost.
const SETTLE_MS = 500;
// A bound, so that a pair that stops delivering ends the benchmark.
const LIMIT_MS = 300_000;

/** Gives when each event was sent, in microseconds. */
type Publish = (firstEvent: number) => Promise<readonly number[]>;

/**
 * So many requests at once, each followed by the next one.
 * @param beside processes of the measurement that are no others.
 */
export async function measureSaturated(
  stage: Stage,
  events: number,
  beside: readonly { readonly pid: number }[] = [],
): Promise<LoadFigures> {
  const { sender, pair } = stage;
  return await measureLoad(
    stage,
    (firstEvent) => sender.publish({ target: pair.target, firstEvent, events, atOnce: AT_ONCE }),
    beside,
  );
}

/** Events at a steady rate, whether the one before was answered or not. */
export async function measureSteady(stage: Stage, perSecond: number, seconds: number): Promise<LoadFigures> {
  return await measureLoad(stage, async (firstEvent) => {
    await stage.sender.startStream({ stream: STREAM, target: stage.pair.target, firstEvent, perSecond });
    await wait(seconds * 1_000);
    return await stage.sender.stopStream(STREAM);
  });
}

/** Of what was measured, the most important. */
export function inShort({ totalMicros, deliveredPerSecond }: LoadFigures): string {
  return `${Math.round(totalMicros)} µs of CPU per event, ${Math.round(deliveredPerSecond)}/s`;
}

async function measureLoad(
  stage: Stage,
  publish: Publish,
  beside: readonly { readonly pid: number }[] = [],
): Promise<LoadFigures> {
  const { receiver, sender, pair, redis } = stage;
  const firstEvent = await receiver.count(STREAM);
  const parts = [pair.api, pair.worker, redis];
  const others = watchOthers([...parts, sender, receiver, ...beside]);
  const before = parts.map((part) => part.cpuMs());
  const sentAt = await publish(firstEvent);
  const all = await receiver.waitFor(STREAM, firstEvent + sentAt.length, LIMIT_MS);
  if (!all) throw new Error('Not all events were delivered.');
  await wait(SETTLE_MS);
  const [apiMicros = 0, workerMicros = 0, redisMicros = 0] = parts.map(
    (part, i) => ((part.cpuMs() - (before[i] ?? 0)) / sentAt.length) * 1_000,
  );
  const coresOfOthers = others();

  const arrivedAt = firstArrivals(await receiver.list(STREAM));
  const arrivals = sentAt.map((_, i) => arrivedAt.get(firstEvent + i) ?? Number.NaN);
  const lastAt = arrivals.reduce((last, at) => Math.max(last, at), 0);
  return {
    ...summarise(arrivals.map((at, i) => (at - (sentAt[i] ?? 0)) / 1_000)),
    apiMicros,
    workerMicros,
    redisMicros,
    totalMicros: apiMicros + workerMicros + redisMicros,
    deliveredPerSecond: (sentAt.length / (lastAt - (sentAt[0] ?? 0))) * 1_000_000,
    coresOfOthers,
  };
}
