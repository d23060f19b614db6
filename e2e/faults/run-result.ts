import type { Finding } from './checks/finding';
import type { InjectedFault } from './ledger';

/** What came of one fault. Events and pairs belong to the fault that was nearest in time. */
export interface FaultTally {
  readonly kind: string;
  /** Events. */
  readonly acknowledged: number;
  /** Pairs of event and endpoint, as the two below. */
  readonly lost: number;
  readonly duplicates: number;
  readonly twoJobs: number;
  readonly recoveryMs: readonly number[];
}

/** What came of one run of the service. */
export interface RunResult {
  readonly fault: string;
  /** What was injected; of a calm run, the stretches of calm. */
  readonly faults: readonly InjectedFault[];
  /** One for each fault, in their order. */
  readonly tallies: readonly FaultTally[];
  /** Events. */
  readonly acknowledged: number;
  readonly requests: number;
  readonly seconds: number;
  readonly findings: readonly Finding[];
  /** The folder of the processes' logs, which a run with findings leaves. */
  readonly logs?: string;
}
