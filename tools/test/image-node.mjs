// @ts-check
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, Problem } from '../problem.mjs';
import { cacheFolder, projectFolder } from '../project-folders.mjs';
import { say } from '../say.mjs';
import { runQuietly } from '../setup/run-command.mjs';

const BASE_IMAGE = /^FROM node:(\d+\.\d+\.\d+)-/m;

/**
 * The Node.js of the images, for tests to run under it as well: fetched once, from where the dependencies come from.
 * @param {AbortSignal} signal
 * @returns {Promise<string | undefined>} its program; undefined if it is what this runs under, or can't be had
 */
export async function provideImageNode(signal) {
  const version = await readImageNodeVersion();
  if (process.versions.node === version) return undefined;
  const name = `node-${process.platform}-${process.arch}`;
  const folder = join(cacheFolder, `node-${version}`);
  const program = join(folder, 'node_modules', name, 'bin', 'node');
  if (await isOfVersion(program, version)) return program;
  say('test', `fetching Node.js ${version}, which the images have`);
  const fetched = await runQuietly(
    [
      'npm',
      'install',
      '--prefix',
      folder,
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      `${name}@${version}`,
    ],
    { signal },
  );
  if (fetched.code === 0 && (await isOfVersion(program, version))) return program;
  say(
    'test',
    `Node.js ${version} cannot be fetched, so these tests are left out: ${lastLine(fetched.errors)}`,
  );
  return undefined;
}

export async function readImageNodeVersion() {
  const [, version] = BASE_IMAGE.exec(await readFile(join(projectFolder, 'docker/Dockerfile'), 'utf8')) ?? [];
  if (version === undefined) throw new Problem('docker/Dockerfile names no exact version of Node.js.');
  return version;
}

/**
 * @param {string} program
 * @param {string} version
 */
async function isOfVersion(program, version) {
  const { output } = await runQuietly([program, '--version'], {}).catch((error) => ({
    output: messageOf(error),
  }));
  return output.trim() === `v${version}`;
}

/** @param {string} text */
function lastLine(text) {
  return text.trim().split('\n').at(-1) ?? '';
}
