// @ts-check
import { access, mkdir, readdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join, relative } from 'node:path';
import { cacheFolder } from '../project-folders.mjs';
import { say } from '../say.mjs';
import { findOnPath, runQuietly } from '../setup/run-command.mjs';

/**
 * @template Program
 * @typedef {{ program: Program } | { refusal: string }} Found
 */

const DEBIAN_KEYS = '/usr/share/keyrings/debian-archive-keyring.gpg';

/**
 * Programs of Debian or Ubuntu, unpacked into the cache folder of the project. Nothing is installed, and it works
 * without root. What is there from before is not fetched again.
 * @template Program
 * @param {object} wanted
 * @param {string} wanted.title as people say it
 * @param {string | readonly string[]} wanted.packageName or several
 * @param {string} wanted.folderName within the cache folder
 * @param {(folder: string) => Promise<Found<Program>>} wanted.inspect says whether what is unpacked there works
 * @param {string} [wanted.release] of Debian, such as `trixie`, instead of this system's. It comes with all of its libraries,
 *   the C library too, so its programs have to be started by `loaderOf`
 * @returns {Promise<Found<Program>>}
 */
export async function unpackPackage({ title, packageName, folderName, inspect, release }) {
  const unpackedFolder = join(cacheFolder, folderName);
  const kept = await inspect(unpackedFolder);
  if ('program' in kept) return kept;
  if (!findOnPath('apt-get') || !findOnPath('dpkg')) return { refusal: 'not a Debian or Ubuntu system' };

  const archive = release === undefined ? 'Debian or Ubuntu archive' : `archive of Debian ${release}`;
  say('setup', `fetching ${title} from the ${archive} into ${unpackedFolder}`);
  const workFolder = join(cacheFolder, `${folderName}-${process.pid}`);
  try {
    const packages = join(workFolder, 'packages');
    const names = [packageName].flat();
    const download = await (release === undefined
      ? downloadPackages(names, packages)
      : downloadOfRelease(names, packages, release));
    if ('refusal' in download) return download;
    const fetched = join(workFolder, 'unpacked');
    for (const file of download.files) await unpack(file, fetched);
    await keepLinksInside(fetched);
    const found = await inspect(fetched);
    if ('refusal' in found) return found;
    // Several may fetch it at once: what the first one has put there is in use.
    const ofAnother = await inspect(unpackedFolder);
    if ('program' in ofAnother) return ofAnother;
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
 * Links of packages lead to where these are installed, such as `/etc/java-17-openjdk/…`. Here they lead to what is unpacked.
 * @param {string} folder
 */
async function keepLinksInside(folder) {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) continue;
    // Node.js 20 has only the former name.
    const parent = entry.parentPath ?? entry.path;
    const link = join(parent, entry.name);
    const target = await readlink(link);
    const inside = join(folder, target);
    const isThere = await access(inside).then(
      () => true,
      () => false,
    );
    if (!target.startsWith('/') || !isThere) continue;
    await rm(link);
    await symlink(relative(dirname(link), inside), link);
  }
}

/**
 * Where the libraries of what is unpacked are, as in LD_LIBRARY_PATH. Debian keeps them in a folder named for the
 * machine, such as `usr/lib/aarch64-linux-gnu`.
 * @param {string} folder
 */
export async function libraryPathOf(folder) {
  const roots = [join(folder, 'usr/lib'), join(folder, 'lib')];
  const found = await Promise.all(
    roots.map(async (root) => {
      const names = await readdir(root).catch(() => []);
      return names.filter((name) => name.includes('-linux-')).map((name) => join(root, name));
    }),
  );
  return found.flat().join(delimiter);
}

/**
 * The program that starts others with libraries of their own, where these are: the C library has to fit its loader.
 * @param {string} folder
 */
export async function loaderOf(folder) {
  for (const libraries of (await libraryPathOf(folder)).split(delimiter)) {
    const names = await readdir(libraries).catch(() => []);
    const loader = names.find((name) => /^ld-linux.*\.so/.test(name));
    if (loader !== undefined) return join(libraries, loader);
  }
  return undefined;
}

/** @typedef {{ files: string[] } | { refusal: string }} Download */

/**
 * Downloads packages, and those of their dependencies that this machine lacks, without installing anything.
 * @param {readonly string[]} names
 * @param {string} folder for the packages, and for what apt keeps beside them
 * @returns {Promise<Download>}
 */
async function downloadPackages(names, folder) {
  const cache = await preparePrivateFolder(join(folder, 'apt-cache'), 'archives');
  const withSystemLists = await planAndFetch(names, folder, [`Dir::Cache=${cache}`]);
  if ('files' in withSystemLists) return withSystemLists;

  // The lists are missing (a fresh container) or older than the archive (the files they name are gone).
  // Updating those of the system needs root and is not ours to do, so we fetch lists of our own.
  const lists = await preparePrivateFolder(join(folder, 'apt-lists'), '.');
  const options = [`Dir::Cache=${cache}`, `Dir::State::lists=${lists}`];
  await apt(options, ['update'], folder); // Fails if any archive does, even one that we do not need.
  return await planAndFetch(names, folder, options);
}

/**
 * The same from another release of Debian, with every package that they depend on.
 * @param {readonly string[]} names
 * @param {string} folder
 * @param {string} release
 * @returns {Promise<Download>}
 */
async function downloadOfRelease(names, folder, release) {
  const cache = await preparePrivateFolder(join(folder, 'apt-cache'), 'archives');
  const lists = await preparePrivateFolder(join(folder, 'apt-lists'), '.');
  const archive = await archiveOfDebian(folder);
  if (archive === undefined) return { refusal: 'apt of this machine fetches from no archive of Debian' };
  const source = join(folder, 'apt-source.list');
  const installed = join(folder, 'apt-installed');
  await writeFile(source, `deb [signed-by=${DEBIAN_KEYS}] ${archive} ${release} main\n`);
  await writeFile(installed, '');
  const options = [
    ...[`Dir::Cache=${cache}`, `Dir::State::lists=${lists}`, `Dir::State::status=${installed}`],
    ...[`Dir::Etc::sourcelist=${source}`, 'Dir::Etc::sourceparts=/dev/null'],
  ];
  await apt(options, ['update'], folder);
  return await planAndFetch(names, folder, options);
}

/**
 * The archive that this machine fetches from: it has the other releases beside its own.
 * @param {string} folder
 * @returns {Promise<string | undefined>} its URL
 */
async function archiveOfDebian(folder) {
  const { output } = await apt(
    [],
    ['indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages'],
    folder,
  );
  return output.split('\n').find((url) => /\/debian\/?$/.test(url));
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
 * @param {readonly string[]} wanted
 * @param {string} folder
 * @param {readonly string[]} options
 * @returns {Promise<Download>}
 */
async function planAndFetch(wanted, folder, options) {
  // The plan leaves out what apt has in its cache, which is why that has to be an empty one of our own.
  const plan = await apt(
    options,
    ['install', '--print-uris', '-qq', '--no-install-recommends', ...wanted],
    folder,
  );
  if (plan.code !== 0) return { refusal: `apt-get cannot find ${wanted.join(', ')}: ${plan.errors.trim()}` };
  const names = packageNames(plan.output);
  if (names.length === 0)
    return { refusal: `${wanted.join(', ')} is installed, but its program is not on the PATH` };
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
