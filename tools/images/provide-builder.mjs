// @ts-check
import { existsSync } from 'node:fs';
import { cp, mkdir, rename, rm, symlink } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { libraryPathOf, unpackPackage } from '../debian/unpack-package.mjs';
import { cacheFolder } from '../project-folders.mjs';
import { say } from '../say.mjs';
import { findOnPath, runQuietly } from '../setup/run-command.mjs';
import { readImageNodeVersion } from '../test/image-node.mjs';

/**
 * What images are built with where there is no container engine.
 * @typedef {object} Builder
 * @property {string} buildah its program
 * @property {string} libraries folders of the libraries that this machine lacks for it, as in LD_LIBRARY_PATH
 * @property {string} base a tar file with a Debian and a Node.js, to stand in for the base image
 */

/** The release of Debian that the base image has. */
const RELEASE = 'bookworm';

/**
 * Buildah, and a stand-in for the base image: Debian by debootstrap, with the Node.js of the Dockerfile and its npm from the
 * registry of packages. Both stay in the cache folder; nothing is installed.
 * @param {string} npmVersion
 * @returns {Promise<import('../debian/unpack-package.mjs').Found<Builder>>}
 */
export async function provideBuilder(npmVersion) {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return { refusal: 'it takes root on Linux' };
  const mounts = await runQuietly(['unshare', '--mount', 'true']).catch(() => ({ code: 1 }));
  if (mounts.code !== 0) return { refusal: 'the kernel gives no mount namespace' };
  const buildah = await provideProgram('buildah', 'usr/bin/buildah');
  if ('refusal' in buildah) return buildah;
  const base = await provideBase(npmVersion);
  if ('refusal' in base) return base;
  return { program: { buildah: buildah.program, libraries: buildah.libraries, base: base.file } };
}

/**
 * The program that is installed, or Debian's, unpacked.
 * @param {string} name of package and program
 * @param {string} path in the package
 * @returns {Promise<{ program: string, folder: string, libraries: string } | { refusal: string }>}
 */
async function provideProgram(name, path) {
  const installed = findOnPath(name);
  if (installed !== undefined) return { program: installed, folder: '/', libraries: '' };
  const folder = join(cacheFolder, name);
  const found = await unpackPackage({
    title: name,
    packageName: name,
    folderName: name,
    inspect: async (unpacked) => {
      const program = join(unpacked, path);
      return existsSync(program) ? { program } : { refusal: `the package ${name} has no ${path}` };
    },
  });
  return 'refusal' in found
    ? found
    : { program: found.program, folder, libraries: await libraryPathOf(folder) };
}

/**
 * @param {string} npmVersion
 * @returns {Promise<{ file: string } | { refusal: string }>}
 */
async function provideBase(npmVersion) {
  const nodeVersion = await readImageNodeVersion();
  const name = `stand-in-${RELEASE}-node-${nodeVersion}-npm-${npmVersion}-${process.arch}`;
  const file = join(cacheFolder, `${name}.tar`);
  if (existsSync(file)) return { file };
  say('setup', `making a stand-in for the base image: Debian ${RELEASE} with Node.js ${nodeVersion}`);
  const work = join(cacheFolder, `${name}.${process.pid}`);
  try {
    const root = join(work, 'root');
    const refusal =
      (await installDebian(root)) ??
      (await installNode(root, join(work, 'packages'), nodeVersion, npmVersion));
    if (refusal !== undefined) return { refusal };
    const packed = `${work}/root.tar`;
    const left = await failureOf(['tar', '-C', root, '--exclude=./var/cache/apt/*', '-cf', packed, '.']);
    if (left !== undefined) return { refusal: left };
    // Only what is whole gets the final name.
    await rename(packed, file);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return { file };
}

/**
 * @param {string} root
 * @returns {Promise<string | undefined>} why it is not there
 */
async function installDebian(root) {
  const debootstrap = await provideProgram('debootstrap', 'usr/sbin/debootstrap');
  if ('refusal' in debootstrap) return debootstrap.refusal;
  const { program, folder, libraries } = debootstrap;
  const tools = ['usr/sbin', 'usr/bin'].map((path) => join(folder, path));
  const env = {
    ...process.env,
    PATH: [process.env['PATH'], '/usr/sbin', '/sbin', ...tools].join(delimiter),
    DEBOOTSTRAP_DIR: join(folder, 'usr/share/debootstrap'),
    ...(libraries !== '' && { LD_LIBRARY_PATH: libraries }),
  };
  await mkdir(root, { recursive: true });
  return await failureOf([program, '--variant=minbase', RELEASE, root], env);
}

/**
 * Where the base image has both, and its user.
 * @param {string} root
 * @param {string} work
 * @param {string} nodeVersion
 * @param {string} npmVersion
 * @returns {Promise<string | undefined>} why they are not there
 */
async function installNode(root, work, nodeVersion, npmVersion) {
  const node = `node-${process.platform}-${process.arch}`;
  const packages = [`${node}@${nodeVersion}`, `npm@${npmVersion}`];
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  const failure = await failureOf(['npm', 'install', '--prefix', work, ...quiet, ...packages]);
  if (failure !== undefined) return failure;
  const [programs, modules] = [join(root, 'usr/local/bin'), join(root, 'usr/local/lib/node_modules')];
  await cp(join(work, 'node_modules', node, 'bin/node'), join(programs, 'node'));
  await cp(join(work, 'node_modules/npm'), join(modules, 'npm'), { recursive: true });
  for (const name of ['npm', 'npx']) {
    await symlink(`../lib/node_modules/npm/bin/${name}-cli.js`, join(programs, name));
  }
  return await failureOf([
    'chroot',
    root,
    'useradd',
    '--uid',
    '1000',
    '--user-group',
    '--create-home',
    'node',
  ]);
}

/**
 * @param {readonly [string, ...string[]]} command
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<string | undefined>} what it says, if it fails
 */
async function failureOf(command, env = process.env) {
  const { code, output, errors } = await runQuietly(command, { env }).catch((error) => ({
    code: 1,
    output: '',
    errors: String(error),
  }));
  return code === 0 ? undefined : `${command[0]} failed: ${`${output}\n${errors}`.trim().slice(-500)}`;
}
