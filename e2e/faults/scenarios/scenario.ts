import type { RunResult } from '../run-result';
import type { RunSetting } from '../run-service';

/** Of what is tried with it as well. */
export const DURABLE = ', with INTAKE=durable: nothing acknowledged may be lost';

/** What needs a life of the service of its own. */
export interface Scenario {
  readonly name: string;
  /** In a sentence, for the list that `--help` prints. */
  readonly what: string;
  readonly usualCount: number;
  /** Why it can't be had on this machine; undefined where it can. */
  readonly obstacle?: () => Promise<string | undefined>;
  readonly run: (setting: RunSetting) => Promise<RunResult>;
}
