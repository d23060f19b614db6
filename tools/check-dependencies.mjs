// @ts-check
/**
 * `npm run dependencies`: every package of the lock file has an integrity and none names a host; what production needs
 * has a licence of the closed list. Says what is wrong, and ends with 1. Needs no network; `npm run lint` runs it too.
 *
 * `-- --age 14` also asks the registry whether each package of production had been published for so many days, which
 * is for whoever adds or updates one. `-- --lock FILE` checks another lock file.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describeError, Problem } from './problem.mjs';
import { projectFolder } from './project-folders.mjs';
import { findLicenceFaults } from './supply/find-licence-faults.mjs';
import { findLockFaults } from './supply/find-lock-faults.mjs';
import { findTooYoung } from './supply/find-too-young.mjs';
import { readLockFile } from './supply/lock-file.mjs';

const DAY_MS = 86_400_000;

try {
  const { values } = parseArgs({ options: { age: { type: 'string' }, lock: { type: 'string' } } });
  const packages = await readLockFile(values.lock ?? join(projectFolder, 'package-lock.json'));
  const faults = [...findLockFaults(packages), ...findLicenceFaults(packages)];
  if (values.age !== undefined) {
    const before = new Date(Date.now() - daysOf(values.age) * DAY_MS);
    faults.push(...(await findTooYoung(packages, before)));
  }
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

/** @param {string} text */
function daysOf(text) {
  const days = Number(text);
  if (Number.isInteger(days) && days > 0) return days;
  throw new Problem(`--age takes a number of days, not "${text}".`);
}
