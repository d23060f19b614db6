import { writeJson } from '../report/write-json';
import type { SuiteOptions } from '../suite';
import type { PathContender } from './contender';
import { judge, pathFigures } from './judge';
import { runKilledWorker } from './killed-worker';
import { inShort } from './measure-load';
import { measurePaths, type PathSize } from './measure-path';
import { printVerdicts } from './print-verdicts';
import { profilePath } from './profile-path';
import { inRounds } from './rounds';
import { runScenes, scenesOf } from './scenes';
import { serviceContender } from './service-contender';

const SIZE: PathSize = { saturatedEvents: 10_000, steadySeconds: 20, idleSeconds: 10 };
const SHORT_SIZE: PathSize = { saturatedEvents: 2_000, steadySeconds: 5, idleSeconds: 3 };

/** What an event costs from HTTP to its receiver, beside what a team would write by hand in an afternoon, in turn. */
export async function runPathSuite(options: SuiteOptions): Promise<void> {
  const { short, build, json } = options;
  const size = short ? SHORT_SIZE : SIZE;
  const service = serviceContender(build);
  const scenes = scenesOf(options);
  if (options.profile !== undefined) {
    const [scene] = scenes;
    await profilePath(service, size.saturatedEvents, options.profile, scene);
    return;
  }
  if (options.killWorker) {
    await runKilledWorker(options);
    return;
  }
  if (scenes.length > 0) {
    await runScenes(scenes, options);
    return;
  }
  const rounds = options.rounds ?? (short ? 1 : 3);
  const measure = (contenders: readonly PathContender[]) => measurePaths(contenders, size);
  const raw = await inRounds({ rounds, service, measure, inShort: ({ saturated }) => inShort(saturated) });
  const verdicts = judge(pathFigures, raw.plain, raw.service);
  printVerdicts(`From HTTP to the receiver (median of ${rounds})`, verdicts);
  await writeJson(json, { ratios: verdicts, raw });
}
