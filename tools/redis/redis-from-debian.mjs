// @ts-check
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { cacheFolder } from '../project-folders.mjs';
import { say } from '../say.mjs';
import { runQuietly } from '../setup/run-command.mjs';
import { downloadPackages } from './apt-download.mjs';
import { findOnPath } from './find-on-path.mjs';
import { inspectRedisProgram } from './redis-program.mjs';

/** @import { RedisSource } from './provide-redis.mjs' */

const unpackedFolder = join(cacheFolder, 'redis');

/**
 * The Redis of Debian or Ubuntu, unpacked into the cache folder of the project. Nothing is installed, and it
 * works without root.
 * @type {RedisSource}
 */
export async function findDebianRedis() {
  const kept = await inspectUnpacked(unpackedFolder);
  if ('program' in kept) return kept;
  if (!findOnPath('apt-get') || !findOnPath('dpkg')) return { refusal: 'not a Debian or Ubuntu system' };

  say('setup', `fetching Redis from the Debian or Ubuntu archive into ${unpackedFolder}`);
  const workFolder = join(cacheFolder, `redis-${process.pid}`);
  try {
    const download = await downloadPackages('redis-server', join(workFolder, 'packages'));
    if ('refusal' in download) return download;
    const fetched = join(workFolder, 'unpacked');
    for (const file of download.files) await unpack(file, fetched);
    const found = await inspectUnpacked(fetched);
    if ('refusal' in found) return found;
    // Only what is whole and works gets the final name: an interrupted run leaves nothing that looks done.
    await rm(unpackedFolder, { recursive: true, force: true });
    await rename(fetched, unpackedFolder);
  } finally {
    await rm(workFolder, { recursive: true, force: true });
  }
  return await inspectUnpacked(unpackedFolder);
}

/**
 * @param {string} file
 * @param {string} folder
 */
async function unpack(file, folder) {
  await mkdir(folder, { recursive: true });
  const { code, errors } = await runQuietly(['dpkg', '--extract', file, folder]);
  if (code !== 0) throw new Error(`dpkg cannot unpack ${file}: ${errors}`);
}

/** @param {string} folder */
async function inspectUnpacked(folder) {
  return await inspectRedisProgram(join(folder, 'usr/bin/redis-server'), await libraryPath(folder));
}

/**
 * Debian keeps libraries in a folder named for the machine, such as `usr/lib/aarch64-linux-gnu`.
 * @param {string} folder
 */
async function libraryPath(folder) {
  const roots = [join(folder, 'usr/lib'), join(folder, 'lib')];
  const found = await Promise.all(
    roots.map(async (root) => {
      const names = await readdir(root).catch(() => []);
      return names.filter((name) => name.includes('-linux-')).map((name) => join(root, name));
    }),
  );
  return found.flat().join(delimiter);
}
