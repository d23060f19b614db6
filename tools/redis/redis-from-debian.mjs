// @ts-check
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { libraryPathIn, unpackPackage } from '../debian/unpack-package.mjs';
import { cacheFolder } from '../project-folders.mjs';
import { inspectRedisProgram } from './redis-program.mjs';

/** @import { RedisSource } from './provide-redis.mjs' */

const unpackedFolder = join(cacheFolder, 'redis');

/**
 * The Redis of Debian or Ubuntu, unpacked into the cache folder of the project.
 * @type {RedisSource}
 */
export async function findDebianRedis() {
  const kept = await inspectUnpacked(unpackedFolder);
  if ('program' in kept) return kept;

  const workFolder = join(cacheFolder, `redis-${process.pid}`);
  try {
    const fetched = await unpackPackage('redis-server', workFolder);
    if ('refusal' in fetched) return fetched;
    const found = await inspectUnpacked(fetched.unpacked);
    if ('refusal' in found) return found;
    // Only what is whole and works gets the final name: an interrupted run leaves nothing that looks done.
    await rm(unpackedFolder, { recursive: true, force: true });
    await rename(fetched.unpacked, unpackedFolder);
  } finally {
    await rm(workFolder, { recursive: true, force: true });
  }
  return await inspectUnpacked(unpackedFolder);
}

/** @param {string} folder */
async function inspectUnpacked(folder) {
  return await inspectRedisProgram(join(folder, 'usr/bin/redis-server'), await libraryPathIn(folder));
}
