// @ts-check
import { mkdir, readdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { say } from '../say.mjs';
import { findOnPath } from '../setup/find-on-path.mjs';
import { runQuietly } from '../setup/run-command.mjs';
import { downloadPackages } from './apt-download.mjs';

/**
 * Fetches a package of Debian or Ubuntu, and those of its dependencies that this machine lacks, and unpacks them. Nothing is
 * installed, and it works without root.
 * @param {string} name
 * @param {string} folder for what is downloaded and, in `unpacked`, what was in it
 * @returns {Promise<{ unpacked: string } | { refusal: string }>}
 */
export async function unpackPackage(name, folder) {
  if (!findOnPath('apt-get') || !findOnPath('dpkg')) return { refusal: 'not a Debian or Ubuntu system' };
  say('setup', `fetching ${name} from the Debian or Ubuntu archive`);
  const download = await downloadPackages(name, join(folder, 'packages'));
  if ('refusal' in download) return download;
  const unpacked = join(folder, 'unpacked');
  for (const file of download.files) await unpack(file, unpacked);
  return { unpacked };
}

/**
 * Debian keeps libraries in a folder named for the machine, such as `usr/lib/aarch64-linux-gnu`.
 * @param {string} unpacked
 * @returns {Promise<string>} as LD_LIBRARY_PATH has it
 */
export async function libraryPathIn(unpacked) {
  const roots = [join(unpacked, 'usr/lib'), join(unpacked, 'lib')];
  const found = await Promise.all(
    roots.map(async (root) => {
      const names = await readdir(root).catch(() => []);
      return names.filter((name) => name.includes('-linux-')).map((name) => join(root, name));
    }),
  );
  return found.flat().join(delimiter);
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
