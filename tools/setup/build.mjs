// @ts-check
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { Problem } from '../problem.mjs';
import { installedProgram, projectFolder } from '../project-folders.mjs';
import { say } from '../say.mjs';
import { writeSources } from './install-dependencies.mjs';
import { runInForeground, runQuietly } from './run-command.mjs';
import { fingerprintFiles, StepStamp } from './step-stamp.mjs';

const PROGRAMS = [
  ...['apps/api', 'apps/admin', 'apps/worker'],
  ...['packages/receiver', 'packages/cli', 'packages/portal'],
];
const DESCRIPTION = join('docs', 'openapi.json');
const WATCH_GRACE_MS = 2_000;

/**
 * Compiles the API, the worker, both command lines, and the packages that the guides and examples use; does nothing if neither sources nor output
 * changed since.
 * The check of our own costs milliseconds, where the compiler needs a second to find that nothing is to do.
 * @param {{ signal?: AbortSignal }} [options]
 */
export async function buildPrograms({ signal } = {}) {
  if (await areProgramsBuilt()) return;
  say('setup', 'compiling (tsc -b)');
  await writeSources({ ...(signal && { signal }) });
  await compilePrograms({ ...(signal && { signal }) });
}

/** Whether neither the sources of the programs nor their output changed since they were compiled. */
export async function areProgramsBuilt() {
  const sources = await findSources(PROGRAMS);
  if (!sources.every(hasOutput)) return false;
  return await builtPrograms.matches(await fingerprintFiles([...sources, DESCRIPTION]));
}

/**
 * @param {{ signal?: AbortSignal, isUnchecked?: boolean }} options `isUnchecked`: types are not checked, which takes half the
 *   time. The compiler does so the next time that it is asked to.
 */
export async function compilePrograms({ signal, isUnchecked }) {
  await builtPrograms.clear();
  const sources = await findSources(PROGRAMS);
  const fingerprint = await fingerprintFiles([...sources, DESCRIPTION]);
  // The compiler trusts its own record of the last build and does not look for files that were deleted since.
  const force = sources.every(hasOutput) ? [] : ['--force'];
  const unchecked = isUnchecked ? ['--noCheck'] : [];
  const code = await runInForeground([installedProgram('tsc'), '-b', ...force, ...unchecked, ...PROGRAMS], {
    ...(signal && { signal }),
  });
  if (code !== 0) throw new Problem('The programs do not compile. The errors are above.');
  await builtPrograms.write(fingerprint);
}

const builtPrograms = new StepStamp('build');

/** The folders that `npm start` compiles. */
export async function findCompiled() {
  return [...(await findReferenced(PROGRAMS))];
}

/**
 * Compiles again whatever is changed, until the group is stopped.
 * @param {import('../processes/process-group.mjs').ProcessGroup} group
 */
export function watchSources(group) {
  const command = /** @type {const} */ ([installedProgram('tsc'), '-b', '--watch', '--preserveWatchOutput']);
  group.start({
    name: 'compiler',
    command: [...command, ...PROGRAMS],
    env: process.env,
    cwd: projectFolder,
    graceMs: WATCH_GRACE_MS,
    hasOwn: true,
  });
}

/**
 * Every file that the output depends on, relative to the project, in a stable order.
 * @param {readonly string[]} programs their folders
 */
async function findSources(programs) {
  const files = ['tsconfig.base.json'];
  for (const folder of await findReferenced(programs)) {
    const inside = await readdir(join(projectFolder, folder, 'src'), { recursive: true });
    const leftOut = await findLeftOut(folder);
    const sources = inside
      .filter(isSource)
      .map((file) => join(folder, 'src', file))
      .filter((file) => !leftOut.some((each) => file.startsWith(each + sep)));
    files.push(join(folder, 'package.json'), join(folder, 'tsconfig.json'), ...sources);
  }
  return files.sort();
}

/**
 * The folders, and those that their tsconfig.json refers to, and so on.
 * @param {readonly string[]} folders
 */
async function findReferenced(folders) {
  const found = new Set(folders);
  for (const folder of found) {
    const { references = [] } = await readCompilerConfig(folder);
    for (const { path } of references) found.add(join(folder, path));
  }
  return found;
}

/**
 * The folders inside that the compiler passes over, which have no output.
 * @param {string} folder
 */
async function findLeftOut(folder) {
  const { exclude = [] } = await readCompilerConfig(folder);
  return exclude.filter((each) => !each.includes('*')).map((each) => join(folder, each));
}

/**
 * @param {string} folder
 * @returns {Promise<{ references?: { path: string }[], exclude?: string[] }>}
 */
async function readCompilerConfig(folder) {
  return JSON.parse(await readFile(join(projectFolder, folder, 'tsconfig.json'), 'utf8'));
}

/** @param {string} file */
function isSource(file) {
  return file.endsWith('.ts') && !file.endsWith('.test.ts');
}

/** @param {string} file */
function hasOutput(file) {
  if (!isSource(file) || file.endsWith('.d.ts')) return true;
  const output = file.replace(`${sep}src${sep}`, `${sep}dist${sep}`).replace(/\.ts$/, '.js');
  return existsSync(join(projectFolder, output));
}

const PORTAL = join('apps', 'portal');
const NOT_SOURCES = ['dist', 'node_modules'];
// It shows what stands there.
const DOCS = ['deliveries.md', 'verifying-signatures.md'].map((page) => join('docs', page));

/**
 * Builds the pages that the API serves; does nothing if neither sources nor output changed since.
 * @param {{ signal?: AbortSignal }} [options]
 */
export async function buildPortal({ signal } = {}) {
  if (await isPortalBuilt()) return;
  say('setup', 'building the portal (vite build)');
  await bundlePortal({ ...(signal && { signal }) });
}

/** Whether neither the portal's sources nor its output changed since it was built. */
export async function isPortalBuilt() {
  const isThere = existsSync(join(projectFolder, PORTAL, 'dist', 'index.html'));
  return isThere && (await builtPortal.matches(await fingerprintPortal()));
}

/** Of the sources: nothing has to be compiled before. @param {{ signal?: AbortSignal }} options */
export async function bundlePortal({ signal }) {
  await builtPortal.clear();
  const fingerprint = await fingerprintPortal();
  const options = { cwd: join(projectFolder, PORTAL), ...(signal && { signal }) };
  const { code, output, errors } = await runQuietly([installedProgram('vite'), 'build'], options);
  if (code !== 0) throw new Problem(`The portal could not be built:\n${output}${errors}`);
  await builtPortal.write(fingerprint);
}

const builtPortal = new StepStamp('portal');

async function fingerprintPortal() {
  return await fingerprintFiles([...(await findPortalFiles()), ...(await findSources([PORTAL])), ...DOCS]);
}

async function findPortalFiles() {
  const entries = await readdir(join(projectFolder, PORTAL), { withFileTypes: true });
  const own = entries.filter(({ name }) => !NOT_SOURCES.includes(name));
  const found = own.map(async (entry) => {
    const path = join(PORTAL, entry.name);
    if (entry.isFile()) return [path];
    const inside = await readdir(join(projectFolder, path), { recursive: true, withFileTypes: true });
    return inside.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  });
  const files = (await Promise.all(found)).flat();
  return files.map((file) => file.replace(`${projectFolder}/`, '')).sort();
}
