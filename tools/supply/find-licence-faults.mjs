// @ts-check
import { labelOf } from './lock-file.mjs';

/** @typedef {import('./lock-file.mjs').LockedPackage} LockedPackage */

/**
 * Those that a self-hosted service may be run and passed on under without opening anything of whoever runs it: a
 * notice at most. Everything else, one that is not named included, is looked at by somebody before it is added.
 */
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Python-2.0',
  'Unlicense',
]);

/**
 * Packages of production whose licence is not in the closed list, a line each.
 * @param {readonly LockedPackage[]} packages
 * @returns {string[]}
 */
export function findLicenceFaults(packages) {
  return packages
    .filter(({ isForProduction, license }) => isForProduction && !isAllowed(license ?? ''))
    .map((locked) => `${labelOf(locked)} has the licence ${locked.license ?? '(none given)'}`);
}

/**
 * Of alternatives one is enough, of several that hold together each has to be allowed. Deeper expressions are read by
 * a person.
 * @param {string} expression of SPDX
 */
function isAllowed(expression) {
  const plain = expression.replace(/^\((.*)\)$/, '$1');
  if (plain.includes(' AND ')) return plain.split(' AND ').every((part) => ALLOWED.has(part));
  return plain.split(' OR ').some((part) => ALLOWED.has(part));
}
