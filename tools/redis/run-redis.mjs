// @ts-check
import { mkdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { redisEnvironment } from './provide-redis.mjs';

/**
 * @typedef {import('./provide-redis.mjs').RedisProgram} RedisProgram
 * @typedef {import('../processes/process-group.mjs').ProcessGroup} ProcessGroup
 */

/** Redis closes its files in this time even when its disk is busy. */
const GRACE_MS = 10_000;
const ASK_EVERY_MS = 20;

/** Nothing acknowledged is lost when the process dies, and at most about a second's worth when the power goes. */
export const KEEP_EVERYTHING = { appendonly: 'yes', appendfsync: 'everysec', save: '' };

// CLIENT PAUSE, for one, stops a server for all who use it. Redis 6 knows no rule that takes one subcommand away.
const NOT_FELT_BY_OTHERS = [
  ...['-debug', '-flushall', '-shutdown', '-swapdb', '-replicaof'],
  ...['-config', '+config|get', '+config|resetstat'],
  ...['-client', '+client|getname', '+client|id', '+client|kill', '+client|list', '+client|setname'],
];

/** For tests: no disk at all, a database for each test file, and nothing that one of them could do to the others. */
export const KEEP_NOTHING = {
  appendonly: 'no',
  save: '',
  databases: '1024',
  user: ['default', 'on', 'nopass', '~*', '&*', '+@all', ...NOT_FELT_BY_OTHERS],
};

/**
 * Starts a Redis of our own as part of the group, and returns when it takes commands.
 * @param {object} options
 * @param {RedisProgram} options.program
 * @param {ProcessGroup} options.group
 * @param {string} options.folder for its data and its log
 * @param {number} options.port
 * @param {Readonly<Record<string, string | readonly string[]>>} options.persistence
 * @param {AbortSignal} options.signal stops the waiting, as the end of a process of the group does
 * @returns {Promise<{ url: string, pid: number | undefined }>}
 */
export async function runRedis({ program, group, folder, port, persistence, signal }) {
  await mkdir(folder, { recursive: true });
  const logFile = join(folder, 'redis.log');
  const pidFile = join(folder, 'redis.pid');
  const settings = {
    port: String(port),
    bind: '127.0.0.1', // It has no password.
    dir: folder,
    logfile: logFile,
    pidfile: pidFile,
    'maxmemory-policy': 'noeviction', // Any other policy would silently throw jobs away.
    ...persistence,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value].flat());
  const { pid } = group.start({
    name: 'redis',
    command: [...program.command, ...args],
    env: redisEnvironment(program),
    cwd: folder,
    graceMs: GRACE_MS,
    ...(program.keepsData && { logFile }),
  });
  const stopped = AbortSignal.any([signal, group.failure]);
  // It writes that file once it has the port: before, another Redis may reply there.
  const isOurs = async () =>
    !program.keepsData || Number(await readFile(pidFile, 'utf8').catch(() => '')) === pid;
  while (!((await isOurs()) && (await answersPing(port)))) {
    await sleep(ASK_EVERY_MS, undefined, { signal: stopped }).catch(() => {});
    stopped.throwIfAborted();
  }
  return { url: `redis://127.0.0.1:${port}`, pid };
}

const ANSWER_TIMEOUT_MS = 1000;

/**
 * @param {number} port on 127.0.0.1
 * @returns {Promise<boolean>} whether a Redis takes commands there (one that still loads its data does not)
 */
function answersPing(port) {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    /** @param {boolean} answers */
    const settle = (answers) => {
      socket.destroy();
      resolve(answers);
    };
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => settle(false));
    socket.once('error', () => settle(false));
    socket.once('close', () => settle(false));
    socket.once('data', (answer) => settle(answer.toString('latin1').startsWith('+PONG')));
    socket.write('*1\r\n$4\r\nPING\r\n');
  });
}
