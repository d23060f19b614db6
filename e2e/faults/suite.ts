import { toFindings } from './checks/finding';
import { faultKindNamed, faultKinds } from './fault-kinds';
import { inAllModes, modeObstacle, nameIn, splitName } from './mode';
import { BURSTS, runBursts, USUAL_BURSTS } from './run-bursts';
import { runFaults } from './run-faults';
import type { RunResult } from './run-result';
import type { Patience, RunSetting } from './run-service';
import { scenarioNamed, scenarios } from './scenarios/scenarios';
import { planSteps, possibleKinds, type Schedule } from './schedule';

const FULL_RATES = { bulk: 4, volume: 150, sparse: 5, sequential: 3 };
const ONE_KIND_RATES = { bulk: 40, volume: 20, sparse: 10, sequential: 6 };
// Leaves room on two cores for whatever else runs there.
const MIXED_RATES = { bulk: 20, volume: 10, sparse: 6, sequential: 4 };

// A worker whose clock was five minutes ahead or behind may have put something off by as much.
const FULL_PATIENCE: Patience = { stuckAfterMs: 480_000, silentForMs: 75_000 };
// Longer than a minute: for so long the probe of a worker that died keeps others waiting, and its breaker is half open.
const QUICK_PATIENCE: Patience = { stuckAfterMs: 80_000, silentForMs: 40_000 };
const SHORT_PATIENCE: Patience = { stuckAfterMs: 70_000, silentForMs: 35_000 };

// More in one life of the service would make what is found hard to put down to one; less, more starts than faults.
const FAULTS_A_LIFE = 40;
const FULL_PAUSE_MS = 1_000;
const QUICK_BURSTS = 5;
// Short: a life of a few minutes is to have most of what it delivers move.
const MOVE_AFTER_MS = [0, 500, 1_000, 2_000];

// What shorter runs have no time for.
const QUICK_LEAVES_OUT = new Set(['none', 'worker-clock-ahead', 'worker-clock-behind', 'redis-outage-7s']);
const SHORT_KINDS = new Set([
  'worker-kill',
  'worker-restart',
  'worker-stop-2s',
  'worker-cut',
  'worker-stall',
  'worker-half-open',
  'late-success',
  'api-kill',
  'api-cut',
  'api-stall',
  'api-clock-ahead',
  'api-clock-behind',
  'redis-outage-1s',
  'redis-torn-file',
  'redis-out-of-memory',
  'duplicate-publishes',
  'erase-while-waiting',
  'poison-jobs',
  'receiver-reset',
  'token-slow',
  'vm-pause',
  'history-kill',
  'history-mover-kill',
  'history-cut',
  'history-right',
  'history-rehydration',
]);
// Two of each in a short run: which faults are in a pair, the seed says.
const SHORT_PAIRS = new Set(['pairs', 'history-pairs']);

/** All that can be broken. */
const plainNames: readonly string[] = [
  ...faultKinds.map(({ name }) => name),
  BURSTS,
  ...scenarios.map(({ name }) => name),
];

/** All that can be asked for by name. */
export const names: readonly string[] = inAllModes(plainNames);

/** What a suite of many kinds is to do with. */
export interface SuiteSetting extends RunSetting {
  /** Whether a fault of this name is wanted. */
  readonly isWanted: (name: string) => boolean;
}

/**
 * Everything, as often as a published table needs it: many faults in few lives of the service, and what needs one of its own.
 * @param count how often each fault, instead of the usual number.
 */
export async function* runFull(setting: SuiteSetting, count?: number): AsyncGenerator<RunResult> {
  const obstacle = modeObstacle(setting.mode);
  if (obstacle !== undefined) return say(`LEFT OUT: ${setting.mode}: ${obstacle}`);
  const wanted = faultKinds.filter(({ name }) => setting.isWanted(name));
  const kinds = (await possibleKinds(wanted, say)).flatMap((kind) =>
    Array<typeof kind>(count ?? kind.usualCount).fill(kind),
  );
  const steps = planSteps(setting.random.shuffle(kinds), setting.random);
  const lives = dealOut(steps, setting.mode === 'durable');
  for (const [i, schedule] of lives.entries()) {
    const fault = `life ${i + 1} of ${lives.length}`;
    yield* goOn(fault, setting, () => runSchedule(schedule, { ...setting, fault, rates: FULL_RATES }));
  }
  for (const name of [BURSTS, ...scenarios.map((scenario) => scenario.name)].filter(setting.isWanted)) {
    try {
      yield* runOneKind(name, setting);
    } catch (error) {
      yield brokenOff(name, error, setting);
    }
  }
}

/** Every other life has a history, if a fault needs one; all of them, if each fault does, or the mode. */
function dealOut(schedule: Schedule, isHistoryKept: boolean): readonly Schedule[] {
  const ofHistory = schedule.filter(({ kind }) => kind.needsHistory === true);
  const others = schedule.filter(({ kind }) => kind.needsHistory !== true);
  const lives = Math.ceil(schedule.length / FAULTS_A_LIFE);
  const isAlways = others.length === 0 || lives === 1 || isHistoryKept;
  const historyLives = isAlways ? lives : Math.floor(lives / 2);
  return Array.from({ length: lives }, (_, life) => {
    const turn = isAlways ? life : life % 2 === 1 ? (life - 1) / 2 : undefined;
    // Dealt out, so that each life has its share of the long ones.
    const own = ofHistory.filter((_step, i) => i % historyLives === turn);
    const rest = others.filter((_step, i) => i % lives === life);
    return interleave(rest, own);
  });
}

/** Both in their order, spread evenly. */
function interleave(longer: Schedule, shorter: Schedule): Schedule {
  const placed = [longer, shorter].flatMap((steps) =>
    steps.map((step, i) => ({ step, at: (i + 0.5) / steps.length })),
  );
  return placed.sort((a, b) => a.at - b.at).map(({ step }) => step);
}

/** A life that breaks off is not to end the others: it is a finding. */
async function* goOn(
  fault: string,
  setting: RunSetting,
  run: () => Promise<RunResult>,
): AsyncGenerator<RunResult> {
  yield await run().catch((error: unknown) => brokenOff(fault, error, setting));
}

/** @throws the same error when it is what was asked for. */
function brokenOff(fault: string, error: unknown, { signal }: RunSetting): RunResult {
  if (signal.aborted) throw error;
  const text = error instanceof Error ? error.message : String(error);
  const findings = toFindings('the run broke off', [text]);
  return { fault, faults: [], tallies: [], acknowledged: 0, requests: 0, seconds: 0, findings };
}

export async function runSchedule(
  schedule: Schedule,
  options: RunSetting & { readonly fault: string; readonly rates?: typeof FULL_RATES },
): Promise<RunResult> {
  return await runFaults({
    rates: FULL_RATES,
    ...options,
    historyMoveAfterMs: moveAfterOf(schedule, options),
    patience: FULL_PATIENCE,
    pauseMs: FULL_PAUSE_MS,
    schedule,
  });
}

/** HISTORY_MOVE_AFTER of a life with these faults; undefined if it has no history. */
export function moveAfterOf(
  schedule: Schedule,
  { random, historyMoveAfterMs, mode }: RunSetting,
): number | undefined {
  const isNeeded = mode === 'durable' || schedule.some(({ kind }) => kind.needsHistory === true);
  return historyMoveAfterMs ?? (isNeeded ? random.fork().pick(MOVE_AFTER_MS) : undefined);
}

/**
 * One fault, again and again.
 * @param fullName may name a mode, which then goes before that of the setting.
 * @param count how often, instead of the usual number.
 */
export async function* runOneKind(
  fullName: string,
  usual: RunSetting,
  count?: number,
): AsyncGenerator<RunResult> {
  const { name, mode } = splitName(fullName, usual.mode);
  const fault = nameIn(name, mode);
  const setting = { ...usual, mode };
  const scenario = scenarioNamed(name);
  const obstacle = modeObstacle(mode) ?? (await scenario?.obstacle?.(mode));
  if (obstacle !== undefined) return say(`LEFT OUT: ${fault}: ${obstacle}`);
  if (name === BURSTS) {
    yield await runBursts({ ...setting, patience: FULL_PATIENCE, bursts: count ?? USUAL_BURSTS });
  } else if (scenario) {
    for (let run = 0; run < (count ?? scenario.usualCount); run += 1)
      yield await scenario.run({ ...setting, fault });
  } else {
    const kind = faultKindNamed(name);
    if (!kind) throw new Error(`There is no fault "${name}". The faults are: ${plainNames.join(', ')}.`);
    for (let left = count ?? kind.usualCount; left > 0; left -= FAULTS_A_LIFE) {
      const possible = await possibleKinds(
        Array.from({ length: Math.min(left, FAULTS_A_LIFE) }, () => kind),
        say,
      );
      if (possible.length === 0) return;
      const schedule = planSteps(possible, setting.random);
      yield await runSchedule(schedule, { ...setting, fault, rates: ONE_KIND_RATES });
    }
  }
}

/** Ends within six minutes: most kinds of fault once, in two lives of the service, and a few bursts. */
export async function* runQuick(setting: SuiteSetting): AsyncGenerator<RunResult> {
  const kinds = faultKinds.filter(({ name, isLong }) => !isLong && !QUICK_LEAVES_OUT.has(name));
  yield* runMixed(kinds, { ...setting, patience: QUICK_PATIENCE, pauseMs: 1_000 });
  if (setting.isWanted(BURSTS))
    yield await runBursts({ ...setting, patience: SHORT_PATIENCE, bursts: QUICK_BURSTS });
}

/** Ends within two minutes: what `npm test` has time for. */
export async function* runShort(setting: SuiteSetting): AsyncGenerator<RunResult> {
  const kinds = faultKinds.filter(({ name }) => SHORT_KINDS.has(name));
  const pairs = faultKinds.filter(({ name }) => SHORT_PAIRS.has(name));
  yield* runMixed([...kinds, ...pairs, ...pairs], { ...setting, patience: SHORT_PATIENCE, pauseMs: 1_000 });
}

/** Half of the faults strike a service without a history. */
async function* runMixed(
  kinds: typeof faultKinds,
  options: SuiteSetting & { readonly patience: Patience; readonly pauseMs: number },
): AsyncGenerator<RunResult> {
  const obstacle = modeObstacle(options.mode);
  if (obstacle !== undefined) return say(`LEFT OUT: ${options.mode}: ${obstacle}`);
  const wanted = kinds.filter(({ name }) => options.isWanted(name));
  const possible = await possibleKinds(options.random.shuffle(wanted), say);
  const others = possible.filter(({ needsHistory }) => needsHistory !== true);
  const ofHistory = possible.filter(({ needsHistory }) => needsHistory === true);
  const half = ofHistory.length === 0 ? others.length : Math.ceil(others.length / 2);
  const lives = [
    { fault: 'mixed', schedule: planSteps(others.slice(0, half), options.random) },
    {
      fault: 'mixed, with a history',
      schedule: planSteps(options.random.shuffle([...others.slice(half), ...ofHistory]), options.random),
    },
  ];
  for (const { fault, schedule } of lives) {
    if (schedule.length === 0) continue;
    const historyMoveAfterMs = moveAfterOf(schedule, options);
    yield await runFaults({ ...options, historyMoveAfterMs, schedule, fault, rates: MIXED_RATES });
  }
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
