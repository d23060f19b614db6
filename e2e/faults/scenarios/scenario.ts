import type { Mode } from '../mode';
import type { RunResult } from '../run-result';
import type { RunOptions, RunSetting } from '../run-service';

/** What a scenario is run with, and its name. */
export type ScenarioSetting = RunSetting & Pick<RunOptions, 'fault'>;

/** What needs a life of the service of its own. */
export interface Scenario {
  readonly name: string;
  /** In a sentence, for the list that `--help` prints. */
  readonly what: string;
  readonly usualCount: number;
  /** Why it can't be had in this mode, or on this machine; undefined where it can. */
  readonly obstacle?: (mode: Mode | undefined) => Promise<string | undefined>;
  readonly run: (setting: ScenarioSetting) => Promise<RunResult>;
}
