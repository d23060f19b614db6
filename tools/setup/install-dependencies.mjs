// @ts-check
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
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
  await installPackages(options);
  await writeSources(options);
}

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

/** @param {{ signal?: AbortSignal }} options */
async function installPackages({ signal }) {
  const stamp = new StepStamp('dependencies');
  const fingerprint = await fingerprintDependencies();
  if (await stamp.matches(fingerprint)) return;

  say('setup', 'installing dependencies (npm ci); the first time this takes up to a minute');
  await stamp.clear();
  await install({ ...(signal && { signal }) });
  await stamp.write(fingerprint);
}

// Even with NODE_ENV=production in the environment: the compiler is a development dependency.
const OPTIONS = ['--include=dev', '--no-audit', '--no-fund'];

/** @param {import('./run-command.mjs').RunOptions} options */
async function install(options) {
  const exact = await runQuietly(['npm', 'ci', ...OPTIONS], options);
  if (exact.code === 0) return;
  // `npm ci` gives up over an optional package for another platform that the registry (a partial mirror, say)
  // or the lock file lacks. `npm install` does without, takes the same versions, and here changes no file.
  say('setup', 'npm ci failed; trying npm install --no-save');
  const lenient = await runQuietly(['npm', 'install', '--no-save', ...OPTIONS], options);
  if (lenient.code === 0) return;
  throw new Problem(`npm could not install the dependencies:\n${exact.errors}\n${lenient.errors}`);
}

/** Some dependencies are compiled: a node_modules of another platform or major version of Node is of no use. */
async function fingerprintDependencies() {
  const lockFile = await readFile(join(projectFolder, 'package-lock.json'));
  const hash = createHash('sha256').update(lockFile).digest('hex');
  const nodeMajor = process.versions.node.split('.')[0];
  return `${hash} ${process.platform}-${process.arch} node-${nodeMajor}\n`;
}
