// @ts-check
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readLockFile } from '../lock-file.mjs';
import { cacheFolder } from '../project-folders.mjs';
import { say } from '../say.mjs';
import { runQuietly } from './run-command.mjs';

/**
 * A package of npm that only some need: it goes into the cache folder of the project, and is fetched once. No script of it runs.
 * @param {string} name
 * @param {string} version
 * @param {string} [integrity] of what is in it, as in a lock file
 * @returns {Promise<{ folder: string } | { refusal: string }>}
 */
export async function fetchPackage(name, version, integrity) {
  const kept = join(cacheFolder, `${name.replace(/^@/, '').replace('/', '-')}-${version}`);
  const folder = join(kept, 'node_modules', ...name.split('/'));
  if (existsSync(folder)) return { folder };

  say('setup', `fetching ${name} ${version} from npm into ${kept}`);
  const fetched = `${kept}.${process.pid}`;
  try {
    const refusal = await install(fetched, `${name}@${version}`);
    if (refusal !== undefined) return { refusal: `npm cannot install ${name}: ${refusal}` };
    if (integrity !== undefined && integrity !== (await readIntegrity(fetched, name)))
      return { refusal: `${name} ${version} from npm has another checksum than the expected package` };
    // Several may fetch it at once: what the first one has put there is in use.
    if (!existsSync(folder)) await putInPlace(fetched, kept);
  } finally {
    await rm(fetched, { recursive: true, force: true });
  }
  return { folder };
}

/**
 * What npm has checked it by.
 * @param {string} folder
 * @param {string} name
 */
async function readIntegrity(folder, name) {
  const packages = await readLockFile(join(folder, 'package-lock.json'));
  return packages.find((one) => one.name === name)?.integrity;
}

/**
 * Only what is whole gets the final name: an interrupted run leaves nothing that looks done.
 * @param {string} fetched
 * @param {string} kept
 */
async function putInPlace(fetched, kept) {
  await rm(kept, { recursive: true, force: true });
  await rename(fetched, kept);
}

/**
 * @param {string} folder
 * @param {string} wanted
 * @returns {Promise<string | undefined>} why it could not be installed
 */
async function install(folder, wanted) {
  await mkdir(folder, { recursive: true });
  // A package of its own: without this file npm would look for one in the folders above, and find ours.
  await writeFile(join(folder, 'package.json'), '{ "private": true }\n');
  const options = ['--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  const { code, errors } = await runQuietly(
    // npm would try for minutes: without a network the user should soon learn what to do instead.
    ['npm', 'install', ...options, '--fetch-retries=0', wanted],
    { cwd: folder },
  );
  return code === 0 ? undefined : errors.trim();
}
