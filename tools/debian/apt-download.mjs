// @ts-check
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runQuietly } from '../setup/run-command.mjs';

/** @typedef {{ files: string[] } | { refusal: string }} Download */

/**
 * Downloads a package, and those of its dependencies that this machine lacks, without installing anything.
 * @param {string} name
 * @param {string} folder for the packages, and for what apt keeps beside them
 * @returns {Promise<Download>}
 */
export async function downloadPackages(name, folder) {
  const cache = await preparePrivateFolder(join(folder, 'apt-cache'), 'archives');
  const withSystemLists = await download(name, folder, [`Dir::Cache=${cache}`]);
  if ('files' in withSystemLists) return withSystemLists;

  // The lists are missing (a fresh container) or older than the archive (the files they name are gone).
  // Updating those of the system needs root and is not ours to do, so we fetch lists of our own.
  const lists = await preparePrivateFolder(join(folder, 'apt-lists'), '.');
  const options = [`Dir::Cache=${cache}`, `Dir::State::lists=${lists}`];
  await apt(options, ['update'], folder); // Fails if any archive does, even one that we do not need.
  return await download(name, folder, options);
}

/**
 * apt wants a folder named `partial` wherever it writes.
 * @param {string} folder
 * @param {string} inside
 */
async function preparePrivateFolder(folder, inside) {
  await mkdir(join(folder, inside, 'partial'), { recursive: true });
  return folder;
}

/**
 * @param {string} name
 * @param {string} folder
 * @param {readonly string[]} options
 * @returns {Promise<Download>}
 */
async function download(name, folder, options) {
  // The plan leaves out what apt has in its cache, which is why that has to be an empty one of our own.
  const plan = await apt(
    options,
    ['install', '--print-uris', '-qq', '--no-install-recommends', name],
    folder,
  );
  if (plan.code !== 0) return { refusal: `apt-get cannot find ${name}: ${plan.errors.trim()}` };
  const names = packageNames(plan.output);
  if (names.length === 0) return { refusal: `${name} is installed, but its program is not on the PATH` };
  const { code, errors } = await apt(options, ['download', ...names], folder);
  if (code !== 0) return { refusal: `apt-get cannot download ${names.join(', ')}: ${errors.trim()}` };
  const files = (await readdir(folder)).filter((file) => file.endsWith('.deb'));
  return { files: files.map((file) => join(folder, file)) };
}

/**
 * Each line of the plan is `'http://…' name_version_architecture.deb size hash`.
 * @param {string} plan
 */
function packageNames(plan) {
  return [...plan.matchAll(/^'[^']*' ([^_\s]+)_/gm)].map(([, name]) => String(name));
}

/**
 * @param {readonly string[]} options
 * @param {readonly string[]} command
 * @param {string} cwd `apt-get download` writes to the current folder
 */
async function apt(options, command, cwd) {
  // As root apt would fetch as the user _apt, who may not be able to enter our folders.
  const sandbox = process.getuid?.() === 0 ? ['APT::Sandbox::User=root'] : [];
  const patience = ['Acquire::Retries=1', 'Acquire::http::Timeout=15', 'Acquire::https::Timeout=15'];
  const settings = [...sandbox, ...patience, ...options].flatMap((setting) => ['-o', setting]);
  const env = { ...process.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' };
  return await runQuietly(['apt-get', ...settings, ...command], { cwd, env });
}
