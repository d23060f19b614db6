import { writeJson } from '../report/write-json';
import type { SuiteOptions } from '../suite';
import type { PathContender } from './contender';
import { judge, pathFigures } from './judge';
import { measurePaths, type PathResult, type PathSize } from './measure-path';
import { plainContender } from './plain-contender';
import { printVerdicts } from './print-verdicts';
import { profilePath } from './profile-path';
import { runScenes, scenesOf } from './scenes';
import { serviceContender } from './service-contender';

const SIZE: PathSize = { saturatedEvents: 10_000, steadySeconds: 20, idleSeconds: 10 };
const SHORT_SIZE: PathSize = { saturatedEvents: 2_000, steadySeconds: 5, idleSeconds: 3 };

/** What an event costs from HTTP to its receiver, beside what a team would write by hand in an afternoon, in turn. */
export async function runPathSuite(options: SuiteOptions): Promise<void> {
  const { short, build, json } = options;
  const size = short ? SHORT_SIZE : SIZE;
  const service = serviceContender(build);
  if (options.profile !== undefined) {
    await profilePath(service, size.saturatedEvents, options.profile);
    return;
  }
  const scenes = scenesOf(options);
  if (scenes.length > 0) {
    await runScenes(scenes, options);
    return;
  }
  const rounds = options.rounds ?? (short ? 1 : 3);
  const results = new Map<PathContender, PathResult[]>([
    [plainContender, []],
    [service, []],
  ]);
  for (let round = 1; round <= rounds; round += 1) {
    // The machine's moods even out when neither is always the first.
    const order = round % 2 === 1 ? [plainContender, service] : [service, plainContender];
    for (const [i, result] of (await measurePaths(order, size)).entries()) {
      const contender = order[i] ?? service;
      results.get(contender)?.push(result);
      process.stderr.write(`  round ${round} of ${rounds}: ${contender.name}, ${inShort(result)}\n`);
    }
  }
  const raw = { plain: results.get(plainContender) ?? [], service: results.get(service) ?? [] };
  const verdicts = judge(pathFigures, raw.plain, raw.service);
  printVerdicts(`From HTTP to the receiver (median of ${rounds})`, verdicts);
  await writeJson(json, { ratios: verdicts, raw });
}

function inShort({ saturated }: PathResult): string {
  return `${Math.round(saturated.totalMicros)} µs of CPU per event, ${Math.round(saturated.deliveredPerSecond)}/s`;
}
