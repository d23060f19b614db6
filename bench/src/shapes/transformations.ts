/** Events whose body a webhook's code makes, beside the same events as they are. */
import { compareFigures, inRounds } from '../path/compare';
import {
  inShort,
  inShortTurns,
  type LoadFigures,
  measureSaturated,
  measureSteady,
  TURNS,
} from '../path/measure';
import { inTurn, onStages, type PathContender, serviceContender } from '../path/stage';
import { loadFiguresOf, roundsOf, type Scene, WARM_UP_SHARE } from './scene';

interface Result {
  readonly saturated: LoadFigures;
  readonly steady: LoadFigures;
}

const SIZE = { events: 8_000, steadySeconds: 20 };
const SHORT_SIZE: typeof SIZE = { events: 400, steadySeconds: 4 };
const PER_SECOND = 100;
// What a chat wants, with what the receiver tells events by.
const CODE = `export default function (event) {
  const { keyword, position } = event.data;
  return { body: { text: \`\${event.type}: \${keyword} is at \${position}\`, keyword } };
}`;

export const transformations: Scene = {
  title: 'bodies that code makes, beside bodies as they are',
  sides: ['as published', 'transformed'],

  async measure(options) {
    const { events, steadySeconds } = options.short ? SHORT_SIZE : SIZE;
    const { build } = options;
    const contender = (name: string, more: object): PathContender => ({
      ...serviceContender({ build, ...more }),
      name,
    });
    const measure = async (sides: readonly PathContender[]) =>
      await measureBoth(sides, options.deliveries ?? events, steadySeconds);
    const raw = await inRounds({
      rounds: roundsOf(options),
      sides: [contender('as published', {}), contender('transformed', { transformation: CODE })],
      measure,
      inShort: ({ saturated }) => inShort(saturated),
    });
    const loads = compareFigures(
      loadFiguresOf('transformations'),
      raw.plain.map((r) => r.saturated),
      raw.service.map((r) => r.saturated),
    );
    const latencies = compareFigures<Result>(
      [
        {
          name: `transformations at ${PER_SECOND}/s: CPU per event, worker, µs`,
          of: (r) => r.steady.workerMicros,
          kind: 'ratio',
        },
        {
          name: `transformations at ${PER_SECOND}/s: sent to received, p50, ms`,
          of: (r) => r.steady.p50,
          kind: 'ratio',
        },
        {
          name: `transformations at ${PER_SECOND}/s: sent to received, p99, ms`,
          of: (r) => r.steady.p99,
          kind: 'ratio',
        },
      ],
      raw.plain,
      raw.service,
    );
    return { verdicts: [...loads, ...latencies], raw };
  },
};

async function measureBoth(
  sides: readonly PathContender[],
  events: number,
  steadySeconds: number,
): Promise<readonly Result[]> {
  return await onStages(sides, async (stages) => {
    await inTurn(stages, (stage) => measureSaturated(stage, Math.round(events * WARM_UP_SHARE)));
    const saturated = await inShortTurns(stages, (stage) =>
      measureSaturated(stage, Math.round(events / TURNS)),
    );
    const steady = await inShortTurns(stages, (stage) =>
      measureSteady(stage, PER_SECOND, steadySeconds / TURNS),
    );
    return saturated.flatMap((load, i) => {
      const at100 = steady[i];
      return at100 ? [{ saturated: load, steady: at100 }] : [];
    });
  });
}
