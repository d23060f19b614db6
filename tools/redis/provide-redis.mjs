// @ts-check
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { libraryPathOf, loaderOf, unpackPackage } from '../debian/unpack-package.mjs';
import { Problem } from '../problem.mjs';
import { fetchPackage } from '../setup/fetch-package.mjs';
import { findOnPath, runQuietly } from '../setup/run-command.mjs';

/** @typedef {() => Promise<{ program: RedisProgram } | { refusal: string }>} RedisSource */

/** In order of preference. @type {Readonly<Record<string, RedisSource>>} */
const SOURCES = { path: findInstalledRedis, debian: findDebianRedis, js: findJavascriptRedis };

/**
 * Finds a Redis server to run on this machine, and fetches one if there is none.
 *
 * The environment variable `REDIS_PROVIDER` = `path`, `debian` or `js` allows one source alone, to try it out.
 * @returns {Promise<RedisProgram>}
 */
export async function provideRedis() {
  const refusals = [];
  for (const [name, find] of allowedSources()) {
    const found = await find();
    if ('program' in found) return found.program;
    refusals.push(`  ${name}: ${found.refusal}`);
  }
  throw new Problem(
    [
      'There is no Redis on this machine, and none could be fetched:',
      ...refusals,
      'Install Redis (`apt install redis-server`, `brew install redis`), or set REDIS_URL to a running one.',
    ].join('\n'),
  );
}

function allowedSources() {
  const wanted = process.env['REDIS_PROVIDER'];
  const sources = Object.entries(SOURCES);
  if (wanted === undefined || wanted === '') return sources;
  const chosen = sources.filter(([name]) => name === wanted);
  if (chosen.length > 0) return chosen;
  throw new Problem(`REDIS_PROVIDER is '${wanted}': it must be one of ${Object.keys(SOURCES).join(', ')}.`);
}

const NAMES = ['redis-server', 'valkey-server'];

/** The Redis that is installed on this machine. @type {RedisSource} */
async function findInstalledRedis() {
  const paths = NAMES.map(findOnPath).filter((path) => path !== undefined);
  const refusals = [];
  for (const path of paths) {
    const found = await inspectRedisProgram([path]);
    if ('program' in found) return found;
    refusals.push(found.refusal);
  }
  return { refusal: refusals.join('; ') || `no ${NAMES.join(' or ')} on the PATH` };
}

/**
 * The Redis of Debian or Ubuntu.
 * @type {RedisSource}
 */
async function findDebianRedis() {
  return await unpackPackage({
    title: 'Redis',
    packageName: 'redis-server',
    folderName: 'redis',
    inspect: async (folder) =>
      await inspectRedisProgram([join(folder, 'usr/bin/redis-server')], await libraryPathOf(folder)),
  });
}

/**
 * A Redis or Valkey of another release of Debian than this system's, for tests. With its own libraries it runs on any Linux.
 * @param {'redis' | 'valkey'} name
 * @param {string} release such as `trixie`
 * @returns {Promise<{ program: RedisProgram } | { refusal: string }>}
 */
export async function findRedisOfRelease(name, release) {
  return await unpackPackage({
    title: name === 'redis' ? 'Redis' : 'Valkey',
    packageName: `${name}-server`,
    folderName: `${name}-${release}`,
    release,
    inspect: async (folder) => {
      const loader = await loaderOf(folder);
      if (loader === undefined) return { refusal: `there is no loader in ${folder}` };
      const path = join(folder, 'usr/bin', `${name}-server`);
      return await inspectRedisProgram([loader, '--library-path', await libraryPathOf(folder), path]);
    },
  });
}

const PACKAGE = 'js-redis-server';
const VERSION = '0.3.0';

/** A Redis written in JavaScript: about 20 times slower, in memory only. @type {RedisSource} */
async function findJavascriptRedis() {
  const fetched = await fetchPackage(PACKAGE, VERSION);
  if ('refusal' in fetched) return fetched;
  const program = fileURLToPath(new URL('./javascript-redis-server.mjs', import.meta.url));
  return {
    program: {
      command: [process.execPath, program, join(fetched.folder, 'dist', 'index.js')],
      version: `${PACKAGE} ${VERSION}`,
      keepsData: false,
    },
  };
}

/**
 * A Redis server that can be run here; it takes `--name value` pairs as redis-server does.
 * @typedef {object} RedisProgram
 * @property {readonly [string, ...string[]]} command
 * @property {string} version as people say it: `Redis 7.0.15`
 * @property {string} [libraryPath] folders to search for shared libraries, as in LD_LIBRARY_PATH
 * @property {boolean} keepsData false: whatever it is told, all is lost when it ends
 */

/** The oldest that BullMQ works with. */
const OLDEST = { major: 6, minor: 2 };

/**
 * Runs the program to see whether it is there, whether it works, and whether it is recent enough.
 * @param {readonly [string, ...string[]]} command
 * @param {string} [libraryPath]
 * @returns {Promise<{ program: RedisProgram } | { refusal: string }>}
 */
async function inspectRedisProgram(command, libraryPath) {
  const env = redisEnvironment({ libraryPath });
  const path = command.at(-1);
  const { code, output, errors } = await runQuietly([...command, '--version'], { env }).catch((error) => ({
    code: 1,
    output: '',
    errors: String(error),
  }));
  const match = /^(\w+) server v=((\d+)\.(\d+)[\d.]*)/.exec(output);
  if (code !== 0 || match === null)
    return { refusal: `${path} does not run: ${errors.trim() || output.trim()}` };

  const [, name, number, major, minor] = match;
  const version = `${name} ${number}`;
  if (!isRecent(Number(major), Number(minor))) {
    return { refusal: `${path} is ${version}; ${OLDEST.major}.${OLDEST.minor} or later is needed` };
  }
  return { program: { command, version, keepsData: true, ...(libraryPath && { libraryPath }) } };
}

/**
 * @param {number} major
 * @param {number} minor
 */
function isRecent(major, minor) {
  return major > OLDEST.major || (major === OLDEST.major && minor >= OLDEST.minor);
}

/** @param {{ libraryPath?: string | undefined }} program */
export function redisEnvironment({ libraryPath }) {
  return libraryPath === undefined ? process.env : { ...process.env, LD_LIBRARY_PATH: libraryPath };
}
