// @ts-check
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { cacheFolder } from '../project-folders.mjs';
import { say } from '../say.mjs';
import { findOnPath } from '../setup/find-on-path.mjs';
import { runQuietly } from '../setup/run-command.mjs';
import { downloadPackages } from './apt-download.mjs';

/**
 * @template Program
 * @typedef {{ program: Program } | { refusal: string }} Found
 */

/**
 * Programs of Debian or Ubuntu, unpacked into the cache folder of the project. Nothing is installed, and it works
 * without root. What is there from before is not fetched again.
 * @template Program
 * @param {object} wanted
 * @param {string} wanted.title as people say it
 * @param {string} wanted.packageName
 * @param {string} wanted.folderName within the cache folder
 * @param {(folder: string) => Promise<Found<Program>>} wanted.inspect says whether what is unpacked there works
 * @returns {Promise<Found<Program>>}
 */
export async function unpackPackage({ title, packageName, folderName, inspect }) {
  const unpackedFolder = join(cacheFolder, folderName);
  const kept = await inspect(unpackedFolder);
  if ('program' in kept) return kept;
  if (!findOnPath('apt-get') || !findOnPath('dpkg')) return { refusal: 'not a Debian or Ubuntu system' };

  say('setup', `fetching ${title} from the Debian or Ubuntu archive into ${unpackedFolder}`);
  const workFolder = join(cacheFolder, `${folderName}-${process.pid}`);
  try {
    const download = await downloadPackages(packageName, join(workFolder, 'packages'));
    if ('refusal' in download) return download;
    const fetched = join(workFolder, 'unpacked');
    for (const file of download.files) await unpack(file, fetched);
    const found = await inspect(fetched);
    if ('refusal' in found) return found;
    // Only what is whole and works gets the final name: an interrupted run leaves nothing that looks done.
    await rm(unpackedFolder, { recursive: true, force: true });
    await rename(fetched, unpackedFolder);
  } finally {
    await rm(workFolder, { recursive: true, force: true });
  }
  return await inspect(unpackedFolder);
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

/**
 * Where the libraries of what is unpacked are, as in LD_LIBRARY_PATH. Debian keeps them in a folder named for the
 * machine, such as `usr/lib/aarch64-linux-gnu`.
 * @param {string} folder
 */
export async function libraryPath(folder) {
  const roots = [join(folder, 'usr/lib'), join(folder, 'lib')];
  const found = await Promise.all(
    roots.map(async (root) => {
      const names = await readdir(root).catch(() => []);
      return names.filter((name) => name.includes('-linux-')).map((name) => join(root, name));
    }),
  );
  return found.flat().join(delimiter);
}
