import type { DrainFigures } from '../drain/index';
import type { Figure, Verdict } from '../path/compare';
import type { LoadFigures } from '../path/measure';
import type { SuiteOptions } from '../suite';

/** What a shape costs beside the plain one, or brings. */
export interface Scene {
  readonly title: string;
  /** The headings of what it is held against, and of the shape. */
  readonly sides: readonly [string, string];
  measure(options: SuiteOptions): Promise<Measured>;
}

export interface Measured {
  readonly verdicts: readonly Verdict[];
  /** All that was measured, for programs to read. */
  readonly raw: unknown;
}

/** Until the processes run at their usual speed. */
export const WARM_UP_SHARE = 0.5;

/** How often each measurement of a scene is made. */
export function roundsOf({ rounds, short }: SuiteOptions): number {
  return rounds ?? (short ? 1 : 3);
}

/** What emptying a queue costs. @param atMost the aim, for the ratio of the processor time of worker and Redis. */
export function drainFiguresOf(shape: string, atMost?: number): readonly Figure<DrainFigures>[] {
  return [
    {
      name: `${shape}: CPU per event, worker and Redis, µs`,
      of: (r) => r.workerMicros + r.redisMicros,
      kind: 'ratio',
      ...(atMost === undefined ? {} : { atMost }),
    },
    { name: `${shape}: CPU per event, worker, µs`, of: (r) => r.workerMicros, kind: 'ratio' },
    { name: `${shape}: CPU per event, Redis, µs`, of: (r) => r.redisMicros, kind: 'ratio' },
    { name: `${shape}: delivered per second`, of: (r) => r.deliveriesPerSecond, kind: 'ratio' },
  ];
}

/** What events cost that are published over HTTP. @param atMost the aim, for the ratio of all processor time. */
export function loadFiguresOf(shape: string, atMost?: number): readonly Figure<LoadFigures>[] {
  return [
    {
      name: `${shape}: CPU per event, all, µs`,
      of: (r) => r.totalMicros,
      kind: 'ratio',
      ...(atMost === undefined ? {} : { atMost }),
    },
    { name: `${shape}: CPU per event, API, µs`, of: (r) => r.apiMicros, kind: 'ratio' },
    { name: `${shape}: CPU per event, worker, µs`, of: (r) => r.workerMicros, kind: 'ratio' },
    { name: `${shape}: CPU per event, Redis, µs`, of: (r) => r.redisMicros, kind: 'ratio' },
    { name: `${shape}: delivered per second`, of: (r) => r.deliveredPerSecond, kind: 'ratio' },
  ];
}

/** Of what a drain has measured, the most important. */
export function drainInShort({ workerMicros, redisMicros, deliveriesPerSecond }: DrainFigures): string {
  const [worker, redis, rate] = [workerMicros, redisMicros, deliveriesPerSecond].map(Math.round);
  return `${worker} µs of the worker and ${redis} µs of Redis per event, ${rate}/s`;
}
