// @ts-check
import { Problem } from '../problem.mjs';
import { findDebianRedis } from './redis-from-debian.mjs';
import { findJavascriptRedis } from './redis-in-javascript.mjs';
import { findInstalledRedis } from './redis-on-path.mjs';

/**
 * @typedef {import('./redis-program.mjs').RedisProgram} RedisProgram
 * @typedef {() => Promise<{ program: RedisProgram } | { refusal: string }>} RedisSource
 */

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
      'Install one (`apt install redis-server`, `brew install redis`) or set REDIS_URL to one that runs.',
    ].join('\n'),
  );
}

function allowedSources() {
  const wanted = process.env['REDIS_PROVIDER'];
  const sources = Object.entries(SOURCES);
  if (wanted === undefined || wanted === '') return sources;
  const chosen = sources.filter(([name]) => name === wanted);
  if (chosen.length > 0) return chosen;
  throw new Problem(`REDIS_PROVIDER is '${wanted}', and can be ${Object.keys(SOURCES).join(', ')}.`);
}
