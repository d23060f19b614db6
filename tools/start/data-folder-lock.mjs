// @ts-check
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../problem.mjs';
import { say } from '../say.mjs';

/**
 * Redis itself does not notice a second server on its files, and the two would destroy them.
 * @typedef {{ start: number, redis?: number }} Holder process ids: of `npm start` or `hookferry-server`, and of its Redis
 * @typedef {{ noteRedis(pid: number): Promise<void>, release(): Promise<void> }} DataFolderLock
 */

const LEFT_BEHIND_TIMEOUT_MS = 15_000;
const LOOK_EVERY_MS = 100;

/**
 * Makes this process the only one that runs servers on the folder.
 * @param {string} folder
 * @returns {Promise<DataFolderLock>}
 */
export async function lockDataFolder(folder) {
  const path = join(folder, 'start.lock');
  const own = { start: process.pid };
  while (!(await acquire(path, own))) {
    const holder = await readHolder(path);
    if (holder !== undefined) await waitUntilGone(holder, folder);
    await removeStale(path, holder);
  }
  return {
    noteRedis: async (redis) => await rename(await writeBeside(path, { ...own, redis }), path),
    release: () => rm(path, { force: true }),
  };
}

/**
 * @param {string} path
 * @param {Holder} own
 * @returns {Promise<boolean>} false: it is, or may be, somebody else's
 */
async function acquire(path, own) {
  const unfinished = await writeBeside(path, own);
  try {
    // Unlike a write, a link appears at once and whole, and only if there is no such file yet.
    await link(unfinished, path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(unfinished);
  }
}

/**
 * @param {string} path
 * @param {Holder} holder
 * @returns {Promise<string>}
 */
async function writeBeside(path, holder) {
  const unfinished = `${path}.${process.pid}`;
  await writeFile(unfinished, JSON.stringify(holder));
  return unfinished;
}

/**
 * @param {string} path
 * @param {Holder | undefined} stale
 */
async function removeStale(path, stale) {
  const aside = `${path}.${process.pid}.stale`;
  const wasMoved = await rename(path, aside).then(
    () => true,
    () => false,
  );
  if (!wasMoved) return;
  // Another start may have replaced the stale lock since we read it: then this is that one's, and goes back.
  const moved = await readHolder(aside);
  if (moved?.start !== stale?.start) await link(aside, path).catch(() => {});
  await rm(aside);
}

/**
 * @param {string} path
 * @returns {Promise<Holder | undefined>} undefined: gone, or made unreadable by a power cut
 */
async function readHolder(path) {
  const text = await readFile(path, 'utf8').catch(() => '');
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * A start that was killed leaves its Redis behind for a moment (or for good, if its watchdog was killed too).
 * @param {Holder} holder
 * @param {string} folder
 */
async function waitUntilGone({ start, redis }, folder) {
  if (isRunning(start, /start\.mjs|serve\.mjs|hookferry-server/)) {
    throw new Problem(
      `Another npm start or hookferry-server (process ${start}) is using ${folder}.\n` +
        'Stop that one first, or give this one a folder of its own: DATA_DIR=.data-2 npm start, hookferry-server --data .data-2',
    );
  }
  if (redis !== undefined)
    await endLeftBehind({ title: 'Redis', pid: redis, command: /redis|valkey/, folder });
}

/**
 * Ends a server that an earlier start has left behind, if it is still there.
 * @param {object} server
 * @param {string} server.title
 * @param {number} server.pid
 * @param {RegExp} server.command by which it is told from what has its id now
 * @param {string} server.folder that it uses
 * @param {NodeJS.Signals} [server.stopSignal]
 */
export async function endLeftBehind({ title, pid, command, folder, stopSignal = 'SIGTERM' }) {
  if (!isRunning(pid, command)) return;
  say('start', `stopping the ${title} (process ${pid}) that an earlier start left running`);
  process.kill(pid, stopSignal);
  const deadline = Date.now() + LEFT_BEHIND_TIMEOUT_MS;
  while (isRunning(pid, command)) {
    if (Date.now() > deadline)
      throw new Problem(`${title} (process ${pid}) still uses ${folder}. Stop it, then start again.`);
    await sleep(LOOK_EVERY_MS);
  }
}

/**
 * By its command line too: after a restart of the machine the id may belong to anything.
 * @param {number} pid
 * @param {RegExp} command
 */
function isRunning(pid, command) {
  try {
    return command.test(commandLine(pid));
  } catch {
    return false;
  }
}

/** @param {number} pid */
function commandLine(pid) {
  if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
}
