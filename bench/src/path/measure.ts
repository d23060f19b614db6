/** One event from HTTP to its receiver: under load, at a steady rate, and at rest. */
import { setTimeout as wait } from 'node:timers/promises';
import { watchOthers } from '../processes/measured-process';
import { median } from '../report';
import { firstArrivals, type Latency, summarise } from '../traffic/events';
import { countCommands, sendLoneEvents } from './commands';
import type { Figure } from './compare';
import { inTurn, onStages, type PathContender, STREAM, type Stage } from './stage';

export const pathFigures: readonly Figure<PathResult>[] = [
  {
    name: 'saturated: CPU per event, all, µs',
    of: (r) => r.saturated.totalMicros,
    kind: 'ratio',
    atMost: 0.85,
  },
  { name: 'saturated: CPU per event, API, µs', of: (r) => r.saturated.apiMicros, kind: 'ratio' },
  { name: 'saturated: CPU per event, worker, µs', of: (r) => r.saturated.workerMicros, kind: 'ratio' },
  { name: 'saturated: CPU per event, Redis, µs', of: (r) => r.saturated.redisMicros, kind: 'ratio' },
  {
    name: 'saturated: delivered per second',
    of: (r) => r.saturated.deliveredPerSecond,
    kind: 'ratio',
    atLeast: 1.15,
  },
  { name: 'saturated: cores taken by others', of: (r) => r.saturated.coresOfOthers, kind: 'own' },
  { name: '100/s: CPU per event, all, µs', of: (r) => r.at100.totalMicros, kind: 'ratio', atMost: 1 },
  { name: '100/s: CPU per event, API, µs', of: (r) => r.at100.apiMicros, kind: 'ratio' },
  { name: '100/s: CPU per event, worker, µs', of: (r) => r.at100.workerMicros, kind: 'ratio' },
  { name: '100/s: CPU per event, Redis, µs', of: (r) => r.at100.redisMicros, kind: 'ratio' },
  { name: '100/s: sent to received, p50, ms', of: (r) => r.at100.p50, kind: 'ratio', atMost: 1.1 },
  { name: '100/s: sent to received, p99, ms', of: (r) => r.at100.p99, kind: 'ratio', atMost: 1.1 },
  { name: '100/s: cores taken by others', of: (r) => r.at100.coresOfOthers, kind: 'own' },
  { name: '20/s: CPU per event, all, µs', of: (r) => r.at20.totalMicros, kind: 'ratio', atMost: 1.05 },
  { name: '20/s: CPU per event, API, µs', of: (r) => r.at20.apiMicros, kind: 'ratio' },
  { name: '20/s: CPU per event, worker, µs', of: (r) => r.at20.workerMicros, kind: 'ratio' },
  { name: '20/s: CPU per event, Redis, µs', of: (r) => r.at20.redisMicros, kind: 'ratio' },
  { name: '20/s: sent to received, p50, ms', of: (r) => r.at20.p50, kind: 'ratio' },
  { name: '20/s: sent to received, p99, ms', of: (r) => r.at20.p99, kind: 'ratio' },
  { name: '20/s: cores taken by others', of: (r) => r.at20.coresOfOthers, kind: 'own' },
  {
    name: 'commands to Redis per lone event',
    of: (r) => r.rest.commandsPerLoneEvent,
    kind: 'own',
    atMost: 8,
  },
  { name: 'idle: CPU of all, ms a second', of: (r) => r.rest.idleCpuMsPerSecond, kind: 'own', atMost: 9 },
  {
    name: 'idle: CPU of the API, ms a second',
    of: (r) => r.rest.idleApiCpuMsPerSecond,
    kind: 'own',
    atMost: 3,
  },
  {
    name: 'idle: CPU of the worker, ms a second',
    of: (r) => r.rest.idleWorkerCpuMsPerSecond,
    kind: 'own',
    atMost: 3,
  },
  {
    name: 'idle: commands a second, API',
    of: (r) => r.rest.idleApiCommandsPerSecond,
    kind: 'own',
    atMost: 2,
  },
  {
    name: 'idle: commands a second, worker',
    of: (r) => r.rest.idleWorkerCommandsPerSecond,
    kind: 'own',
    atMost: 2,
  },
  { name: 'memory after the load, all, MB', of: (r) => r.rest.residentMb, kind: 'own', atMost: 220 },
  { name: 'memory after the load, API, MB', of: (r) => r.rest.residentApiMb, kind: 'own' },
  { name: 'memory after the load, worker, MB', of: (r) => r.rest.residentWorkerMb, kind: 'own' },
  { name: 'memory after the load, Redis, MB', of: (r) => r.rest.residentRedisMb, kind: 'own' },
];

export interface PathResult {
  readonly saturated: LoadFigures;
  readonly at100: LoadFigures;
  readonly at20: LoadFigures;
  readonly rest: RestFigures;
}

export interface PathSize {
  readonly saturatedEvents: number;
  readonly steadySeconds: number;
  readonly idleSeconds: number;
}

// Until the processes run at their usual speed.
const WARM_UP_SHARE = 0.5;

/**
 * Contenders on processes of their own: under load, steadily, and at rest, each step in turn, so that what the machine
 * is busy with otherwise is about the same for each.
 */
export async function measurePaths(
  contenders: readonly PathContender[],
  size: PathSize,
): Promise<readonly PathResult[]> {
  return await onStages(contenders, async (stages) => {
    await inTurn(stages, (stage) =>
      measureSaturated(stage, Math.round(size.saturatedEvents * WARM_UP_SHARE)),
    );
    const saturated = await inShortTurns(stages, (stage) =>
      measureSaturated(stage, Math.round(size.saturatedEvents / TURNS)),
    );
    const steadySeconds = size.steadySeconds / TURNS;
    const at100 = await inShortTurns(stages, (stage) => measureSteady(stage, 100, steadySeconds));
    const at20 = await inShortTurns(stages, (stage) => measureSteady(stage, 20, steadySeconds));
    const rest = await inTurn(stages, (stage) => measureRest(stage, size.idleSeconds));
    return zip(saturated, at100, at20, rest);
  });
}

/** The machine's speed changes within a minute: each contender is measured so many times in it. */
const TURNS = 4;

/** Gives the median of each figure over the turns, for each stage. */
async function inShortTurns(
  stages: readonly Stage[],
  measure: (stage: Stage) => Promise<LoadFigures>,
): Promise<readonly LoadFigures[]> {
  const turns: (readonly LoadFigures[])[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) turns.push(await inTurn(stages, measure));
  return stages.map((_, i) => medianOfEach(turns.flatMap((turn) => turn[i] ?? [])));
}

function medianOfEach(turns: readonly LoadFigures[]): LoadFigures {
  const of = (name: keyof LoadFigures) => median(turns.map((figures) => figures[name]));
  return {
    p50: of('p50'),
    p99: of('p99'),
    apiMicros: of('apiMicros'),
    workerMicros: of('workerMicros'),
    redisMicros: of('redisMicros'),
    totalMicros: of('totalMicros'),
    deliveredPerSecond: of('deliveredPerSecond'),
    coresOfOthers: of('coresOfOthers'),
  };
}

function zip(
  saturated: readonly LoadFigures[],
  at100: readonly LoadFigures[],
  at20: readonly LoadFigures[],
  rest: readonly RestFigures[],
): readonly PathResult[] {
  return saturated.flatMap((each, i) => {
    const [steady, slow, resting] = [at100[i], at20[i], rest[i]];
    return steady && slow && resting ? [{ saturated: each, at100: steady, at20: slow, rest: resting }] : [];
  });
}

export interface RestFigures {
  /** Milliseconds of processor time a second, of API, worker and Redis together. */
  readonly idleCpuMsPerSecond: number;
  readonly idleApiCpuMsPerSecond: number;
  readonly idleWorkerCpuMsPerSecond: number;
  /** Commands that each process sends to Redis a second. */
  readonly idleApiCommandsPerSecond: number;
  readonly idleWorkerCommandsPerSecond: number;
  /** Commands that both together send for an event that comes alone, beside those that they send anyway. */
  readonly commandsPerLoneEvent: number;
  /** Of API, worker and Redis together, after the load. */
  readonly residentMb: number;
  readonly residentApiMb: number;
  readonly residentWorkerMb: number;
  readonly residentRedisMb: number;
}

const LONE_EVENTS = 20;
const SETTLE_MS = 1_000;

/** What the pair costs when next to nothing happens. */
async function measureRest(stage: Stage, idleSeconds: number): Promise<RestFigures> {
  const { pair, redis } = stage;
  const parts = [pair.api, pair.worker, redis];
  const [residentApiMb = 0, residentWorkerMb = 0, residentRedisMb = 0] = parts.map(
    (part) => part.residentBytes() / 1_000_000,
  );
  await wait(SETTLE_MS);

  // In these seconds Node gives memory back that the load has taken: that is no cost of being idle.
  const idle = await countCommands(stage, () => wait(idleSeconds * 1_000));
  const before = parts.map((part) => part.cpuMs());
  await wait(idleSeconds * 1_000);
  const [apiMs = 0, workerMs = 0, redisMs = 0] = parts.map(
    (part, i) => (part.cpuMs() - (before[i] ?? 0)) / idleSeconds,
  );

  const lone = await countCommands(stage, () => sendLoneEvents(stage, LONE_EVENTS));
  const [idleApi, idleWorker] = [idle.api / idle.seconds, idle.worker / idle.seconds];
  const loneCommands = lone.api + lone.worker;
  return {
    idleCpuMsPerSecond: apiMs + workerMs + redisMs,
    idleApiCpuMsPerSecond: apiMs,
    idleWorkerCpuMsPerSecond: workerMs,
    idleApiCommandsPerSecond: idleApi,
    idleWorkerCommandsPerSecond: idleWorker,
    commandsPerLoneEvent: (loneCommands - (idleApi + idleWorker) * lone.seconds) / LONE_EVENTS,
    residentMb: residentApiMb + residentWorkerMb + residentRedisMb,
    residentApiMb,
    residentWorkerMb,
    residentRedisMb,
  };
}

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
const SETTLE_AFTER_LOAD_MS = 500;
// A bound, so that a pair that stops delivering ends the benchmark.
const LIMIT_MS = 300_000;

/** Gives when each event was sent, in microseconds. */
type Publish = (firstEvent: number) => Promise<readonly number[]>;

export interface LoadOptions {
  /** Processes of the measurement that are no others. */
  readonly beside?: readonly { readonly pid: number }[];
  /** How many webhooks get each event. Then what is given for each event is for each delivery. */
  readonly deliveriesEach?: number;
}

/** So many requests at once, each followed by the next one. */
export async function measureSaturated(
  stage: Stage,
  events: number,
  options: LoadOptions = {},
): Promise<LoadFigures> {
  const { sender, pair } = stage;
  return await measureLoad(
    stage,
    (firstEvent) => sender.publish({ target: pair.target, firstEvent, events, atOnce: AT_ONCE }),
    options,
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
export function inShort({
  totalMicros,
  deliveredPerSecond,
}: Pick<LoadFigures, 'totalMicros' | 'deliveredPerSecond'>): string {
  return `${Math.round(totalMicros)} µs of CPU per event, ${Math.round(deliveredPerSecond)}/s`;
}

/** What it costs until all that is published was delivered. */
export async function measureLoad(
  stage: Stage,
  publish: Publish,
  { beside = [], deliveriesEach = 1 }: LoadOptions = {},
): Promise<LoadFigures> {
  const { receiver, sender, pair, redis } = stage;
  const firstEvent = await receiver.count(STREAM);
  const parts = [pair.api, pair.worker, redis];
  const others = watchOthers([...parts, sender, receiver, ...beside]);
  const before = parts.map((part) => part.cpuMs());
  const sentAt = await publish(firstEvent);
  const deliveries = sentAt.length * deliveriesEach;
  const all = await receiver.waitFor(STREAM, firstEvent + deliveries, LIMIT_MS);
  if (!all) throw new Error('Not all events were delivered.');
  await wait(SETTLE_AFTER_LOAD_MS);
  const [apiMicros = 0, workerMicros = 0, redisMicros = 0] = parts.map(
    (part, i) => ((part.cpuMs() - (before[i] ?? 0)) / deliveries) * 1_000,
  );
  const coresOfOthers = others();

  const { lastAt } = await receiver.progressOf(STREAM);
  const arrivedAt = firstArrivals(await receiver.list(STREAM));
  const arrivals = sentAt.map((_, i) => arrivedAt.get(firstEvent + i) ?? Number.NaN);
  return {
    ...summarise(arrivals.map((at, i) => (at - (sentAt[i] ?? 0)) / 1_000)),
    apiMicros,
    workerMicros,
    redisMicros,
    totalMicros: apiMicros + workerMicros + redisMicros,
    deliveredPerSecond: (deliveries / (lastAt - (sentAt[0] ?? 0))) * 1_000_000,
    coresOfOthers,
  };
}
