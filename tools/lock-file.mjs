// @ts-check
import { readFile } from 'node:fs/promises';
import { Problem } from './problem.mjs';

/**
 * A package that npm would fetch: neither the project nor one of its workspaces.
 * @typedef {object} LockedPackage
 * @property {string} path its place, such as `node_modules/express`
 * @property {string} name
 * @property {string} version
 * @property {boolean} isForProduction
 * @property {boolean} isBundled for development, and in an image all the same
 * @property {string | undefined} integrity
 * @property {string | undefined} license
 * @property {string | undefined} resolved where it came from
 */

const FOLDER = 'node_modules/';

/**
 * Of the packages for development, what goes into an image all the same: the page at /docs is one file of the first, and
 * the portal's bundle is made of the others.
 */
export const BUNDLED = [
  'redoc',
  '@base-ui/react',
  '@base-ui/utils',
  '@floating-ui/core',
  '@floating-ui/dom',
  '@floating-ui/react-dom',
  '@floating-ui/utils',
  '@tanstack/query-core',
  '@tanstack/react-query',
  'react',
  'react-dom',
  'regexparam',
  'scheduler',
  'use-sync-external-store',
  'wouter',
];

/**
 * @param {string} file
 * @returns {Promise<LockedPackage[]>}
 */
export async function readLockFile(file) {
  const lock = JSON.parse(await readFile(file, 'utf8'));
  // The former versions have another form; npm has written this one since its version 7.
  if (lock.lockfileVersion !== 3) throw new Problem(`${file} is not a lock file of version 3.`);
  return Object.entries(lock.packages)
    .filter(([path, entry]) => path.includes(FOLDER) && entry.link !== true)
    .map(([path, entry]) => {
      // An alias has its true name inside.
      const name = entry.name ?? path.slice(path.lastIndexOf(FOLDER) + FOLDER.length);
      const isForProduction = entry.dev !== true;
      const isBundled = !isForProduction && BUNDLED.includes(name);
      const { version, integrity, license, resolved } = entry;
      return { path, name, version, isForProduction, isBundled, integrity, license, resolved };
    });
}

/** @param {LockedPackage} locked */
export function labelOf({ path, version }) {
  return `${path} (${version})`;
}
