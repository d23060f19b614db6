import { type FaultKind, faultKinds } from './fault-kinds';
import type { Random } from './random';
import { BURSTS, runBursts, USUAL_BURSTS } from './run-bursts';
import { runFaults } from './run-faults';
import type { RunResult } from './run-result';
import type { Patience, RunOptions } from './run-service';

const FULL_RATES = { bulk: 60, sparse: 8, sequential: 6 };
// Leaves room on two cores for whatever else runs there.
const MIXED_RATES = { bulk: 30, sparse: 6, sequential: 5 };

// A job of a killed worker may wait for twice JOB_LOCK_DURATION, and what is behind it in order as well.
const FULL_PATIENCE: Patience = { drainWithinMs: 240_000, silentForMs: 75_000 };
const QUICK_PATIENCE: Patience = { drainWithinMs: 80_000, silentForMs: 40_000 };
const SHORT_PATIENCE: Patience = { drainWithinMs: 45_000, silentForMs: 20_000 };

// More in one life of the service would tell nothing more, and what is lost would be harder to put down to one.
const MOST_FAULTS_A_RUN = 10;
const QUICK_BURSTS = 5;

// Those that a mixed run has no time for.
const LONG = new Set(['none', 'worker-stop-long']);

export interface SuiteOptions {
  readonly build: string;
  readonly random: Random;
  readonly keep: RunOptions['keep'];
  /** How often each fault is injected, instead of the usual number. */
  readonly count: number | undefined;
}

/** Kinds of fault by name, and the calm case with bursts. */
export const names: readonly string[] = [...faultKinds.map(({ name }) => name), BURSTS];

/** One fault, again and again, in lives of the service that know nothing else. */
export async function* runOneKind(name: string, options: SuiteOptions): AsyncGenerator<RunResult> {
  const { build, random, keep, count } = options;
  if (name === BURSTS) {
    yield await runBursts({ build, random, keep, bursts: count ?? USUAL_BURSTS, patience: FULL_PATIENCE });
    return;
  }
  const kind = faultKinds.find((one) => one.name === name);
  if (!kind) throw new Error(`There is no fault "${name}"; there are: ${names.join(', ')}.`);
  const fault = {
    build,
    random,
    keep,
    fault: name,
    rates: FULL_RATES,
    pauseMs: 4_000,
    patience: FULL_PATIENCE,
  };
  for (let left = count ?? kind.usualCount; left > 0; left -= MOST_FAULTS_A_RUN) {
    const plan = Array.from({ length: Math.min(left, MOST_FAULTS_A_RUN) }, () => kind);
    yield await runFaults({ ...fault, plan });
  }
}

/** Ends within four minutes: each kind of fault once, in one life of the service, and a few bursts. */
export async function* runQuick({ build, random, keep }: SuiteOptions): AsyncGenerator<RunResult> {
  const patience = QUICK_PATIENCE;
  yield await runFaults({
    ...{ build, random, keep, patience, rates: MIXED_RATES, pauseMs: 2_000, fault: 'mixed' },
    plan: mixedPlan(random),
  });
  yield await runBursts({ build, random, keep, patience, bursts: QUICK_BURSTS });
}

/** Ends within two minutes: what `npm test` has time for. */
export async function* runShort({ build, random, keep }: SuiteOptions): AsyncGenerator<RunResult> {
  yield await runFaults({
    ...{ build, random, keep, patience: SHORT_PATIENCE, rates: MIXED_RATES, pauseMs: 1_000, fault: 'mixed' },
    plan: mixedPlan(random),
  });
}

function mixedPlan(random: Random): readonly FaultKind[] {
  return random.shuffle(faultKinds.filter(({ name }) => !LONG.has(name)));
}
