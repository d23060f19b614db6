// @ts-check
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '../processes/free-port.mjs';
import { provideRedis } from '../redis/provide-redis.mjs';
import { KEEP_NOTHING, runRedis } from '../redis/run-redis.mjs';
import { say } from '../say.mjs';

/**
 * A Redis for the tests, and how to start more of them, as variables of the environment:
 * TEST_REDIS_URL; TEST_REDIS_SERVER, a command line as a JSON array, and TEST_REDIS_LD_LIBRARY_PATH if it
 * needs one. The last two are not set if the only server there is can't do what such tests are about.
 * @param {import('../processes/process-group.mjs').ProcessGroup} group
 * @param {AbortSignal} signal
 * @returns {Promise<Record<string, string>>}
 */
export async function provideTestRedis(group, signal) {
  const program = await provideRedis();
  const given = process.env['TEST_REDIS_URL'];
  const url = given ? given : await startOwnRedis(program, group, signal);
  return { TEST_REDIS_URL: url, ...describeServer(program) };
}

/**
 * @param {import('../redis/provide-redis.mjs').RedisProgram} program
 * @param {import('../processes/process-group.mjs').ProcessGroup} group
 * @param {AbortSignal} signal
 */
async function startOwnRedis(program, group, signal) {
  const folder = await mkdtemp(join(tmpdir(), 'webhooks-test-redis-'));
  group.onStopped(() => rm(folder, { recursive: true, force: true }));
  const port = await findFreePort('127.0.0.1');
  say('test', `starting ${program.version} for the tests on port ${port}`);
  const { url } = await runRedis({ program, group, folder, port, persistence: KEEP_NOTHING, signal });
  return url;
}

/**
 * How to start servers of one's own, as above. Nothing if the only one there is can't do what such tests are about.
 * @param {import('../redis/provide-redis.mjs').RedisProgram} program
 * @returns {Record<string, string>}
 */
export function describeServer({ keepsData, command, libraryPath }) {
  if (!keepsData) return {};
  const server = { TEST_REDIS_SERVER: JSON.stringify(command) };
  return libraryPath === undefined ? server : { ...server, TEST_REDIS_LD_LIBRARY_PATH: libraryPath };
}
