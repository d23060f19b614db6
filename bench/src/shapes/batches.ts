/** Many events of one webhook in requests of a hundred, beside a request for each. */
import { type DrainFigures, drainService } from '../drain/index';
import { type Figure, inTurns, judge } from '../path/compare';
import { type LoadFigures, measureSaturated } from '../path/measure';
import { onStage, serviceContender } from '../path/stage';
import type { SuiteOptions } from '../suite';
import { type Measured, roundsOf, type Scene } from './scene';

const EVENTS = 20_000;
const SHORT_EVENTS = 1_000;
// Until the processes run at their usual speed.
const WARM_UP_SHARE = 0.5;
const MOST_EVENTS = 100;
const WAIT_MS = 1_000;
const AT_MOST = 0.25;

export const batches: Scene = {
  title: `requests of up to ${MOST_EVENTS} events, beside a request for each`,
  sides: ['single events', 'in batches'],

  async measure(options) {
    const events = options.deliveries ?? (options.short ? SHORT_EVENTS : EVENTS);
    const waiting = await compareWaiting(options, events);
    const published = await comparePublished(options, events);
    return {
      verdicts: [...waiting.verdicts, ...published.verdicts],
      raw: { waiting: waiting.raw, published: published.raw },
    };
  },
};

/** All of them wait before the worker starts. */
async function compareWaiting(options: SuiteOptions, events: number): Promise<Measured> {
  const { build } = options;
  const warmUp = Math.round(events * WARM_UP_SHARE);
  const side = (name: string, endpoint: object) => ({
    name: `${name}, all wait`,
    measure: async () =>
      await drainService(build, warmUp + events, { warmUp, filling: { endpoints: 1, endpoint } }),
  });
  const raw = await inTurns({
    rounds: roundsOf(options),
    sides: [side('single events', {}), side('batches', { batch: { max_events: MOST_EVENTS } })],
    inShort: ({ workerMicros, redisMicros, deliveriesPerSecond }) =>
      inShort(workerMicros, redisMicros, deliveriesPerSecond),
  });
  return { verdicts: judge(waitingFigures, raw.plain, raw.service), raw };
}

const waitingFigures: readonly Figure<DrainFigures>[] = [
  {
    name: 'batches of what waits: CPU per event, worker and Redis, µs',
    of: (r) => r.workerMicros + r.redisMicros,
    kind: 'ratio',
    atMost: AT_MOST,
  },
  { name: 'batches of what waits: CPU per event, worker, µs', of: (r) => r.workerMicros, kind: 'ratio' },
  { name: 'batches of what waits: CPU per event, Redis, µs', of: (r) => r.redisMicros, kind: 'ratio' },
  {
    name: 'batches of what waits: events delivered per second',
    of: (r) => r.deliveriesPerSecond,
    kind: 'ratio',
  },
];

/** They come one by one over HTTP, and wait for each other for a second. */
async function comparePublished(options: SuiteOptions, events: number): Promise<Measured> {
  const side = (name: string, webhook: object) => ({
    name: `${name}, published one by one`,
    measure: async () =>
      await onStage(serviceContender({ build: options.build, webhook }), async (stage) => {
        await measureSaturated(stage, Math.round(events * WARM_UP_SHARE));
        return await measureSaturated(stage, events);
      }),
  });
  const batch = { max_events: MOST_EVENTS, max_wait_ms: WAIT_MS };
  const raw = await inTurns({
    rounds: roundsOf(options),
    sides: [side('single events', {}), side('batches', { batch })],
    inShort: ({ workerMicros, redisMicros, deliveredPerSecond }) =>
      inShort(workerMicros, redisMicros, deliveredPerSecond),
  });
  return { verdicts: judge(publishedFigures, raw.plain, raw.service), raw };
}

const publishedFigures: readonly Figure<LoadFigures>[] = [
  {
    name: 'batches of what is published: CPU per event, worker, µs',
    of: (r) => r.workerMicros,
    kind: 'ratio',
  },
  // That of publishing is in it.
  {
    name: 'batches of what is published: CPU per event, Redis, µs',
    of: (r) => r.redisMicros,
    kind: 'ratio',
  },
  { name: 'batches of what is published: CPU per event, all, µs', of: (r) => r.totalMicros, kind: 'ratio' },
  {
    name: 'batches of what is published: events delivered per second',
    of: (r) => r.deliveredPerSecond,
    kind: 'ratio',
  },
];

function inShort(workerMicros: number, redisMicros: number, perSecond: number): string {
  return `${Math.round(workerMicros)} µs of the worker and ${Math.round(redisMicros)} µs of Redis per event, ${Math.round(perSecond)}/s`;
}
