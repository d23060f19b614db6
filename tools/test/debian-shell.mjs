// @ts-check
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { libraryPathOf, unpackPackage } from '../debian/unpack-package.mjs';
import { findOnPath } from '../setup/run-command.mjs';

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
  const found = await unpackPackage({
    title: name,
    packageName: name,
    folderName: name,
    inspect: async (root) => await inspectShell(name, root),
  });
  return 'refusal' in found ? found : found.program;
}

/**
 * @param {string} name
 * @param {string} root
 * @returns {Promise<import('../debian/unpack-package.mjs').Found<Shell>>}
 */
async function inspectShell(name, root) {
  const program = ['bin', 'usr/bin'].map((folder) => join(root, folder, name)).find(existsSync);
  if (program === undefined) return { refusal: `there is no program in the package ${name}` };
  return { program: { program, root, libraryPath: await libraryPathOf(root) } };
}
