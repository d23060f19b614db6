import { mkdir } from 'node:fs/promises';
import { writeJson } from '../report';
import type { SuiteOptions } from '../suite';
import { compareFigures, inRounds, printVerdicts } from './compare';
import { inShort, measurePaths, measureSaturated, type PathSize, pathFigures } from './measure';
import { runOwnScenes } from './own-scenes';
import { runScenes, scenesOf } from './scenes';
import { onStage, type PathContender, plainContender, type StageOptions, serviceContender } from './stage';

const SIZE: PathSize = { saturatedEvents: 20_000, steadySeconds: 20, idleSeconds: 20 };
const SHORT_SIZE: PathSize = { saturatedEvents: 2_000, steadySeconds: 5, idleSeconds: 3 };

/** What an event costs from HTTP to its receiver, beside what a team would write by hand in an afternoon, in turn. */
export async function runPathSuite(options: SuiteOptions): Promise<void> {
  const { short, json } = options;
  const size = short ? SHORT_SIZE : SIZE;
  process.stderr.write(`  Node ${process.version}\n`);
  const service = serviceContender(options);
  const scenes = scenesOf(options);
  if (options.profile !== undefined) {
    const [scene] = scenes;
    await profilePath(service, size.saturatedEvents, options.profile, scene);
    return;
  }
  if (options.scenes) {
    await runOwnScenes(options);
    return;
  }
  if (scenes.length > 0) {
    await runScenes(scenes, options);
    return;
  }
  const rounds = options.rounds ?? (short ? 1 : 3);
  const measure = (contenders: readonly PathContender[]) => measurePaths(contenders, size);
  const raw = await inRounds({
    rounds,
    sides: [plainContender, service],
    measure,
    inShort: ({ saturated }) => inShort(saturated),
  });
  const verdicts = compareFigures(pathFigures, raw.plain, raw.service);
  printVerdicts(`From HTTP to the receiver (median of ${rounds})`, verdicts);
  await writeJson(json, { ratios: verdicts, raw });
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
