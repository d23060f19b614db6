// @ts-check
import { readFile } from 'node:fs/promises';
import { Problem } from '../problem.mjs';

/**
 * A package that npm would fetch: neither the project nor one of its workspaces.
 * @typedef {object} LockedPackage
 * @property {string} path its place, such as `node_modules/express`
 * @property {string} name
 * @property {string} version
 * @property {boolean} isForProduction
 * @property {string | undefined} integrity
 * @property {string | undefined} license
 * @property {string | undefined} resolved where it came from
 */

const FOLDER = 'node_modules/';

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
    .map(([path, entry]) => ({
      path,
      // An alias has its true name inside.
      name: entry.name ?? path.slice(path.lastIndexOf(FOLDER) + FOLDER.length),
      version: entry.version,
      isForProduction: entry.dev !== true,
      integrity: entry.integrity,
      license: entry.license,
      resolved: entry.resolved,
    }));
}

/** @param {LockedPackage} locked */
export function labelOf({ path, version }) {
  return `${path} (${version})`;
}
