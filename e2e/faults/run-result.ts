import type { Finding } from './checks/finding';

/** What came of one run of the service. */
export interface RunResult {
  readonly fault: string;
  /** How many faults were injected; of a calm run, how many stretches of calm. */
  readonly injections: number;
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
