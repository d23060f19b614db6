import { historyObstacle } from '../kinds/history-faults';
import type { RunResult } from '../run-result';
import type { RunOptions, RunSetting } from '../run-service';

/** What a scenario is run with: its name, and the promise that the service gives. */
export type ScenarioSetting = RunSetting & Pick<RunOptions, 'fault' | 'confirmedBy' | 'isDurable'>;

/** What needs a life of the service of its own. */
export interface Scenario {
  readonly name: string;
  /** In a sentence, for the list that `--help` prints. */
  readonly what: string;
  readonly usualCount: number;
  /** Why it can't be had on this machine; undefined where it can. */
  readonly obstacle?: () => Promise<string | undefined>;
  readonly run: (setting: ScenarioSetting) => Promise<RunResult>;
}

/** The same, where a replica confirms what is acknowledged: none of that may be lost. */
export function confirmed(scenario: Scenario): Scenario {
  return {
    ...scenario,
    name: `${scenario.name}-confirmed`,
    what: `${scenario.name} with REDIS_CONFIRMED_BY=1: nothing acknowledged may be lost`,
    run: (setting) => scenario.run({ ...setting, confirmedBy: 1 }),
  };
}

/** The same, where PostgreSQL has what is acknowledged: none of that may be lost. */
export function durable(scenario: Scenario): Scenario {
  return {
    ...scenario,
    name: `${scenario.name}-durable`,
    what: `${scenario.what}, with INTAKE=durable: nothing acknowledged may be lost`,
    obstacle: async () => (await scenario.obstacle?.()) ?? historyObstacle(),
    run: (setting) => scenario.run({ ...setting, isDurable: true }),
  };
}
