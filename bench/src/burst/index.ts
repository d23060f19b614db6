import { printTable } from '../report/print-table';
import { writeJson } from '../report/write-json';
import type { SuiteOptions } from '../suite';
import { measureScene, type SceneResult } from './measure-scene';
import type { Scene } from './scene';
import { scenesOf } from './scenes';

interface Row {
  readonly name: string;
  readonly result: SceneResult;
}

/** What an endpoint with light traffic notices when others get a great deal at once, or fail in their ways. */
export async function runBurstSuite({ short, build, json, scene, shards }: SuiteOptions): Promise<void> {
  const times = short ? { quietSeconds: 3, afterSeconds: 2 } : { quietSeconds: 10, afterSeconds: 5 };
  const rows: Row[] = [];
  for (const each of wishedScenes(scenesOf(short), scene)) {
    process.stderr.write(`  ${each.name}\n`);
    rows.push({ name: each.name, result: await measureScene(each, { build, shards, ...times }) });
  }
  printLatencies(rows);
  printFacts(rows);
  await writeJson(json, { rows: rows.map(toJson) });
}

function wishedScenes(scenes: ReadonlyMap<string, Scene>, wished: string | undefined): readonly Scene[] {
  if (wished === undefined) return [...scenes.values()];
  const scene = scenes.get(wished);
  if (!scene) throw new Error(`There is no scene "${wished}"; there are: ${[...scenes.keys()].join(', ')}.`);
  return [scene];
}

function printLatencies(rows: readonly Row[]): void {
  printTable('From publishing to an endpoint of another account, 20 events a second, ms', [
    [
      '',
      'p50 before',
      'during',
      'after',
      'p99 before',
      'during',
      'after',
      'p99 ratio',
      'lasted, s',
      'missing',
      'cores of others',
    ],
    ...rows.map(({ name, result: { quiet, during, after, duringSeconds, coresOfOthers, missing } }) => [
      name,
      ...[quiet.p50, during.p50, after.p50, quiet.p99, during.p99, after.p99].map((ms) => ms.toFixed(1)),
      (during.p99 / quiet.p99).toFixed(1),
      duringSeconds.toFixed(1),
      String(missing),
      coresOfOthers.toFixed(1),
    ]),
  ]);
}

function printFacts(rows: readonly Row[]): void {
  printTable('What came of the trouble itself', [
    ['', 'figure', 'value'],
    ...rows.flatMap(({ name, result }) =>
      Object.entries(result.facts).map(([fact, value], i) => [i === 0 ? name : '', fact, readable(value)]),
    ),
  ]);
}

function readable(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(value < 100 ? 2 : 0);
}

function toJson({
  name,
  result: { quiet, during, after, duringSeconds, coresOfOthers, missing, facts },
}: Row) {
  return {
    name,
    quiet_p50: quiet.p50,
    quiet_p99: quiet.p99,
    during_p50: during.p50,
    during_p99: during.p99,
    after_p50: after.p50,
    after_p99: after.p99,
    during_s: duringSeconds,
    missing,
    cores_of_others: coresOfOthers,
    ...facts,
  };
}
