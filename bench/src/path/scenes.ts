import { startBusyProcesses } from '@hookferry/core/testing/busy-processes';
import { compare, type Figure, inTurn } from '../compare';
import { roundsOf, type SuiteOptions } from '../options';
import { writeJson } from '../report';
import {
  cpuFigures,
  inShort,
  type LoadFigures,
  latencyFigures,
  measureSaturated,
  othersFigure,
  rateFigure,
} from './measure';
import { onStages, type PathContender, plainContender, type Stage, serviceContender } from './stage';

/** Who gets the events, and beside what. */
export interface Scene {
  /** What a receiver takes on average, from half of it to one and a half. 0: it answers at once. */
  readonly receiverMs: number;
  /** Each gets as many events as the others. */
  readonly webhooks: number;
  /** Processes that use all the processor time that they get. */
  readonly busy: number;
}

// Those that have aims.
const allScenes: readonly Scene[] = [
  { receiverMs: 200, webhooks: 1, busy: 0 },
  { receiverMs: 200, webhooks: 20, busy: 0 },
  { receiverMs: 200, webhooks: 1_000, busy: 0 },
  { receiverMs: 1_000, webhooks: 20, busy: 0 },
  { receiverMs: 0, webhooks: 1, busy: 6 },
  { receiverMs: 200, webhooks: 20, busy: 6 },
];

const EVENTS = 10_000;
const BUSY_EVENTS = 4_000;
const SHORT_EVENTS = 200;
// Until the processes run at their usual speed, and know how much their endpoints bear.
const WARM_UP_SHARE = 0.5;
const LONGEST_SECONDS = 30;

// The attempts that a worker has under way by default. The service has more for those that take longer than a quick receiver.
const SLOTS = 256;
const SLOTS_WITH_SLOW = SLOTS + 1_024;
const SLOW_MS = 250;

/** Those that were asked for; none when none of the options is given that ask for one. */
export function scenesOf(options: SuiteOptions): readonly Scene[] {
  const { receiverMs, webhooks, busy, receivers } = options;
  if (receivers) return allScenes;
  if (!receiverMs && !webhooks && !busy) return [];
  if (webhooks?.includes(0)) throw new Error('Without a webhook there is nothing to measure.');
  return (busy ?? [0]).flatMap((processes) =>
    (receiverMs ?? [0]).flatMap((ms) =>
      (webhooks ?? [1]).map((count) => ({ receiverMs: ms, webhooks: count, busy: processes })),
    ),
  );
}

/** What a saturated worker does for receivers that take their time, beside the hand-rolled pair, in turn. */
export async function runScenes(scenes: readonly Scene[], options: SuiteOptions): Promise<void> {
  const results: object[] = [];
  for (const scene of scenes) {
    const title = titleOf(scene);
    process.stderr.write(`  ${title}\n`);
    const events = options.deliveries ?? (options.short ? SHORT_EVENTS : eventsOf(scene));
    const result = await compare({
      title,
      rounds: roundsOf(options),
      sides: [plainContender, serviceContender(options)],
      figures: figuresOf(scene),
      measure: (contenders) => measureScene(scene, contenders, events),
      inShort,
    });
    results.push({ ...scene, ...result });
    // What was measured is kept when a later scene breaks off.
    await writeJson(options.json, { scenes: results });
  }
}

async function measureScene(
  scene: Scene,
  contenders: readonly PathContender[],
  events: number,
): Promise<readonly LoadFigures[]> {
  return await onStages(
    contenders,
    async (stages) => {
      for (const stage of stages) await measureSaturated(stage, Math.round(events * WARM_UP_SHARE));
      return await inTurn(stages, (stage) => measureBesideBusy(stage, events, scene.busy));
    },
    scene,
  );
}

async function measureBesideBusy(stage: Stage, events: number, count: number): Promise<LoadFigures> {
  const busy = startBusyProcesses(count);
  try {
    return await measureSaturated(stage, events, { beside: busy.map(({ pid = 0 }) => ({ pid })) });
  } finally {
    for (const each of busy) each.kill('SIGKILL');
  }
}

/** As many as the pair with fewer slots delivers in time. */
function eventsOf({ receiverMs, busy }: Scene): number {
  const most = receiverMs > 0 ? (SLOTS / receiverMs) * 1_000 * LONGEST_SECONDS : EVENTS;
  return Math.min(Math.round(most), busy > 0 ? BUSY_EVENTS : EVENTS);
}

function figuresOf(scene: Scene): readonly Figure<LoadFigures>[] {
  return [
    ...(isBoundBySlots(scene) ? [rateFigure(), shareOfSlots(scene)] : [rateFigure(0.85)]),
    ...cpuFigures('event', cpuAimOf(scene)),
    ...latencyFigures(),
    othersFigure,
  ];
}

/** Whether nobody else is in the way, and all answers take so long that the attempts count as slow. */
function isBoundBySlots({ receiverMs, busy }: Scene): boolean {
  return busy === 0 && receiverMs / 2 >= SLOW_MS;
}

/** The rate beside what the service's slots would deliver if processors cost nothing. */
function shareOfSlots({ receiverMs }: Scene): Figure<LoadFigures> {
  const most = (SLOTS_WITH_SLOW / receiverMs) * 1_000;
  return {
    name: `… as % of the ${Math.round(most)}/s that ${SLOTS_WITH_SLOW} slots allow`,
    of: (r) => (r.deliveredPerSecond / most) * 100,
    isOwn: true,
    atLeast: 85,
  };
}

function cpuAimOf(scene: Scene): number | undefined {
  if (scene.receiverMs === 0 || scene.busy > 0 || isBoundBySlots(scene)) return undefined;
  return scene.webhooks > 20 ? 1.4 : 1.3;
}

function titleOf({ receiverMs, webhooks, busy }: Scene): string {
  return [
    receiverMs > 0 ? `receivers of ${receiverMs} ± ${receiverMs / 2} ms` : 'receivers that answer at once',
    webhooks === 1 ? '1 webhook' : `${webhooks} webhooks`,
    ...(busy > 0 ? [`${busy} busy ${busy === 1 ? 'process' : 'processes'}`] : []),
  ].join(', ');
}
