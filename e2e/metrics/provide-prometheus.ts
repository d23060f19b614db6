import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const PROJECT = join(__dirname, '../..');
const PROGRAM = `
  import { findPrometheus } from './tools/prometheus/find-prometheus.mjs';
  console.log(JSON.stringify(await findPrometheus()));
`;
const FETCH_TIMEOUT_MS = 180_000;

export interface PrometheusPrograms {
  readonly prometheus: string;
  readonly promtool: string;
}

export type ProvidedPrometheus = { readonly program: PrometheusPrograms } | { readonly refusal: string };

/** A real Prometheus, fetched once. At once, since jest has to know before it starts whether there is anything to run. */
function providePrometheus(): ProvidedPrometheus {
  try {
    const args = ['--input-type=module', '--eval', PROGRAM];
    const options = { cwd: PROJECT, encoding: 'utf8', timeout: FETCH_TIMEOUT_MS } as const;
    const said = execFileSync(process.execPath, args, options);
    return JSON.parse(said.trim().split('\n').at(-1) ?? '') as ProvidedPrometheus;
  } catch (error) {
    return { refusal: String(error) };
  }
}

/** The programs, or the reason why nothing is tried, told where nobody can overlook it. */
export function prometheusOrSkip(what: string): PrometheusPrograms | undefined {
  const provided = providePrometheus();
  if ('program' in provided) return provided.program;
  process.stderr.write(`SKIPPED: ${what}, because there is no Prometheus: ${provided.refusal}\n`);
  return undefined;
}
