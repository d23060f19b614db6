// @ts-check
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';

/**
 * @typedef {object} SourceFile
 * @property {string} path below the folder that was read, with slashes
 * @property {string} text
 * @property {readonly string[]} imports as they are written, of values and types alike
 * @property {readonly string[]} own the files below the same folder that it imports, without their ending
 */

const IMPORT = /\b(?:from|import)\s*\(?\s*'([^']+)'/g;
const SOURCE = /\.tsx?$/;
const OTHERS = /\.test\.ts$|(^|\/)(testing|protocol|dist|node_modules)\//;

/**
 * Product code, without its tests.
 * @param {string} folder
 * @returns {Promise<readonly SourceFile[]>}
 */
export async function readSources(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile() && SOURCE.test(entry.name))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((path) => !OTHERS.test(path));
  return await Promise.all(paths.toSorted().map(async (path) => await readSource(folder, path)));
}

/**
 * @param {string} folder
 * @param {string} path
 * @returns {Promise<SourceFile>}
 */
async function readSource(folder, path) {
  const text = await readFile(join(folder, path), 'utf8');
  const imports = [...text.matchAll(IMPORT)].map(([, specifier = '']) => specifier);
  const own = imports
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) =>
      relative(folder, resolve(folder, dirname(path), specifier))
        .split(sep)
        .join('/'),
    );
  return { path, text, imports, own };
}
