import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

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

export interface SelfTime {
  readonly place: string;
  /** Milliseconds in the function itself, without what it called. */
  readonly selfMs: number;
  /** Of the time in which the process was not idle, from 0 to 1. */
  readonly share: number;
}

const IDLE = '(idle)';

/** Where a process spent its time, the most first. */
export async function selfTimesOf(folder: string, pid: number): Promise<readonly SelfTime[]> {
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
