// @ts-check
import { labelOf } from './lock-file.mjs';

/** @typedef {import('./lock-file.mjs').LockedPackage} LockedPackage */

// What npm writes today. SHA-1, which old lock files have, can be forged.
const STRONG = /(^|\s)sha512-[A-Za-z0-9+/]{86}==(\s|$)/;

/**
 * What would let a package in that nobody has looked at, a line each.
 * @param {readonly LockedPackage[]} packages
 * @returns {string[]}
 */
export function findLockFaults(packages) {
  return packages.flatMap((locked) => [
    ...(STRONG.test(locked.integrity ?? '') ? [] : [`${labelOf(locked)} has no integrity of SHA-512`]),
    // A host that is named here is asked instead of the registry that is set up where it is installed.
    ...(locked.resolved === undefined
      ? []
      : [`${labelOf(locked)} names where to fetch it: ${locked.resolved}`]),
  ]);
}
