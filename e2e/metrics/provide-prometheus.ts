import { provideProgram } from '../support/provide-program';

export interface PrometheusPrograms {
  readonly prometheus: string;
  readonly promtool: string;
}

/** The programs, fetched once, or the reason why nothing is tried, told where nobody can overlook it. */
export function prometheusOrSkip(what: string): PrometheusPrograms | undefined {
  const provided = provideProgram<PrometheusPrograms>(
    'tools/prometheus/find-prometheus.mjs',
    'findPrometheus()',
  );
  if ('program' in provided) return provided.program;
  process.stderr.write(`SKIPPED: ${what}, because there is no Prometheus: ${provided.refusal}\n`);
  return undefined;
}
