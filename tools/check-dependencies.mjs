// @ts-check
/**
 * `npm run check:dependencies`: every package of the lock file has an integrity and none names a host; what is in the images
 * has a licence of the closed list. Says what is wrong, and ends with 1. Needs no network; `npm run lint` runs it too.
 * `-- --lock FILE` checks another lock file.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { labelOf, readLockFile } from './lock-file.mjs';
import { describeError } from './problem.mjs';
import { projectFolder } from './project-folders.mjs';

// What npm writes today. SHA-1, which old lock files have, can be forged.
const STRONG = /(^|\s)sha512-[A-Za-z0-9+/]{86}==(\s|$)/;

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
  'MIT-0',
  'Python-2.0',
  'Unlicense',
]);

try {
  const { values } = parseArgs({ options: { lock: { type: 'string' } } });
  const packages = await readLockFile(values.lock ?? join(projectFolder, 'package-lock.json'));
  const faults = [...findLockFaults(packages), ...findLicenceFaults(packages)];
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  const ofProduction = packages.filter(({ isForProduction }) => isForProduction).length;
  process.stdout.write(
    `${packages.length} packages, ${ofProduction} of production, ${faults.length} faults\n`,
  );
  process.exitCode = faults.length === 0 ? 0 : 1;
} catch (error) {
  process.stderr.write(`${describeError(error)}\n`);
  process.exitCode = 1;
}

/** @typedef {import('./lock-file.mjs').LockedPackage} LockedPackage */

/**
 * What would let a package in that nobody has looked at, a line each.
 * @param {readonly LockedPackage[]} packages
 * @returns {string[]}
 */
function findLockFaults(packages) {
  return packages.flatMap((locked) => [
    ...(STRONG.test(locked.integrity ?? '') ? [] : [`${labelOf(locked)} has no integrity of SHA-512`]),
    // A host that is named here is asked instead of the registry that is set up where it is installed.
    ...(locked.resolved === undefined
      ? []
      : [`${labelOf(locked)} names the host to fetch it from: ${locked.resolved}`]),
  ]);
}

/**
 * Packages in the images whose licence is not in the closed list, a line each.
 * @param {readonly LockedPackage[]} packages
 * @returns {string[]}
 */
function findLicenceFaults(packages) {
  return packages
    .filter(({ isForProduction, isBundled }) => isForProduction || isBundled)
    .filter(({ license }) => !isAllowed(license ?? ''))
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
