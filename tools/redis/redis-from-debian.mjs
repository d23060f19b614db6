// @ts-check
import { join } from 'node:path';
import { libraryPath, unpackPackage } from '../debian/unpack-package.mjs';
import { inspectRedisProgram } from './redis-program.mjs';

/** @import { RedisSource } from './provide-redis.mjs' */

/**
 * The Redis of Debian or Ubuntu.
 * @type {RedisSource}
 */
export async function findDebianRedis() {
  return await unpackPackage({
    title: 'Redis',
    packageName: 'redis-server',
    folderName: 'redis',
    inspect: async (folder) =>
      await inspectRedisProgram(join(folder, 'usr/bin/redis-server'), await libraryPath(folder)),
  });
}
