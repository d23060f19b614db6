/** What events cost that are sent later, in another shape, in groups, or several in one request. */
import { printVerdicts, type Verdict } from '../path/compare';
import { writeJson } from '../report';
import type { SuiteOptions } from '../suite';
import { batches } from './batches';
import { groups } from './groups';
import type { Scene } from './scene';
import { scheduled } from './scheduled';
import { transformations } from './transformations';

const scenes: ReadonlyMap<string, Scene> = new Map([
  ['batches', batches],
  ['groups', groups],
  ['transformations', transformations],
  ['scheduled', scheduled],
]);

export async function runShapesSuite(options: SuiteOptions): Promise<void> {
  const ratios: Verdict[] = [];
  const raw: Record<string, unknown> = {};
  for (const [name, scene] of wishedScenes(options.scene)) {
    process.stderr.write(`  ${name}: ${scene.title}\n`);
    const measured = await scene.measure(options);
    printVerdicts(`${name}: ${scene.title}`, measured.verdicts, scene.sides);
    ratios.push(...measured.verdicts);
    raw[name] = measured.raw;
    // What was measured is kept when a later scene breaks off.
    await writeJson(options.json, { ratios, raw });
  }
}

function wishedScenes(wished: string | undefined): readonly (readonly [string, Scene])[] {
  if (wished === undefined) return [...scenes];
  const scene = scenes.get(wished);
  if (!scene)
    throw new Error(`There is no scene "${wished}". The scenes are: ${[...scenes.keys()].join(', ')}.`);
  return [[wished, scene]];
}
