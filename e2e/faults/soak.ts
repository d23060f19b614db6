import { faultKinds } from './fault-kinds';
import { Random } from './random';
import type { RunResult } from './run-result';
import { formatSchedule, planSteps, possibleKinds, type Schedule } from './schedule';
import { shrink } from './shrink';
import { moveAfterOf, runSchedule, type SuiteSetting } from './suite';

export const USUAL_SOAK_MINUTES = 5;
export const MOST_SOAK_MINUTES = 24 * 60;
const FAULTS_A_SCHEDULE = 6;
// Each try is a life of the service, with all the patience it takes.
const MOST_TRIES = 12;

export interface SoakOptions extends SuiteSetting {
  readonly minutes: number;
  /** Of the first schedule; each one after it has the next number. */
  readonly seed: number;
  readonly say: (text: string) => void;
}

/** Random schedules one after the other, until time is over or one fails, which is then made as short as it can be. */
export async function* soak({ minutes, seed, say, ...setting }: SoakOptions): AsyncGenerator<RunResult> {
  const until = Date.now() + minutes * 60_000;
  const kinds = await possibleKinds(
    faultKinds.filter(({ name, isLong }) => !isLong && setting.isWanted(name)),
    say,
  );
  const ordinary = kinds.filter(({ needsHistory }) => needsHistory !== true);
  for (let number = seed; Date.now() < until; number += 1) {
    const random = new Random(number);
    // Every other one has a history, if there can be one.
    const isPlain = number % 2 === 0 && ordinary.length > 0;
    const picked = Array.from({ length: FAULTS_A_SCHEDULE }, () => random.pick(isPlain ? ordinary : kinds));
    const schedule = planSteps(picked, random);
    const historyMoveAfterMs = moveAfterOf(schedule, { ...setting, random });
    const run = async (part: Schedule) =>
      await runSchedule(part, {
        ...setting,
        historyMoveAfterMs,
        random: new Random(number),
        fault: `soak ${number}`,
      });
    const result = await run(schedule);
    yield result;
    if (result.findings.length === 0) continue;
    say(`seed ${number} failed: ${formatSchedule(schedule)}`);
    const shortest = await shortestFailing(schedule, run, say);
    const history = historyMoveAfterMs === undefined ? '' : ` --history ${historyMoveAfterMs}`;
    const mode = setting.mode === undefined ? '' : ` --mode ${setting.mode}`;
    say(`npm run faults -- --seed ${number}${mode}${history} --schedule ${formatSchedule(shortest)}`);
    return;
  }
}

async function shortestFailing(
  schedule: Schedule,
  run: (part: Schedule) => Promise<RunResult>,
  say: (text: string) => void,
): Promise<Schedule> {
  let tries = 0;
  const fails = async (part: Schedule) => {
    tries += 1;
    const { findings } = await run(part);
    say(`${formatSchedule(part)}: ${findings.length === 0 ? 'all as promised' : 'fails as well'}`);
    return findings.length > 0;
  };
  return await shrink(schedule, { fails, mayTry: () => tries < MOST_TRIES });
}
