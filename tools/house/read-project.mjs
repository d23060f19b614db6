// @ts-check
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** @typedef {{ readonly path: string, readonly text: string }} ProjectFile its path from the project's root, with slashes */

const CODE = /\.(?:[cm]?[jt]sx?|lua)$/;
/** Written by `npm run scripts`. */
export const WRITTEN = /\.script\.ts$/;
/** Tests, and the models and helpers that only tests import. */
export const OF_TESTS = /\.test\.tsx?$|\/(?:testing|protocol)\//;
/** Made by tools, or by others. */
const FOREIGN = /^(?:\..*|node_modules|dist|coverage)$/;

/**
 * The code of the project, and its scripts of Redis.
 * @param {string} project
 * @returns {Promise<readonly ProjectFile[]>}
 */
export async function readProject(project, folder = '') {
  const entries = await readdir(join(project, folder), { withFileTypes: true });
  const found = await Promise.all(
    entries.map(async (entry) => {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) return FOREIGN.test(entry.name) ? [] : await readProject(project, path);
      if (!entry.isFile() || !CODE.test(path)) return [];
      return [{ path, text: await readFile(join(project, path), 'utf8') }];
    }),
  );
  return found.flat().toSorted((one, other) => (one.path < other.path ? -1 : 1));
}
