// @ts-check
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { answersPing } from './ping-redis.mjs';
import { redisEnvironment } from './redis-program.mjs';

/**
 * @typedef {import('./redis-program.mjs').RedisProgram} RedisProgram
 * @typedef {import('../processes/process-group.mjs').ProcessGroup} ProcessGroup
 */

/** Redis closes its files in this time even when its disk is busy. */
const GRACE_MS = 10_000;
const ASK_EVERY_MS = 20;

/** Nothing acknowledged is lost when the process dies, and at most about a second's worth when the power goes. */
export const KEEP_EVERYTHING = { appendonly: 'yes', appendfsync: 'everysec', save: '' };

/** For tests: no disk at all, and a database for each test file. */
export const KEEP_NOTHING = { appendonly: 'no', save: '', databases: '1024' };

/**
 * Starts a Redis of our own as part of the group, and returns when it takes commands.
 * @param {object} options
 * @param {RedisProgram} options.program
 * @param {ProcessGroup} options.group
 * @param {string} options.folder for its data and its log
 * @param {number} options.port
 * @param {Readonly<Record<string, string>>} options.persistence
 * @param {AbortSignal} options.signal stops the waiting
 * @returns {Promise<{ url: string, pid: number | undefined }>}
 */
export async function runRedis({ program, group, folder, port, persistence, signal }) {
  await mkdir(folder, { recursive: true });
  const logFile = join(folder, 'redis.log');
  const settings = {
    port: String(port),
    bind: '127.0.0.1', // It has no password.
    dir: folder,
    logfile: logFile,
    'maxmemory-policy': 'noeviction', // Any other policy would silently throw jobs away.
    ...persistence,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const { pid } = group.start({
    name: 'redis',
    command: [...program.command, ...args],
    env: redisEnvironment(program),
    cwd: folder,
    graceMs: GRACE_MS,
    ...(program.keepsData && { logFile }),
  });
  while (!(await answersPing(port))) await sleep(ASK_EVERY_MS, undefined, { signal });
  return { url: `redis://127.0.0.1:${port}`, pid };
}
