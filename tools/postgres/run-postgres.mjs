// @ts-check
import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../problem.mjs';
import { say } from '../say.mjs';
import { runQuietly } from '../setup/run-command.mjs';

/**
 * @typedef {import('./provide-postgres.mjs').PostgresProgram} PostgresProgram
 * @typedef {import('./provide-postgres.mjs').Account} Account
 * @typedef {import('../processes/process-group.mjs').ProcessGroup} ProcessGroup
 */

export const USER = 'hookferry';

/** What it wrote last must be on the disk before it ends. */
const GRACE_MS = 30_000;
const ASK_EVERY_MS = 20;
const PATIENCE_MS = 10_000;

/**
 * Makes the data folder of a PostgreSQL, whole or not at all.
 * @param {object} options
 * @param {PostgresProgram} options.program
 * @param {Account} options.account
 * @param {string} options.folder to be made, in one where that account may write
 * @param {string} options.passwordFile
 * @param {AbortSignal} options.signal
 */
export async function makeDataFolder({ program, account, folder, passwordFile, signal }) {
  const unfinished = `${folder}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  const options = ['-D', unfinished, '-U', USER, '--pwfile', passwordFile, '-A', 'scram-sha-256'];
  const { code, output, errors } = await runQuietly(
    [join(program.folder, 'initdb'), ...options, '-E', 'UTF8', '--locale=C'],
    { cwd: '/', env: program.env, account, signal },
  );
  if (code !== 0) {
    await rm(unfinished, { recursive: true, force: true });
    throw new Problem(
      `${program.version} could not create its folder ${folder}:\n${errors.trim() || output.trim()}`,
    );
  }
  await rename(unfinished, folder);
}

/**
 * Starts a PostgreSQL of our own as part of the group, and returns when it takes connections.
 * @param {object} options
 * @param {PostgresProgram} options.program
 * @param {Account} options.account
 * @param {ProcessGroup} options.group
 * @param {string} options.folder of its data
 * @param {string} options.logFile
 * @param {number} options.port
 * @param {AbortSignal} options.signal stops the waiting
 */
export async function runPostgres({ program, account, group, folder, logFile, port, signal }) {
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    log_timezone: 'UTC',
    // A page locks the tables of all days that are kept.
    max_locks_per_transaction: '512',
  };
  const { pid } = group.start({
    name: 'postgres',
    command: [
      join(program.folder, 'postgres'),
      ...['-D', folder, '-p', String(port)],
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    env: program.env,
    cwd: '/',
    account,
    logFile,
    redirects: true,
    graceMs: GRACE_MS,
    // Its fast shutdown. At SIGTERM it would wait for every client to go.
    stopSignal: 'SIGINT',
  });
  const patienceEnds = Date.now() + PATIENCE_MS;
  let isPatient = true;
  while (!(await isReady(folder, pid))) {
    if (isPatient && Date.now() > patienceEnds) {
      isPatient = false;
      say(
        'start',
        `PostgreSQL is not ready yet: after a crash it first repeats its last writes. See ${logFile}`,
      );
    }
    await sleep(ASK_EVERY_MS, undefined, { signal });
  }
}

/**
 * As pg_ctl finds out: by a file that the server keeps, and that one of an earlier server may have left.
 * @param {string} folder
 * @param {number | undefined} pid
 */
async function isReady(folder, pid) {
  const lines = (await readFile(pidFileOf(folder), 'utf8').catch(() => '')).split('\n');
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
}

/** @param {string} folder */
export function pidFileOf(folder) {
  return join(folder, 'postmaster.pid');
}
