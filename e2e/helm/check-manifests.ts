import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ChartTools, PROJECT } from './chart-tools';
import type { KubernetesObject } from './render-chart';

const VALIDATOR = join(__dirname, 'validate-manifests.cjs');
const COMPILER = join(PROJECT, 'node_modules/.bin/tsc');
const OPTIONS = [
  '--ignoreConfig',
  '--noEmit',
  '--strict',
  '--skipLibCheck',
  '--target',
  'es2022',
  '--module',
  'preserve',
];

const PACKAGES: Readonly<Record<string, string>> = {
  'keda.sh/v1alpha1': '@kubernetes-models/keda',
  'monitoring.coreos.com/v1': '@kubernetes-models/prometheus-operator',
};

/** What Kubernetes' own schemas, and those of the custom resources, say against these objects: a line for each fault. */
export function findSchemaFaults({ folder }: ChartTools, objects: readonly KubernetesObject[]): string[] {
  const input = JSON.stringify(
    objects.map((object) => ({ module: moduleOf(object), kind: object.kind, object })),
  );
  const run = spawnSync(process.execPath, [VALIDATOR], { cwd: folder, input, encoding: 'utf8', env: {} });
  if (run.status !== 0) throw new Error(run.stderr);
  return JSON.parse(run.stdout) as string[];
}

/** Members that no schema knows: Kubernetes' schemas let them pass, the compiler does not. A line for each. */
export function findUnknownMembers({ folder }: ChartTools, objects: readonly KubernetesObject[]): string[] {
  const project = mkdtempSync(join(folder, 'manifests-'));
  try {
    const file = join(project, 'manifests.ts');
    writeFileSync(file, objects.map(declare).join(''));
    const run = spawnSync(COMPILER, [...OPTIONS, file], { cwd: project, encoding: 'utf8' });
    return run.status === 0 ? [] : run.stdout.split('\n').filter((line) => /error TS/.test(line));
  } finally {
    rmSync(project, { recursive: true });
  }
}

function declare(object: KubernetesObject, index: number): string {
  const { kind } = object;
  const model = `import { I${kind} as Model${index} } from '${moduleOf(object)}';\n`;
  return `${model}export const object${index}: Model${index} = ${JSON.stringify(object, undefined, 1)};\n`;
}

function moduleOf({ apiVersion, kind }: KubernetesObject): string {
  return `${PACKAGES[apiVersion] ?? 'kubernetes-models'}/${apiVersion}/${kind}`;
}
