// @ts-check
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Problem } from '../problem.mjs';
import { runQuietly } from '../setup/run-command.mjs';

/** @typedef {import('./lock-file.mjs').LockedPackage} LockedPackage */

// npm stops at the first one. More than a few at once are not looked for.
const MOST = 10;
const MISSING = /No matching version found for ((?:@[^\s@]+\/)?[^\s@]+)@(\S+)/;

/**
 * Packages of production that were not published yet at that time, by what the registry says, a line each. It is npm
 * that finds them: it is told to take exactly these versions, and none from after that time.
 * @param {readonly LockedPackage[]} packages
 * @param {Date} before
 * @returns {Promise<string[]>}
 */
export async function findTooYoung(packages, before) {
  let wanted = new Map(
    packages
      .filter(({ isForProduction }) => isForProduction)
      .map((each) => [`${each.name}@${each.version}`, each]),
  );
  /** @type {string[]} */
  const found = [];
  while (found.length < MOST) {
    const missing = await firstMissing([...wanted.values()], before);
    if (missing === undefined) return found;
    found.push(`${missing} was not published before ${before.toISOString()}`);
    wanted = new Map([...wanted].filter(([label]) => label !== missing));
  }
  return found;
}

/**
 * @param {readonly LockedPackage[]} packages
 * @param {Date} before
 * @returns {Promise<string | undefined>} its name and version
 */
async function firstMissing(packages, before) {
  const folder = await mkdtemp(join(tmpdir(), 'webhooks-dependencies-'));
  try {
    // Under names of our own, since there can be several versions of one.
    const dependencies = Object.fromEntries(
      packages.map(({ name, version }, i) => [`dependency-${i}`, `npm:${name}@${version}`]),
    );
    await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
    const { code, errors } = await runQuietly(
      [
        'npm',
        'install',
        '--package-lock-only',
        '--ignore-scripts',
        '--legacy-peer-deps',
        '--no-audit',
        // Also what is for another platform than this one.
        '--force',
        `--before=${before.toISOString()}`,
      ],
      { cwd: folder },
    );
    if (code === 0) return undefined;
    const [, name, version] = MISSING.exec(errors) ?? [];
    if (name === undefined) throw new Problem(`The registry could not be asked:\n${errors}`);
    return `${name}@${version}`;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
