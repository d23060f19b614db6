// @ts-check
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { unpackPackage } from '../debian/unpack-package.mjs';
import { findOnPath, runQuietly } from '../setup/run-command.mjs';

/**
 * The Go on the PATH, or else Debian's, unpacked into the cache folder. It finds its library beside its program.
 * @returns {Promise<import('../debian/unpack-package.mjs').Found<string>>} or why it can't be had
 */
export async function findGo() {
  const installed = findOnPath('go');
  if (installed !== undefined) return await inspect(installed);
  return await unpackPackage({
    title: 'Go',
    packageName: 'golang-go',
    folderName: 'go',
    inspect: async (folder) => {
      const library = join(folder, 'usr/lib');
      const names = await readdir(library).catch(() => []);
      const root = names.find((name) => /^go-\d/.test(name));
      return root === undefined
        ? { refusal: `no go in ${library}` }
        : await inspect(join(library, root, 'bin/go'));
    },
  });
}

/**
 * @param {string} program
 * @returns {Promise<import('../debian/unpack-package.mjs').Found<string>>}
 */
async function inspect(program) {
  const run = await runQuietly([program, 'version']).catch((error) => ({ code: 1, errors: String(error) }));
  return run.code === 0 ? { program } : { refusal: `${program} does not run: ${run.errors.trim()}` };
}
