// @ts-check
import { runQuietly } from '../setup/run-command.mjs';

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
 * @param {string} path
 * @param {string} [libraryPath]
 * @returns {Promise<{ program: RedisProgram } | { refusal: string }>}
 */
export async function inspectRedisProgram(path, libraryPath) {
  const env = redisEnvironment({ libraryPath });
  const { code, output, errors } = await runQuietly([path, '--version'], { env }).catch((error) => ({
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
    return { refusal: `${path} is ${version}, and ${OLDEST.major}.${OLDEST.minor} is needed` };
  }
  return { program: { command: [path], version, keepsData: true, ...(libraryPath && { libraryPath }) } };
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
