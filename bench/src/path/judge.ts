import { median } from '../report/median';
import type { PathResult } from './measure-path';

/** A figure beside its aim. */
export interface Verdict {
  readonly name: string;
  readonly plain: number;
  readonly service: number;
  /** What the aim is about: the ratio of the service's figure to the hand-rolled pair's, or the service's own. */
  readonly value: number;
  /** None: it is there to be looked at. */
  readonly aim: string | null;
  readonly met: boolean | null;
}

/** What is read from results, and its aim if it has one. */
export interface Figure<Result> {
  readonly name: string;
  readonly of: (result: Result) => number;
  readonly kind: 'ratio' | 'own';
  readonly atMost?: number;
  readonly atLeast?: number;
}

export const pathFigures: readonly Figure<PathResult>[] = [
  {
    name: 'saturated: CPU per event, all, µs',
    of: (r) => r.saturated.totalMicros,
    kind: 'ratio',
    atMost: 1.2,
  },
  { name: 'saturated: CPU per event, API, µs', of: (r) => r.saturated.apiMicros, kind: 'ratio' },
  { name: 'saturated: CPU per event, worker, µs', of: (r) => r.saturated.workerMicros, kind: 'ratio' },
  { name: 'saturated: CPU per event, Redis, µs', of: (r) => r.saturated.redisMicros, kind: 'ratio' },
  {
    name: 'saturated: delivered per second',
    of: (r) => r.saturated.deliveredPerSecond,
    kind: 'ratio',
    atLeast: 0.85,
  },
  { name: 'saturated: cores taken by others', of: (r) => r.saturated.coresOfOthers, kind: 'own' },
  { name: '100/s: CPU per event, all, µs', of: (r) => r.at100.totalMicros, kind: 'ratio', atMost: 1.1 },
  { name: '100/s: CPU per event, API, µs', of: (r) => r.at100.apiMicros, kind: 'ratio' },
  { name: '100/s: CPU per event, worker, µs', of: (r) => r.at100.workerMicros, kind: 'ratio' },
  { name: '100/s: CPU per event, Redis, µs', of: (r) => r.at100.redisMicros, kind: 'ratio' },
  { name: '100/s: sent to received, p50, ms', of: (r) => r.at100.p50, kind: 'ratio', atMost: 1.2 },
  { name: '100/s: sent to received, p99, ms', of: (r) => r.at100.p99, kind: 'ratio', atMost: 1.5 },
  { name: '100/s: cores taken by others', of: (r) => r.at100.coresOfOthers, kind: 'own' },
  { name: '20/s: CPU per event, all, µs', of: (r) => r.at20.totalMicros, kind: 'ratio', atMost: 1.2 },
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
    atMost: 12,
  },
  { name: 'idle: CPU of all, ms a second', of: (r) => r.rest.idleCpuMsPerSecond, kind: 'own', atMost: 5 },
  {
    name: 'idle: commands a second, API',
    of: (r) => r.rest.idleApiCommandsPerSecond,
    kind: 'own',
    atMost: 5,
  },
  {
    name: 'idle: commands a second, worker',
    of: (r) => r.rest.idleWorkerCommandsPerSecond,
    kind: 'own',
    atMost: 5,
  },
  { name: 'memory after the load, all, MB', of: (r) => r.rest.residentMb, kind: 'own', atMost: 250 },
];

/** The medians of both, beside each other and beside the aims. */
export function judge<Result>(
  figures: readonly Figure<Result>[],
  plain: readonly Result[],
  service: readonly Result[],
): readonly Verdict[] {
  return figures.map((figure) =>
    judgeFigure(figure, median(plain.map(figure.of)), median(service.map(figure.of))),
  );
}

function judgeFigure(
  { name, kind, atMost, atLeast }: Pick<Figure<never>, 'name' | 'kind' | 'atMost' | 'atLeast'>,
  plain: number,
  service: number,
): Verdict {
  const value = kind === 'ratio' ? service / plain : service;
  const both = { name, plain, service, value };
  if (atMost !== undefined) return { ...both, aim: `≤ ${atMost}`, met: value <= atMost };
  if (atLeast !== undefined) return { ...both, aim: `≥ ${atLeast}`, met: value >= atLeast };
  return { ...both, aim: null, met: null };
}
