import type { Finding } from './checks/finding';
import type { InjectedFault } from './ledger';

/** What came of one run of the service. */
export interface RunResult {
  readonly fault: string;
  /** What was injected; of a calm run, the stretches of calm. */
  readonly faults: readonly InjectedFault[];
  /** Events. */
  readonly acknowledged: number;
  /** Pairs of event and endpoint, as the two below. */
  readonly lost: number;
  readonly duplicates: number;
  readonly twoJobs: number;
  readonly requests: number;
  readonly seconds: number;
  readonly recoveryMs: readonly number[];
  readonly findings: readonly Finding[];
}
