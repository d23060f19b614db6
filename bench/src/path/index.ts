import { mkdir } from 'node:fs/promises';
import { compare } from '../compare';
import { roundsOf, type SuiteOptions } from '../options';
import { writeJson } from '../report';
import { inShort, measurePaths, measureSaturated, type PathSize, pathFigures } from './measure';
import { runOwnScenes } from './own-scenes';
import { runScenes, scenesOf } from './scenes';
import { onStage, type PathContender, plainContender, type StageOptions, serviceContender } from './stage';

const SIZE: PathSize = { saturatedEvents: 20_000, steadySeconds: 20, idleSeconds: 20 };
const SHORT_SIZE: PathSize = { saturatedEvents: 2_000, steadySeconds: 5, idleSeconds: 3 };

/** What an event costs from HTTP to its receiver, beside what a team would write by hand in an afternoon, in turn. */
export async function runPathSuite(options: SuiteOptions): Promise<void> {
  const size = options.short ? SHORT_SIZE : SIZE;
  process.stderr.write(`  Node ${process.version}\n`);
  const service = serviceContender(options);
  const scenes = scenesOf(options);
  const [scene] = scenes;
  if (options.profile !== undefined)
    return await profilePath(service, size.saturatedEvents, options.profile, scene);
  if (options.scenes) return await runOwnScenes(options);
  if (scene) return await runScenes(scenes, options);
  const result = await compare({
    title: 'From HTTP to the receiver',
    rounds: roundsOf(options),
    sides: [plainContender, service],
    figures: pathFigures,
    measure: (contenders) => measurePaths(contenders, size),
    inShort: ({ saturated }) => inShort(saturated),
  });
  await writeJson(options.json, result);
}

/** A profile of each process under load stays in the folder, for tools that show them: Chrome, or an editor. */
async function profilePath(
  contender: PathContender,
  events: number,
  folder: string,
  scene: StageOptions = {},
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const pids = await onStage(
    contender,
    async (stage) => {
      await measureSaturated(stage, events);
      return { API: stage.pair.api.pid, worker: stage.pair.worker.pid };
    },
    { ...scene, nodeOptions: ['--cpu-prof', `--cpu-prof-dir=${folder}`] },
  );
  for (const [part, pid] of Object.entries(pids))
    process.stdout.write(`${part}: ${folder}/CPU.*.${pid}.*.cpuprofile\n`);
}
