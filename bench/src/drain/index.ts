import { compare, type Figure, inTurn } from '../compare';
import { choose, roundsOf, type SuiteOptions } from '../options';
import { writeJson } from '../report';
import { backlogScenes } from './backlog';
import { drain, plainWorker, serviceOf } from './contenders';
import type { DrainFigures } from './measure';
import { scaleScenes } from './scale';

const DELIVERIES = 20_000;
const DELIVERIES_SHORT = 1_000;

const drainFigures: readonly Figure<DrainFigures>[] = [
  { name: 'deliveries per second', of: (r) => r.deliveriesPerSecond, atLeast: 1.2 },
  { name: 'worker CPU per delivery, µs', of: (r) => r.workerMicros },
  { name: 'Redis CPU per delivery, µs', of: (r) => r.redisMicros },
  { name: 'Redis commands per delivery', of: (r) => r.commands, isOwn: true, atMost: 17 },
];

/** Draining a full queue with one worker, beside the hand-written one, in turn, so that the machine's moods even out. */
export async function runDrainSuite(options: SuiteOptions): Promise<void> {
  if (options.scene !== undefined) return await runScenes(options, options.scene);
  const deliveries = options.deliveries ?? (options.short ? DELIVERIES_SHORT : DELIVERIES);
  const result = await compare({
    title: `Draining ${deliveries} waiting deliveries, one worker`,
    rounds: roundsOf(options),
    sides: [plainWorker, serviceOf(options.build)],
    figures: drainFigures,
    measure: (contenders) => inTurn(contenders, (contender) => drain(contender, { deliveries, warmUp: 1 })),
    inShort: ({ deliveriesPerSecond }) => `${Math.round(deliveriesPerSecond)} deliveries/s`,
  });
  await writeJson(options.json, result);
}

async function runScenes(options: SuiteOptions, wished: string): Promise<void> {
  const scenes = new Map([...scaleScenes(options), ...backlogScenes(options)]);
  const figures: Record<string, object> = {};
  for (const [name, measure] of choose('scene', scenes, wished === 'all' ? undefined : wished.split(','))) {
    figures[name] = await measure();
    // What was measured is kept when a later scene breaks off.
    await writeJson(options.json, figures);
  }
}
