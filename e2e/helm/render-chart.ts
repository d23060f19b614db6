import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { PROJECT } from './chart-tools';

export const CHART = join(PROJECT, 'docker/helm');

export type Values = Readonly<Record<string, unknown>>;

const objectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), labels: z.record(z.string(), z.string()) }),
});

export type KubernetesObject = z.infer<typeof objectSchema>;

export interface Release {
  readonly name: string;
  readonly namespace: string;
}

const RELEASE: Release = { name: 'hooks', namespace: 'shop' };

/**
 * What the real helm makes of the chart.
 *
 * @throws Error with what helm says, if it refuses.
 */
export function renderChart(
  helm: string,
  values: Values,
  { name, namespace }: Release = RELEASE,
  chart = CHART,
): readonly KubernetesObject[] {
  const parameters = ['template', name, chart, '--namespace', namespace, '--values', '-'];
  // Nothing of our environment: it is a program that others packed.
  const run = spawnSync(helm, parameters, { input: JSON.stringify(values), encoding: 'utf8', env: {} });
  if (run.status !== 0) throw new Error(run.error?.message ?? run.stderr);
  const documents = parseAllDocuments(run.stdout, { version: '1.1' });
  if (!Array.isArray(documents)) throw new Error('Helm wrote nothing.');
  return documents.flatMap((document) => {
    const [fault] = document.errors;
    if (fault !== undefined) throw fault;
    const content: unknown = document.toJS();
    return content === null ? [] : [objectSchema.parse(content)];
  });
}

// Files of the chart but those in templates/ can be read by templates: its text gets an object there.
const SHOWN_NOTES = `apiVersion: v1
kind: ConfigMap
metadata: { name: notes, labels: {} }
data: { notes: {{ tpl (.Files.Get "NOTES.txt") . | quote }} }
`;

/** What Helm says after an installation. `helm template` leaves it out, and installing takes a cluster. */
export function renderNotes(helm: string, values: Values): string {
  const folder = mkdtempSync(join(tmpdir(), 'webhooks-notes-'));
  try {
    cpSync(CHART, folder, { recursive: true, dereference: true });
    renameSync(join(folder, 'templates/NOTES.txt'), join(folder, 'NOTES.txt'));
    writeFileSync(join(folder, 'templates/notes.yaml'), SHOWN_NOTES);
    return String(
      valueAt(findObject(renderChart(helm, values, RELEASE, folder), 'ConfigMap', 'notes'), 'data.notes'),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @throws Error if there is not exactly one. */
export function findObject(
  objects: readonly KubernetesObject[],
  kind: string,
  name: string,
): KubernetesObject {
  const found = objects.filter((object) => object.kind === kind && object.metadata.name === name);
  const [object] = found;
  if (object === undefined || found.length > 1) throw new Error(`${found.length} × ${kind} ${name}`);
  return object;
}

/** What is at a path such as `spec.template.spec.containers.0.image`; undefined if nothing is. */
export function valueAt(object: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, part) => {
    if (typeof value !== 'object' || value === null) return undefined;
    return (value as Record<string, unknown>)[part];
  }, object);
}
