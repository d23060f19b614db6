import type { FaultTally, RunResult } from './run-result';

/** What all injections of one fault came to: a row of the table, and of the JSON. */
export interface Row {
  readonly fault: string;
  /** How often it was injected. */
  readonly runs: number;
  readonly acknowledged: number;
  readonly lost: number;
  readonly duplicates: number;
  readonly two_jobs: number;
  readonly recovery_ms_p50: number | null;
  readonly recovery_ms_max: number | null;
}

/** @param order the names of faults as they are to be listed; others come after them. */
export function summarize(results: readonly RunResult[], order: readonly string[] = []): readonly Row[] {
  const tallies = results.flatMap((result) => result.tallies);
  const names = new Set([...order, ...tallies.map(({ kind }) => kind)]);
  return [...names].flatMap((name) => {
    const ofFault = tallies.filter(({ kind }) => kind === name);
    return ofFault.length === 0 ? [] : [toRow(name, ofFault)];
  });
}

/** All rows as one. */
export function totalOf(results: readonly RunResult[]): Row {
  return toRow(
    'all',
    results.flatMap(({ tallies }) => tallies),
  );
}

function toRow(fault: string, tallies: readonly FaultTally[]): Row {
  const sum = (read: (tally: FaultTally) => number) => tallies.reduce((all, one) => all + read(one), 0);
  const recovery = tallies.flatMap(({ recoveryMs }) => recoveryMs).sort((a, b) => a - b);
  return {
    fault,
    runs: tallies.length,
    acknowledged: sum(({ acknowledged }) => acknowledged),
    lost: sum(({ lost }) => lost),
    duplicates: sum(({ duplicates }) => duplicates),
    two_jobs: sum(({ twoJobs }) => twoJobs),
    recovery_ms_p50: recovery[Math.max(Math.ceil(recovery.length / 2) - 1, 0)] ?? null,
    recovery_ms_max: recovery.at(-1) ?? null,
  };
}
