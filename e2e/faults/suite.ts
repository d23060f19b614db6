import { faultKinds } from './fault-kinds';
import { BURSTS, runBursts, USUAL_BURSTS } from './run-bursts';
import { runFaults } from './run-faults';
import type { RunResult } from './run-result';
import type { Patience, RunSetting } from './run-service';

const FULL_RATES = { bulk: 60, sparse: 10, sequential: 6 };
// Leaves room on two cores for whatever else runs there.
const MIXED_RATES = { bulk: 30, sparse: 8, sequential: 5 };

// A job of a killed worker may wait for twice JOB_LOCK_DURATION, and what is behind it in order as well.
const FULL_PATIENCE: Patience = { drainWithinMs: 240_000, silentForMs: 75_000 };
const QUICK_PATIENCE: Patience = { drainWithinMs: 80_000, silentForMs: 40_000 };
const SHORT_PATIENCE: Patience = { drainWithinMs: 50_000, silentForMs: 35_000 };

// More in one life of the service would tell nothing more, and what is lost would be harder to put down to one.
const MOST_FAULTS_A_RUN = 10;
const QUICK_BURSTS = 5;

// Those that a mixed run has no time for.
const LONG = new Set(['none', 'worker-stop-long']);

/** Kinds of fault by name, and the calm case with bursts. */
export const names: readonly string[] = [...faultKinds.map(({ name }) => name), BURSTS];

/**
 * One fault, again and again, in lives of the service that know nothing else.
 * @param count how often, instead of the usual number.
 */
export async function* runOneKind(
  name: string,
  setting: RunSetting,
  count?: number,
): AsyncGenerator<RunResult> {
  const patience = FULL_PATIENCE;
  if (name === BURSTS) {
    yield await runBursts({ ...setting, patience, bursts: count ?? USUAL_BURSTS });
    return;
  }
  const kind = faultKinds.find((one) => one.name === name);
  if (!kind) throw new Error(`There is no fault "${name}"; there are: ${names.join(', ')}.`);
  for (let left = count ?? kind.usualCount; left > 0; left -= MOST_FAULTS_A_RUN) {
    const plan = Array.from({ length: Math.min(left, MOST_FAULTS_A_RUN) }, () => kind);
    yield await runFaults({ ...setting, patience, plan, fault: name, rates: FULL_RATES, pauseMs: 4_000 });
  }
}

/** Ends within four minutes: each kind of fault once, in one life of the service, and a few bursts. */
export async function* runQuick(setting: RunSetting): AsyncGenerator<RunResult> {
  yield await runMixed({ ...setting, patience: QUICK_PATIENCE, pauseMs: 2_000 });
  yield await runBursts({ ...setting, patience: SHORT_PATIENCE, bursts: QUICK_BURSTS });
}

/** Ends within two minutes: what `npm test` has time for. */
export async function* runShort(setting: RunSetting): AsyncGenerator<RunResult> {
  yield await runMixed({ ...setting, patience: SHORT_PATIENCE, pauseMs: 1_000 });
}

async function runMixed(
  options: RunSetting & { readonly patience: Patience; readonly pauseMs: number },
): Promise<RunResult> {
  const plan = options.random.shuffle(faultKinds.filter(({ name }) => !LONG.has(name)));
  return await runFaults({ ...options, plan, fault: 'mixed', rates: MIXED_RATES });
}
