/** Many events of one webhook in requests of a hundred, beside a request for each. */
import { drainService } from '../drain/index';
import { compareFigures, inTurns } from '../path/compare';
import { inShort, measureSaturated } from '../path/measure';
import { onStage, serviceContender } from '../path/stage';
import type { SuiteOptions } from '../suite';
import {
  drainFiguresOf,
  drainInShort,
  loadFiguresOf,
  type Measured,
  roundsOf,
  type Scene,
  WARM_UP_SHARE,
} from './scene';

const EVENTS = 20_000;
const SHORT_EVENTS = 1_000;
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
  const warmUp = Math.round(events * WARM_UP_SHARE);
  const side = (name: string, endpoint: object) => ({
    name: `${name}, all wait`,
    measure: async () =>
      await drainService(options.build, warmUp + events, { warmUp, filling: { endpoints: 1, endpoint } }),
  });
  const raw = await inTurns({
    rounds: roundsOf(options),
    sides: [side('single events', {}), side('batches', { batch: { max_events: MOST_EVENTS } })],
    inShort: drainInShort,
  });
  return {
    verdicts: compareFigures(drainFiguresOf('batches of what waits', AT_MOST), raw.plain, raw.service),
    raw,
  };
}

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
    inShort,
  });
  return {
    verdicts: compareFigures(loadFiguresOf('batches of what is published'), raw.plain, raw.service),
    raw,
  };
}
