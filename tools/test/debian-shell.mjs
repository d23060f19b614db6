// @ts-check
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { libraryPathIn, unpackPackage } from '../debian/unpack-package.mjs';
import { cacheFolder } from '../project-folders.mjs';
import { findOnPath } from '../setup/find-on-path.mjs';

/**
 * A shell that can be run here.
 * @typedef {object} Shell
 * @property {string} program
 * @property {string} [root] where it was unpacked, if it is not installed: its functions and modules are below that
 * @property {string} [libraryPath] as in LD_LIBRARY_PATH
 */

/**
 * The shell that is installed, or that of Debian or Ubuntu, unpacked into the cache folder of the project.
 * @param {'zsh' | 'fish'} name
 * @returns {Promise<Shell | { refusal: string }>}
 */
export async function provideShell(name) {
  const installed = findOnPath(name);
  if (installed !== undefined) return { program: installed };
  const root = join(cacheFolder, name);
  if (!existsSync(root)) {
    const workFolder = join(cacheFolder, `${name}-${process.pid}`);
    try {
      const fetched = await unpackPackage(name, workFolder);
      if ('refusal' in fetched) return fetched;
      await rename(fetched.unpacked, root);
    } finally {
      await rm(workFolder, { recursive: true, force: true });
    }
  }
  const program = ['bin', 'usr/bin'].map((folder) => join(root, folder, name)).find(existsSync);
  if (program === undefined) return { refusal: `there is no program in the package ${name}` };
  return { program, root, libraryPath: await libraryPathIn(root) };
}
