// @ts-check
import { join } from 'node:path';
import { libraryPathOf, loaderOf, unpackPackage } from '../debian/unpack-package.mjs';
import { runQuietly } from '../setup/run-command.mjs';

/**
 * @typedef {{ command: readonly [string, ...string[]], version: string }} PgBouncerProgram
 * @typedef {import('../debian/unpack-package.mjs').Found<PgBouncerProgram>} FoundPgBouncer
 */

/**
 * The PgBouncer of a release of Debian, unpacked into the cache folder with its libraries.
 * @param {string} release such as `bookworm`
 * @returns {Promise<FoundPgBouncer>} or why it can't be had
 */
export async function findPgBouncer(release) {
  return await unpackPackage({
    title: 'PgBouncer',
    packageName: 'pgbouncer',
    folderName: `pgbouncer-${release}`,
    release,
    inspect,
  });
}

/**
 * @param {string} folder
 * @returns {Promise<FoundPgBouncer>}
 */
async function inspect(folder) {
  const loader = await loaderOf(folder);
  if (loader === undefined) return { refusal: `there is no loader in ${folder}` };
  /** @type {PgBouncerProgram['command']} */
  const command = [loader, '--library-path', await libraryPathOf(folder), join(folder, 'usr/sbin/pgbouncer')];
  const run = await runQuietly([...command, '--version']).catch((error) => ({
    code: 1,
    output: '',
    errors: String(error),
  }));
  const version = /^PgBouncer \S+/.exec(run.output)?.[0];
  if (run.code === 0 && version !== undefined) return { program: { command, version } };
  return { refusal: `${command.at(-1)} does not run: ${run.errors.trim() || run.output.trim()}` };
}
