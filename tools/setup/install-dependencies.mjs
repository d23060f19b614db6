// @ts-check
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../problem.mjs';
import { projectFolder } from '../project-folders.mjs';
import { say } from '../say.mjs';
import { runInForeground, runQuietly } from './run-command.mjs';
import { StepStamp } from './step-stamp.mjs';

/**
 * Brings node_modules to what package-lock.json says, and the sources that are made of others up to date; does nothing if
 * they are.
 * @param {{ signal?: AbortSignal }} [options]
 */
export async function installDependencies(options = {}) {
  if (!(await hasInstalled(ALL))) {
    say('setup', 'installing all dependencies; the first time this takes about a minute');
    await install(ALL, options);
  }
  await writeSources(options);
}

/** Installs what `npm start` has left out, if it has installed what there is. @param {{ signal?: AbortSignal }} [options] */
export async function completeInstallation(options = {}) {
  if (await stamp.matches(await fingerprintOf(FOR_START))) await installDependencies(options);
}

/** Whether `npm start` has everything that it needs. */
export async function canStart() {
  return (await hasInstalled(ALL)) || (await hasInstalled(FOR_START));
}

/**
 * Installs what `npm start` needs: without the tools of tests and lint it takes half the time. Where all dependencies were
 * installed before, all are installed again.
 * @param {{ signal?: AbortSignal, onRequest?: (count: number) => void }} options `onRequest`: how many requests have ended
 */
export async function installForStart(options) {
  const isPartial = !existsSync(modules) || existsSync(markOfPart);
  await install(isPartial ? FOR_START : ALL, options);
  if (isPartial) await writeFile(markOfPart, '');
}

// npm asks for what a package is, and then for the package: for 434 in November 2026. It is there for the progress alone.
export const REQUESTS_FOR_START = 868;

// The client's types are made of the API's description, the functions that call scripts of Redis of the scripts.
const WRITERS = ['tools/write-client-types.mjs', 'packages/core/build/write-scripts.mjs'];

/** @param {{ signal?: AbortSignal }} options */
export async function writeSources({ signal }) {
  for (const writer of WRITERS) {
    const code = await runInForeground([process.execPath, join(projectFolder, writer)], {
      ...(signal && { signal }),
    });
    if (code !== 0) throw new Problem(`${writer} has failed. The error is above.`);
  }
}

/** @typedef {{ name: string, options: readonly string[] }} Selection */

const COMMON = ['--no-audit', '--no-fund'];
/** Even with NODE_ENV=production in the environment: the compiler is a development dependency. @type {Selection} */
const ALL = { name: '', options: ['--include=dev', ...COMMON] };
const WORKSPACES = [
  ...[
    'packages/core',
    'packages/producer',
    'packages/receiver',
    'packages/client',
    'packages/cli',
    'packages/portal',
  ],
  ...['apps/api', 'apps/admin', 'apps/worker', 'apps/portal'],
];
/**
 * As the images are built: what the workspaces need, and nothing of the project's own tools. No script of a package runs: what
 * is native comes compiled.
 * @type {Selection}
 */
const FOR_START = {
  name: ' for npm start',
  options: [
    ...['--include=dev', '--omit=peer', '--ignore-scripts', '--include-workspace-root=false', ...COMMON],
    ...WORKSPACES.map((workspace) => `--workspace=${workspace}`),
  ],
};
const stamp = new StepStamp('dependencies');
const modules = join(projectFolder, 'node_modules');
// Unlike the stamp it stays when the lock file changes.
const markOfPart = join(modules, '.only-for-start');

/** @param {Selection} selection */
async function hasInstalled(selection) {
  return await stamp.matches(await fingerprintOf(selection));
}

/** @param {Selection} selection */
async function fingerprintOf({ name }) {
  return `${await fingerprintDependencies()}${name}`;
}

/**
 * @param {Selection} selection
 * @param {{ signal?: AbortSignal, onRequest?: (count: number) => void }} options
 */
async function install(selection, { signal, onRequest }) {
  // A service may be running from what is there: `npm ci` would take that away first.
  const how = selection === ALL && (await hasInstalled(FOR_START)) ? ['install', '--no-save'] : ['ci'];
  await stamp.clear();
  await rm(markOfPart, { force: true });
  const options = { ...(signal && { signal }), ...(onRequest && { onErrorLine: countRequests(onRequest) }) };
  const level = onRequest ? ['--loglevel=http'] : [];
  const exact = await runQuietly(['npm', ...how, ...selection.options, ...level], options);
  if (exact.code !== 0) await installLeniently(exact.errors, { ...(signal && { signal }) });
  await stamp.write(await fingerprintOf(exact.code === 0 ? selection : ALL));
}

/**
 * `npm ci` gives up over an optional package for another platform that the registry (a partial mirror, say) or the lock file
 * lacks. `npm install` does without, takes the same versions, and here changes no file.
 * @param {string} errors of `npm ci`
 * @param {import('./run-command.mjs').RunOptions} options
 */
async function installLeniently(errors, options) {
  say('setup', 'npm ci failed; trying npm install --no-save');
  const lenient = await runQuietly(['npm', 'install', '--no-save', ...ALL.options], options);
  if (lenient.code === 0) return;
  throw new Problem(`npm could not install the dependencies:\n${errors}\n${lenient.errors}`);
}

// A line of npm for each of its requests.
const REQUEST = /^npm http (?:fetch GET \d+|cache) (\S+)/;

/** @param {(count: number) => void} onRequest */
function countRequests(onRequest) {
  const seen = new Set();
  return (/** @type {string} */ line) => {
    const url = REQUEST.exec(line)?.[1];
    if (url !== undefined) onRequest(seen.add(url).size);
  };
}

/** Some dependencies are compiled: a node_modules of another platform or major version of Node is of no use. */
async function fingerprintDependencies() {
  const lockFile = await readFile(join(projectFolder, 'package-lock.json'));
  const hash = createHash('sha256').update(lockFile).digest('hex');
  const nodeMajor = process.versions.node.split('.')[0];
  return `${hash} ${process.platform}-${process.arch} node-${nodeMajor}`;
}
