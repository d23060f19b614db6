import { toFindings } from './checks/finding';
import { faultKindNamed, faultKinds } from './fault-kinds';
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
const QUICK_PATIENCE: Patience = { stuckAfterMs: 80_000, silentForMs: 40_000 };
const SHORT_PATIENCE: Patience = { stuckAfterMs: 50_000, silentForMs: 35_000 };

// More in one life of the service would make what is found hard to put down to one; less, more starts than faults.
const FAULTS_A_LIFE = 40;
const FULL_PAUSE_MS = 1_000;
const QUICK_BURSTS = 5;

// What shorter runs have no time for.
const QUICK_LEAVES_OUT = new Set(['none', 'worker-clock-ahead', 'worker-clock-behind', 'redis-outage-7s']);
const SHORT_KINDS = new Set([
  'worker-kill',
  'worker-restart',
  'worker-stop-2s',
  'worker-cut',
  'worker-stall',
  'worker-half-open',
  'api-kill',
  'api-cut',
  'api-stall',
  'redis-outage-1s',
  'redis-torn-file',
  'redis-out-of-memory',
  'duplicate-publishes',
  'poison-jobs',
  'receiver-reset',
]);

/** All that can be asked for by name. */
export const names: readonly string[] = [
  ...faultKinds.map(({ name }) => name),
  BURSTS,
  ...scenarios.map(({ name }) => name),
];

/** Everything, as often as a published table needs it: many faults in few lives of the service, and what needs one of its own. */
export async function* runFull(setting: RunSetting): AsyncGenerator<RunResult> {
  const kinds = (await possibleKinds(faultKinds, say)).flatMap((kind) =>
    Array<typeof kind>(kind.usualCount).fill(kind),
  );
  const schedule = planSteps(setting.random.shuffle(kinds), setting.random);
  const lives = Math.ceil(schedule.length / FAULTS_A_LIFE);
  for (let life = 0; life < lives; life += 1) {
    // Dealt out, so that each life has its share of the long ones.
    const part = schedule.filter((_, i) => i % lives === life);
    const fault = `life ${life + 1} of ${lives}`;
    yield* goOn(fault, setting, () => runSchedule(part, { ...setting, fault, rates: FULL_RATES }));
  }
  for (const name of [BURSTS, ...scenarios.map((scenario) => scenario.name)]) {
    try {
      yield* runOneKind(name, setting);
    } catch (error) {
      yield brokenOff(name, error, setting);
    }
  }
}

/** A life that breaks off is not to take the others along: it is a finding. */
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
  return { fault, validationErrors: [], tallies: [], acknowledged: 0, requests: 0, seconds: 0, findings };
}

export async function runSchedule(
  schedule: Schedule,
  options: RunSetting & { readonly fault: string; readonly rates?: typeof FULL_RATES },
): Promise<RunResult> {
  return await runFaults({
    rates: FULL_RATES,
    ...options,
    patience: FULL_PATIENCE,
    pauseMs: FULL_PAUSE_MS,
    schedule,
  });
}

/**
 * One fault, again and again.
 * @param count how often, instead of the usual number.
 */
export async function* runOneKind(
  name: string,
  setting: RunSetting,
  count?: number,
): AsyncGenerator<RunResult> {
  const scenario = scenarioNamed(name);
  if (name === BURSTS) {
    yield await runBursts({ ...setting, patience: FULL_PATIENCE, bursts: count ?? USUAL_BURSTS });
  } else if (scenario) {
    const obstacle = await scenario.obstacle?.();
    if (obstacle !== undefined) return say(`LEFT OUT: ${name}: ${obstacle}`);
    for (let run = 0; run < (count ?? scenario.usualCount); run += 1) yield await scenario.run(setting);
  } else {
    const kind = faultKindNamed(name);
    if (!kind) throw new Error(`There is no fault "${name}"; there are: ${names.join(', ')}.`);
    for (let left = count ?? kind.usualCount; left > 0; left -= FAULTS_A_LIFE) {
      const possible = await possibleKinds(
        Array.from({ length: Math.min(left, FAULTS_A_LIFE) }, () => kind),
        say,
      );
      if (possible.length === 0) return;
      const schedule = planSteps(possible, setting.random);
      yield await runSchedule(schedule, { ...setting, fault: name, rates: ONE_KIND_RATES });
    }
  }
}

/** Ends within four minutes: most kinds of fault once, in one life of the service, and a few bursts. */
export async function* runQuick(setting: RunSetting): AsyncGenerator<RunResult> {
  const kinds = faultKinds.filter(({ name, isLong }) => !isLong && !QUICK_LEAVES_OUT.has(name));
  yield await runMixed(kinds, { ...setting, patience: QUICK_PATIENCE, pauseMs: 1_000 });
  yield await runBursts({ ...setting, patience: SHORT_PATIENCE, bursts: QUICK_BURSTS });
}

/** Ends within two minutes: what `npm test` has time for. */
export async function* runShort(setting: RunSetting): AsyncGenerator<RunResult> {
  const kinds = faultKinds.filter(({ name }) => SHORT_KINDS.has(name));
  yield await runMixed(kinds, { ...setting, patience: SHORT_PATIENCE, pauseMs: 1_000 });
}

async function runMixed(
  kinds: typeof faultKinds,
  options: RunSetting & { readonly patience: Patience; readonly pauseMs: number },
): Promise<RunResult> {
  const possible = await possibleKinds(options.random.shuffle(kinds), say);
  const schedule = planSteps(possible, options.random);
  return await runFaults({ ...options, schedule, fault: 'mixed', rates: MIXED_RATES });
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
