// @ts-check
import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { setPriority, constants as system } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { projectFolder } from '../project-folders.mjs';

/**
 * @typedef {object} RunOptions
 * @property {string} [cwd] default: the root of the project
 * @property {NodeJS.ProcessEnv} [env] default: our own environment
 * @property {AbortSignal} [signal] ends the command early: then its result is an error
 * @property {AbortSignal} [stop] asks the command to end, whose exit code is still waited for
 * @property {(line: string) => void} [onErrorLine] gets each line of its error output as it comes, of a command out of sight
 * @property {boolean} [isBackground] leaves the processor to everything else that wants it
 * @property {{ uid?: number, gid?: number }} [account] who runs it, unless it is who we are
 */

/**
 * Runs a command in the foreground: it reads our input and writes to our output.
 * @param {readonly [string, ...string[]]} command
 * @param {RunOptions} [options]
 * @returns {Promise<number>} its exit code; 1 if a signal ended it
 */
export async function runInForeground(command, options = {}) {
  const { code } = await run(command, options, 'inherit');
  return code;
}

/**
 * Runs a command out of sight and keeps what it wrote.
 * @param {readonly [string, ...string[]]} command
 * @param {RunOptions} [options]
 * @returns {Promise<{ code: number, output: string, errors: string }>}
 */
export async function runQuietly(command, options = {}) {
  return await run(command, options, 'pipe');
}

/**
 * @param {readonly [string, ...string[]]} command
 * @param {RunOptions} options
 * @param {'inherit' | 'pipe'} stdio
 * @returns {Promise<{ code: number, output: string, errors: string }>}
 */
function run([program, ...args], options, stdio) {
  const {
    cwd = projectFolder,
    env = process.env,
    signal,
    stop,
    isBackground,
    account,
    onErrorLine,
  } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, stdio, ...account, ...(signal && { signal }) });
    if (isBackground && child.pid !== undefined) setPriority(child.pid, system.priority.PRIORITY_LOW);
    const end = () => child.kill('SIGTERM');
    if (stop?.aborted) end();
    else stop?.addEventListener('abort', end, { once: true });
    let output = '';
    let errors = '';
    child.stdout?.setEncoding('utf8').on('data', (text) => (output += text));
    child.stderr?.setEncoding('utf8').on('data', (text) => (errors += text));
    if (onErrorLine && child.stderr) createInterface({ input: child.stderr }).on('line', onErrorLine);
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? 1, output, errors }));
  });
}

/**
 * @param {string} name
 * @returns {string | undefined} the whole path of the program that a shell would run
 */
export function findOnPath(name) {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
