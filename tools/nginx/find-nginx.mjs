// @ts-check
import { join } from 'node:path';
import { unpackPackage } from '../debian/unpack-package.mjs';
import { findOnPath, runQuietly } from '../setup/run-command.mjs';

/** @typedef {import('../debian/unpack-package.mjs').Found<string>} FoundNginx */

/**
 * The nginx on the PATH, or else Debian's, unpacked into the cache folder.
 * @returns {Promise<FoundNginx>} or why it can't be had
 */
export async function findNginx() {
  const installed = findOnPath('nginx');
  const found = installed === undefined ? undefined : await inspect(installed);
  if (found && 'program' in found) return found;
  return await unpackPackage({
    title: 'nginx',
    packageName: 'nginx',
    folderName: 'nginx',
    inspect: (folder) => inspect(join(folder, 'usr/sbin/nginx')),
  });
}

/**
 * @param {string} program
 * @returns {Promise<FoundNginx>}
 */
async function inspect(program) {
  const run = await runQuietly([program, '-v']).catch((error) => ({ code: 1, errors: String(error) }));
  return run.code === 0 ? { program } : { refusal: `${program} does not run: ${run.errors.trim()}` };
}
