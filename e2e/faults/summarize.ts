import type { RunResult } from './run-result';

/** What all runs with one fault came to: a row of the table, and of the JSON. */
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
  /** Everything that was found, by name, with how many cases there were. */
  readonly findings: Readonly<Record<string, number>>;
}

export function summarize(results: readonly RunResult[]): readonly Row[] {
  const names = [...new Set(results.map(({ fault }) => fault))];
  return names.map((name) =>
    toRow(
      name,
      results.filter(({ fault }) => fault === name),
    ),
  );
}

function toRow(fault: string, results: readonly RunResult[]): Row {
  const sum = (read: (result: RunResult) => number) => results.reduce((all, one) => all + read(one), 0);
  const recovery = results.flatMap(({ recoveryMs }) => recoveryMs).sort((a, b) => a - b);
  const findings: Record<string, number> = {};
  for (const { check, count } of results.flatMap((result) => result.findings)) {
    findings[check] = (findings[check] ?? 0) + count;
  }
  return {
    fault,
    runs: sum(({ faults }) => faults.length),
    acknowledged: sum(({ acknowledged }) => acknowledged),
    lost: sum(({ lost }) => lost),
    duplicates: sum(({ duplicates }) => duplicates),
    two_jobs: sum(({ twoJobs }) => twoJobs),
    recovery_ms_p50: recovery[Math.max(Math.ceil(recovery.length / 2) - 1, 0)] ?? null,
    recovery_ms_max: recovery.at(-1) ?? null,
    findings,
  };
}
