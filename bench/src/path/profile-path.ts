import { mkdir } from 'node:fs/promises';
import { printTable } from '../report/print-table';
import type { PathContender } from './contender';
import { measureSaturated } from './measure-load';
import { selfTimesOf } from './self-times';
import { onStage, type StageOptions } from './stage';

const ROWS = 10;

/** Where a contender's processes spend their time under load. The profiles stay in the folder for other tools. */
export async function profilePath(
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
