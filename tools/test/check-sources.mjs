// @ts-check
import { join } from 'node:path';
import { installedProgram, projectFolder } from '../project-folders.mjs';
import { say } from '../say.mjs';
import { runInForeground } from '../setup/run-command.mjs';

/** @type {readonly { what: string, command: readonly [string, ...string[]] }[]} */
const CHECKS = [
  { what: 'compiling, tests included (tsc -b)', command: [installedProgram('tsc'), '-b'] },
  {
    what: 'linting (oxlint)',
    command: [installedProgram('oxlint'), '--type-aware', '--deny-warnings'],
  },
  {
    what: 'checking the format (biome)',
    command: [installedProgram('biome'), 'ci', `--colors=${process.stdout.isTTY ? 'force' : 'off'}`, '.'],
  },
  {
    what: 'checking the structure (house)',
    command: [process.execPath, join(projectFolder, 'tools/house.mjs'), '--check'],
  },
  {
    what: 'checking the lock file and the licences',
    command: [process.execPath, join(projectFolder, 'tools/check-dependencies.mjs')],
  },
];

/**
 * Runs every check, also after one has failed: one run is to tell all there is to mend.
 * @param {AbortSignal} signal
 * @returns {Promise<number>} how many failed
 */
export async function checkSources(signal) {
  let failed = 0;
  for (const { what, command } of CHECKS) {
    say('test', what);
    const code = await runInForeground(command, { signal });
    if (code === 0) continue;
    say('test', `FAILED: ${what}`);
    failed += 1;
  }
  return failed;
}
