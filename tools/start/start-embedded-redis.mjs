// @ts-check
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findFreePort, isPortFree } from '../processes/free-port.mjs';
import { provideRedis } from '../redis/provide-redis.mjs';
import { KEEP_EVERYTHING, runRedis } from '../redis/run-redis.mjs';
import { say } from '../say.mjs';

const USUAL_PORT = 6379;

/**
 * Runs a Redis of our own on the data folder, and gives the variables by which the programs find it.
 * @param {Pick<import('./start-stack.mjs').StackOptions, 'dataFolder' | 'group' | 'signal'>} options
 * @param {import('./data-folder-lock.mjs').DataFolderLock} lock of the data folder
 * @returns {Promise<{ REDIS_URL: string }>}
 */
export async function startEmbeddedRedis({ dataFolder, group, signal }, lock) {
  const program = await provideRedis();
  const folder = join(dataFolder, 'redis');
  const isUsual = await isPortFree(USUAL_PORT, '127.0.0.1');
  const port = isUsual ? USUAL_PORT : await findFreePort('127.0.0.1');
  if (!isUsual) say('start', `port ${USUAL_PORT} is in use: Redis listens on ${port} instead`);
  if (program.keepsData) {
    say('start', `starting ${program.version} on port ${port}, data in ${folder}`);
  } else {
    say('start', `starting ${program.version} on port ${port}`);
    say('start', 'WARNING: this Redis is for trials only. It is slow, and LOSES ALL DATA when it stops.');
    say(
      'start',
      'WARNING: for anything else install a real one (apt install redis-server, brew install redis).',
    );
  }
  const redis = await runRedis({ program, group, folder, port, persistence: KEEP_EVERYTHING, signal });
  if (redis.pid !== undefined) await lock.noteRedis(redis.pid);
  await noteUrl(dataFolder, redis.url, group);
  return { REDIS_URL: redis.url };
}

/**
 * For the command line, which looks there for the Redis of this folder.
 * @param {string} dataFolder
 * @param {string} url
 * @param {Pick<import('./start-stack.mjs').StackOptions, 'group'>['group']} group
 */
async function noteUrl(dataFolder, url, group) {
  const path = join(dataFolder, 'redis-url');
  await writeFile(path, `${url}\n`);
  group.onStopped(() => rm(path, { force: true }));
}
