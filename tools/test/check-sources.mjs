// @ts-check
import { join } from 'node:path';
import { installedProgram, projectFolder } from '../project-folders.mjs';
import { say } from '../say.mjs';
import { runInForeground, runQuietly } from '../setup/run-command.mjs';

/** @type {readonly { what: string, command: readonly [string, ...string[]] }[]} */
const CHECKS = [
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
 * Compiles everything, tests included.
 * @param {AbortSignal} signal
 * @returns {Promise<number>} 1 if that failed, else 0
 */
export async function compile(signal) {
  say('test', 'compiling, tests included (tsc -b)');
  const code = await runInForeground([installedProgram('tsc'), '-b'], { signal });
  if (code === 0) return 0;
  say('test', 'FAILED: compiling');
  return 1;
}

/**
 * Runs every check, also after one has failed: one run is to tell all there is to mend. Shows only what failed, as tests
 * write at the same time.
 * @param {AbortSignal} signal
 * @returns {Promise<number>} how many failed
 */
export async function checkSources(signal) {
  let failed = 0;
  for (const { what, command } of CHECKS) {
    say('test', what);
    const { code, output, errors } = await runQuietly(command, { signal });
    if (code === 0) continue;
    say('test', `FAILED: ${what}\n${output}${errors}`);
    failed += 1;
  }
  return failed;
}
