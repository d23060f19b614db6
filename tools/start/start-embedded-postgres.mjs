// @ts-check
import { randomBytes } from 'node:crypto';
import { chown, lstat, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { providePostgres } from '../postgres/provide-postgres.mjs';
import { makeDataFolder, pidFileOf, runPostgres, USER } from '../postgres/run-postgres.mjs';
import { messageOf, Problem } from '../problem.mjs';
import { findFreePort, isPortFree } from '../processes/free-port.mjs';
import { say } from '../say.mjs';
import { runQuietly } from '../setup/run-command.mjs';
import { endLeftBehind } from './data-folder-lock.mjs';
import { keepSecret } from './environment.mjs';

const USUAL_PORT = 5432;
// `nobody`, on every Linux.
const NOBODY = 65_534;

/**
 * Runs a PostgreSQL of our own on the data folder, and gives the variables by which the programs find it. The data folder
 * must be locked.
 * @param {Pick<import('./start-stack.mjs').StackOptions, 'dataFolder' | 'group' | 'signal'>} options
 * @returns {Promise<{ HISTORY_DATABASE_URL: string }>}
 */
export async function startEmbeddedPostgres({ dataFolder, group, signal }) {
  const home = join(dataFolder, 'postgres');
  const account = await provideHome(home);
  const folder = join(home, 'data');
  const program = await providePostgres({ major: await readMajor(folder), account });
  const passwordFile = join(home, 'password');
  const password = await providePassword(passwordFile, folder, account);
  if (!(await isThere(folder))) {
    say('setup', `creating the database folder of ${program.version}: ${folder}`);
    await makeDataFolder({ program, account, folder, passwordFile, signal });
  }
  await endEarlierServer(folder);

  const isUsual = await isPortFree(USUAL_PORT, '127.0.0.1');
  const port = isUsual ? USUAL_PORT : await findFreePort('127.0.0.1');
  if (!isUsual) say('start', `port ${USUAL_PORT} is in use: PostgreSQL listens on ${port} instead`);
  say('start', `starting ${program.version} on port ${port}, data in ${folder}`);
  const logFile = join(dataFolder, 'postgres.log');
  await runPostgres({ program, account, group, folder, logFile, port, signal });
  const url = `postgresql://${USER}:${password}@127.0.0.1:${port}/postgres?sslmode=disable`;
  await noteUrl(join(dataFolder, 'history-database-url'), url, group);
  return { HISTORY_DATABASE_URL: url };
}

/**
 * Makes the folder that holds all of PostgreSQL, and says who is to run it there: root gives it to `nobody`.
 * @param {string} home
 * @returns {Promise<import('../postgres/provide-postgres.mjs').Account>}
 */
async function provideHome(home) {
  try {
    await mkdir(home, { recursive: true });
    const { uid, gid } = await lstat(home);
    const own = process.getuid?.();
    if (own === undefined || uid === own) {
      if (own !== 0) return {};
      await chown(home, NOBODY, NOBODY);
      return await requireWay(home, { uid: NOBODY, gid: NOBODY });
    }
    if (own === 0) return await requireWay(home, { uid, gid });
    throw new Problem(
      `${home} belongs to another user (${uid}), who created this history. Run npm start as that user, or set DATA_DIR to another folder.`,
    );
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(`The folder for PostgreSQL, ${home}, can't be made: ${messageOf(error)}`);
  }
}

/**
 * @param {string} home
 * @param {Required<import('../postgres/provide-postgres.mjs').Account>} account
 */
async function requireWay(home, account) {
  // Asked by that user: modes of all folders above, and whatever else there may be, decide.
  const { code } = await runQuietly(['/bin/sh', '-c', 'test -w "$0"', home], { cwd: '/', account });
  if (code === 0) return account;
  throw new Problem(
    `PostgreSQL does not run as root, so npm start runs it as user ${account.uid}. This user can't write to ${home}, because a folder above it is closed.\n` +
      'Start as another user, or set DATA_DIR to a folder that all users may enter, such as /var/tmp/hookferry.',
  );
}

/**
 * @param {string} folder
 * @returns {Promise<number | undefined>} the version of the data that is there; undefined: there is none
 */
async function readMajor(folder) {
  if (!(await isThere(folder))) return undefined;
  const text = (await readFile(join(folder, 'PG_VERSION'), 'utf8').catch(() => '')).trim();
  if (/^\d+$/.test(text)) return Number(text);
  throw new Problem(
    `${folder} is damaged: its file PG_VERSION can't be read. Restore the folder from a backup,\n` +
      'or move it away: then an empty history is created, and the moved deliveries are lost.',
  );
}

/** @param {string} folder */
async function isThere(folder) {
  const names = await readdir(folder).catch(() => []);
  return names.length > 0;
}

const PASSWORD_FORM = /^[0-9a-f]{32}$/;

/**
 * It is made along with the data, which no other one opens.
 * @param {string} path
 * @param {string} folder of the data
 * @param {import('../postgres/provide-postgres.mjs').Account} account
 */
async function providePassword(path, folder, { uid, gid }) {
  const create = () => randomBytes(16).toString('hex');
  if (await isThere(folder)) {
    const kept = (await readFile(path, 'utf8').catch(() => '')).trim();
    if (PASSWORD_FORM.test(kept)) return kept;
    throw new Problem(
      `The password of the history is missing in ${path}. Bring it back, or move ${folder} away.`,
    );
  }
  const password = await keepSecret(path, { form: PASSWORD_FORM, create });
  if (uid !== undefined && gid !== undefined) await chown(path, uid, gid);
  return password;
}

/**
 * An earlier start that was killed, along with its watchdog, leaves its PostgreSQL behind.
 * @param {string} folder
 */
async function endEarlierServer(folder) {
  const path = pidFileOf(folder);
  const pid = Number((await readFile(path, 'utf8').catch(() => '')).split('\n')[0]);
  if (!(pid > 0)) return;
  // By its folder: there may be other servers on this machine, one of which has that id now.
  const command = new RegExp(`postgres.*${folder.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}`, 's');
  await endLeftBehind({ title: 'PostgreSQL', pid, command, folder, stopSignal: 'SIGINT' });
  // PostgreSQL would take another process of this id for a server on its data. The lock of the folder says that there is none.
  if (isTaken(pid)) await rm(path, { force: true });
}

/** @param {number} pid */
function isTaken(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/**
 * For people, to whom `psql "$(cat .data/history-database-url)"` shows it. Nobody else may read it.
 * @param {string} path
 * @param {string} url
 * @param {import('../processes/process-group.mjs').ProcessGroup} group
 */
async function noteUrl(path, url, group) {
  await rm(path, { force: true });
  await writeFile(path, `${url}\n`, { mode: 0o600 });
  group.onStopped(() => rm(path, { force: true }));
}
