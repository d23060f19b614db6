import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { printTable, writeJson } from '../report';
import type { SuiteOptions } from '../suite';
import { runCommands } from './commands';
import { compareFigures, inRounds, printVerdicts } from './compare';
import { runKilledWorker } from './killed-worker';
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
  if (options.commands) {
    await runCommands(options);
    return;
  }
  if (options.killWorker) {
    await runKilledWorker(options);
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

const ROWS = 10;

/** Where a contender's processes spend their time under load. The profiles stay in the folder for other tools. */
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
  for (const [part, pid] of Object.entries(pids)) {
    const rows = (await selfTimesOf(folder, pid)).slice(0, ROWS);
    printTable(`${contender.name}: self time of the ${part}, ${events} events, start and end included`, [
      ['', 'ms', '% of what was not idle'],
      ...rows.map(({ place, selfMs, share }) => [place, selfMs.toFixed(0), (share * 100).toFixed(1)]),
    ]);
  }
}

/** What node writes with --cpu-prof, as far as it is needed here. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
}

interface SelfTime {
  readonly place: string;
  /** Milliseconds in the function itself, without what it called. */
  readonly selfMs: number;
  /** Of the time in which the process was not idle, from 0 to 1. */
  readonly share: number;
}

const IDLE = '(idle)';

/** Where a process spent its time, the most first. */
async function selfTimesOf(folder: string, pid: number): Promise<readonly SelfTime[]> {
  const file = (await readdir(folder)).find((name) => name.split('.')[3] === String(pid));
  if (file === undefined) throw new Error(`Process ${pid} left no profile in ${folder}.`);
  const profile = JSON.parse(await readFile(join(folder, file), 'utf8')) as CpuProfile;
  const msOfPlace = addUp(profile);
  msOfPlace.delete(IDLE);
  const busyMs = [...msOfPlace.values()].reduce((sum, ms) => sum + ms, 0);
  return [...msOfPlace]
    .map(([place, selfMs]) => ({ place, selfMs, share: selfMs / busyMs }))
    .sort((a, b) => b.selfMs - a.selfMs);
}

function addUp({ nodes, samples, timeDeltas }: CpuProfile): Map<string, number> {
  const placeOfNode = new Map(nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]));
  const msOfPlace = new Map<string, number>();
  for (const [i, node] of samples.entries()) {
    const place = placeOfNode.get(node) ?? '';
    msOfPlace.set(place, (msOfPlace.get(place) ?? 0) + (timeDeltas[i] ?? 0) / 1_000);
  }
  return msOfPlace;
}

const FOLDERS_SHOWN = 4;

function placeOf({ functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame']): string {
  if (url === '') return functionName;
  const file = url.startsWith('node:') ? url : url.split('/').slice(-FOLDERS_SHOWN).join('/');
  return `${functionName || '(anonymous)'} ${file}:${lineNumber + 1}`;
}
