/** One event from HTTP to its receiver: under load, at a steady rate, and at rest. */
import { setTimeout as wait } from 'node:timers/promises';
import { type Figure, inTurn } from '../compare';
import { postgresCpuMs } from '../processes/measured-postgres';
import { watchOthers } from '../processes/measured-process';
import { medianOfEach } from '../report';
import { firstArrivals, type Latency, summarise } from '../traffic/events';
import { countCommands, sendLoneEvents } from './commands';
import { onStages, type PathContender, STREAM, type Stage } from './stage';

/** What a load costs: processor time for each event, in microseconds. */
export interface Cost {
  readonly apiMicros: number;
  readonly workerMicros: number;
  readonly redisMicros: number;
  /** 0 where there is none. */
  readonly postgresMicros: number;
  readonly totalMicros: number;
  /** From the first request to the last delivery. */
  readonly deliveredPerSecond: number;
}

export interface LoadFigures extends Cost, Latency {
  /** How many cores others took meanwhile. */
  readonly coresOfOthers: number;
}

type RestFigures = Awaited<ReturnType<typeof measureRest>>;

export interface PathResult {
  readonly saturated: LoadFigures;
  readonly at100: LoadFigures;
  readonly at20: LoadFigures;
  readonly rest: RestFigures;
}

/**
 * @param atMost the aim, for all of it together
 * @param redisAtMostMore the aim for Redis alone, in microseconds above the other side
 */
export function cpuFigures(unit: string, atMost?: number, redisAtMostMore?: number): readonly Figure<Cost>[] {
  return [
    { name: `CPU per ${unit}, all, µs`, of: (r) => r.totalMicros, atMost },
    { name: `CPU per ${unit}, API, µs`, of: (r) => r.apiMicros },
    { name: `CPU per ${unit}, worker, µs`, of: (r) => r.workerMicros },
    { name: `CPU per ${unit}, Redis, µs`, of: (r) => r.redisMicros, atMostMore: redisAtMostMore },
  ];
}

export function postgresFigure(unit: string): Figure<Cost> {
  return { name: `CPU per ${unit}, PostgreSQL, µs`, of: (r) => r.postgresMicros };
}

export function rateFigure(atLeast?: number): Figure<Cost> {
  return { name: 'delivered per second', of: (r) => r.deliveredPerSecond, atLeast };
}

export function latencyFigures(atMost?: number): readonly Figure<Latency>[] {
  return [
    { name: 'sent to received, p50, ms', of: (r) => r.p50, atMost },
    { name: 'sent to received, p99, ms', of: (r) => r.p99, atMost },
  ];
}

export const othersFigure: Figure<LoadFigures> = {
  name: 'cores taken by others',
  of: (r) => r.coresOfOthers,
  isOwn: true,
};

/** With the most that is aimed at. */
const REST_FIGURES: readonly (readonly [name: string, figure: keyof RestFigures, atMost?: number])[] = [
  ['commands to Redis per lone event', 'commandsPerLoneEvent', 8],
  ['idle: CPU of all, ms a second', 'idleCpuMsPerSecond', 9],
  ['idle: CPU of the API, ms a second', 'idleApiCpuMsPerSecond', 3],
  ['idle: CPU of the worker, ms a second', 'idleWorkerCpuMsPerSecond', 3],
  ['idle: commands a second, API', 'idleApiCommandsPerSecond', 2],
  ['idle: commands a second, worker', 'idleWorkerCommandsPerSecond', 2],
  ['memory after the load, all, MB', 'residentMb', 220],
  ['memory after the load, API, MB', 'residentApiMb'],
  ['memory after the load, worker, MB', 'residentWorkerMb'],
  ['memory after the load, Redis, MB', 'residentRedisMb'],
];

export const pathFigures: readonly Figure<PathResult>[] = [
  ...ofLoad('saturated', (r) => r.saturated, [...cpuFigures('event', 0.85), rateFigure(1.15), othersFigure]),
  ...ofLoad('100/s', (r) => r.at100, [...cpuFigures('event', 1), ...latencyFigures(1.1), othersFigure]),
  ...ofLoad('20/s', (r) => r.at20, [...cpuFigures('event', 1.05), ...latencyFigures(), othersFigure]),
  ...REST_FIGURES.map(([name, figure, atMost]): Figure<PathResult> => {
    return { name, of: ({ rest }) => rest[figure], isOwn: true, atMost };
  }),
];

function ofLoad(
  load: string,
  resultOf: (result: PathResult) => LoadFigures,
  figures: readonly Figure<LoadFigures>[],
): readonly Figure<PathResult>[] {
  return figures.map(({ name, of, ...aim }) => ({
    ...aim,
    name: `${load}: ${name}`,
    of: (result) => of(resultOf(result)),
  }));
}

export interface PathSize {
  readonly saturatedEvents: number;
  readonly steadySeconds: number;
  readonly idleSeconds: number;
}

// Until the processes run at their usual speed.
const WARM_UP_SHARE = 0.5;
/** The machine's speed changes within a minute: each contender is measured so many times in it. */
const TURNS = 4;

/**
 * Contenders on processes of their own: under load, steadily, and at rest, each step in turn, so that what the machine
 * is busy with otherwise is about the same for each. Of the loads it gives the median of each figure.
 */
export async function measurePaths(
  contenders: readonly PathContender[],
  { saturatedEvents, steadySeconds, idleSeconds }: PathSize,
): Promise<readonly PathResult[]> {
  return await onStages(contenders, async (stages) => {
    for (const stage of stages) await measureSaturated(stage, Math.round(saturatedEvents * WARM_UP_SHARE));
    const saturated = await inShortTurns(stages, (stage) =>
      measureSaturated(stage, Math.round(saturatedEvents / TURNS)),
    );
    const at100 = await inShortTurns(stages, (stage) => measureSteady(stage, 100, steadySeconds / TURNS));
    const at20 = await inShortTurns(stages, (stage) => measureSteady(stage, 20, steadySeconds / TURNS));
    return await inTurn(stages, async (stage) => ({
      saturated: medianOfEach(saturated.get(stage) ?? []),
      at100: medianOfEach(at100.get(stage) ?? []),
      at20: medianOfEach(at20.get(stage) ?? []),
      rest: await measureRest(stage, idleSeconds),
    }));
  });
}

async function inShortTurns(
  stages: readonly Stage[],
  measure: (stage: Stage) => Promise<LoadFigures>,
): Promise<ReadonlyMap<Stage, readonly LoadFigures[]>> {
  const measured = new Map<Stage, LoadFigures[]>(stages.map((stage) => [stage, []]));
  for (let turn = 0; turn < TURNS; turn += 1)
    for (const [stage, turns] of measured) turns.push(await measure(stage));
  return measured;
}

const LONE_EVENTS = 20;
const SETTLE_MS = 1_000;

/**
 * What the pair costs when next to nothing happens: processor time in milliseconds a second, commands to Redis a second, and
 * those for an event that comes alone, beside those that are sent anyway; and what the load has left in memory.
 */
async function measureRest(stage: Stage, idleSeconds: number) {
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
  /** How many requests are under way; 32 unless given. */
  readonly atOnce?: number;
  /** A request waits until it is due at this rate; not at all unless given. */
  readonly atMostPerSecond?: number;
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
  const { atOnce = AT_ONCE, atMostPerSecond } = options;
  return await measureLoad(
    stage,
    (firstEvent) =>
      sender.ask('publish', { target: pair.target, firstEvent, events, atOnce, atMostPerSecond }),
    options,
  );
}

/** Events at a steady rate, whether the one before was answered or not. */
export async function measureSteady(stage: Stage, perSecond: number, seconds: number): Promise<LoadFigures> {
  return await measureLoad(stage, async (firstEvent) => {
    await stage.sender.ask('startStream', {
      stream: STREAM,
      target: stage.pair.target,
      firstEvent,
      perSecond,
    });
    await wait(seconds * 1_000);
    return await stage.sender.ask('stopStream', STREAM);
  });
}

/** Of what was measured, the most important. */
export function inShort({ totalMicros, deliveredPerSecond }: Cost): string {
  return `${Math.round(totalMicros)} µs of CPU per event, ${Math.round(deliveredPerSecond)}/s`;
}

/** What it costs until all that is published was delivered. */
export async function measureLoad(
  stage: Stage,
  publish: Publish,
  { beside = [], deliveriesEach = 1 }: LoadOptions = {},
): Promise<LoadFigures> {
  const { receiver, sender, pair, redis, postgres } = stage;
  const firstEvent = await receiver.count(STREAM);
  const parts = [pair.api, pair.worker, redis];
  const others = watchOthers([...parts, sender, receiver, ...beside]);
  const clocks = [...parts.map((part) => () => part.cpuMs()), () => (postgres ? postgresCpuMs(postgres) : 0)];
  const before = clocks.map((cpuMs) => cpuMs());
  const sentAt = await publish(firstEvent);
  const deliveries = sentAt.length * deliveriesEach;
  await receiver.waitForAll(STREAM, firstEvent + deliveries, LIMIT_MS);
  await wait(SETTLE_AFTER_LOAD_MS);
  const [apiMicros = 0, workerMicros = 0, redisMicros = 0, postgresMicros = 0] = clocks.map(
    (cpuMs, i) => ((cpuMs() - (before[i] ?? 0)) / deliveries) * 1_000,
  );
  const coresOfOthers = others();

  const { lastAt } = await receiver.ask('progressOf', STREAM);
  const arrivedAt = firstArrivals(await receiver.ask('list', STREAM));
  const arrivals = sentAt.map((_, i) => arrivedAt.get(firstEvent + i) ?? Number.NaN);
  return {
    ...summarise(arrivals.map((at, i) => (at - (sentAt[i] ?? 0)) / 1_000)),
    apiMicros,
    workerMicros,
    redisMicros,
    postgresMicros,
    totalMicros: apiMicros + workerMicros + redisMicros + postgresMicros,
    deliveredPerSecond: (deliveries / (lastAt - (sentAt[0] ?? 0))) * 1_000_000,
    coresOfOthers,
  };
}
