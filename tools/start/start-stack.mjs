// @ts-check
import { access, constants, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf, Problem } from '../problem.mjs';
import { findFreePort, isPortFree } from '../processes/free-port.mjs';
import { projectFolder } from '../project-folders.mjs';
import { say } from '../say.mjs';
import { lockDataFolder } from './data-folder-lock.mjs';
import { isGiven, provideApiKey, provideEncryptionKey, withDefaults } from './environment.mjs';
import { startEmbeddedPostgres } from './start-embedded-postgres.mjs';
import { startEmbeddedRedis } from './start-embedded-redis.mjs';

/** @typedef {import('../processes/process-group.mjs').ProcessGroup} ProcessGroup */

/**
 * @typedef {object} Program
 * @property {string} name shown before each of its lines
 * @property {string} title as people say it
 * @property {string} main its compiled file, from the root of the repository
 * @property {NodeJS.ProcessEnv} [env] settings of its own
 * @property {number} graceMs longer than the time limit of a delivery (15 s), so that those on their way can finish
 */

/**
 * @typedef {object} StackOptions
 * @property {NodeJS.ProcessEnv} environment what the user has set
 * @property {string} dataFolder
 * @property {ProcessGroup} group
 * @property {AbortSignal} signal
 * @property {boolean} [hasHistory] whether there is to be a PostgreSQL for the history
 * @property {boolean} [isWatching] whether the programs are to start anew when they are compiled anew
 * @property {number} [workers] 1 unless it is given
 * @property {readonly Program[]} [programs] unless it is a process for each
 * @property {string} [portFlag] by which the user has set API_PORT, for messages
 */

/**
 * @typedef {object} Stack
 * @property {string} apiUrl
 * @property {string} workerUrl
 * @property {string} apiKey
 * @property {string | undefined} redisUrl if it is ours
 * @property {string | undefined} historyUrl if it is ours
 */

/** @type {Program} */
const WORKER = { name: 'worker', title: 'the worker', main: 'apps/worker/dist/main.js', graceMs: 25_000 };
/** @type {Program} */
const API = { name: 'api', title: 'the API', main: 'apps/api/dist/main.js', graceMs: 25_000 };

/** Workers first: what is started last is stopped first, and the API is the door. @param {number} workers @returns {readonly Program[]} */
function separate(workers) {
  const others = Array.from({ length: workers - 1 }, (_, i) => i + 2);
  // Nobody asks the others at their ports, so any will do.
  const env = { WORKER_PORT: '0' };
  return [WORKER, ...others.map((n) => ({ ...WORKER, name: `worker-${n}`, title: `worker ${n}`, env })), API];
}

/**
 * Starts Redis and, if there is to be a history, PostgreSQL (unless the user has them), the worker and the API, and returns when all are ready.
 * @param {StackOptions} options
 * @returns {Promise<Stack>}
 */
export async function startStack(options) {
  const { environment, group, signal, dataFolder, isWatching = false, workers = 1 } = options;
  const { programs = separate(workers) } = options;
  const flags = isWatching ? ['--watch', '--watch-preserve-output'] : [];
  await provideDataFolder(dataFolder);
  const apiKey = await provideApiKey(environment, dataFolder);
  const { redis, history } = await startServers(options);
  const { REDIS_URL: redisUrl } = redis;
  const { HISTORY_DATABASE_URL: historyUrl } = history;
  const addresses = await chooseAddresses(environment, options.portFlag);
  const env = {
    ...withDefaults(environment, {
      ...redis,
      ...history,
      BOOTSTRAP_API_KEY: apiKey,
      SECRETS_ENCRYPTION_KEY: await provideEncryptionKey(dataFolder),
      // On one machine the receivers to try things out with are on that machine, and have no certificate.
      ALLOW_HTTP_URLS: 'true',
      // Nothing stands before the API that would have to notice that it stops.
      DRAIN_DELAY: '0s',
      DELIVERY_ALLOWED_CIDRS: '127.0.0.0/8,::1/128',
      // To the programs our pipe is not a terminal, even if it ends in one.
      // Whoever tries it out wants to see each attempt.
      ...(process.stdout.isTTY ? { LOG_FORMAT: 'pretty', LOG_LEVEL: 'debug' } : {}),
    }),
    ...addresses,
  };
  const apiUrl = baseUrl(addresses.API_HOST, addresses.API_PORT);
  const workerUrl = baseUrl(addresses.WORKER_HOST, addresses.WORKER_PORT);
  for (const program of programs) {
    startProgram(group, program, env, flags);
    // It makes the tables of a new history, which the API would miss.
    if (historyUrl !== undefined) await waitUntilReady({ name: 'worker', url: workerUrl, signal });
  }
  await waitUntilReady({ name: 'worker', url: workerUrl, signal });
  await waitUntilReady({ name: 'API', url: apiUrl, signal });
  return { apiUrl, workerUrl, apiKey, redisUrl, historyUrl };
}

/** @param {string} folder */
async function provideDataFolder(folder) {
  try {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.W_OK);
  } catch (error) {
    throw new Problem(
      `The folder for data, ${folder}, can't be written to (${messageOf(error)}). Set DATA_DIR to another folder.`,
    );
  }
}

/**
 * The variables by which the programs find what is ours: Redis, and PostgreSQL if there is to be a history.
 * @param {StackOptions} options
 * @returns {Promise<{ redis: { REDIS_URL?: string }, history: { HISTORY_DATABASE_URL?: string } }>}
 */
async function startServers(options) {
  const { environment, dataFolder, group, hasHistory = false } = options;
  const hasRedis = isGiven(environment, 'REDIS_URL');
  const hasPostgres = isGiven(environment, 'HISTORY_DATABASE_URL');
  if (hasRedis) say('start', 'using the Redis that REDIS_URL names');
  if (hasHistory && hasPostgres) say('start', 'using the PostgreSQL that HISTORY_DATABASE_URL names');
  const isPostgresOurs = hasHistory && !hasPostgres;
  if (hasRedis && !isPostgresOurs) return { redis: {}, history: {} };

  const lock = await lockDataFolder(dataFolder);
  group.onStopped(() => lock.release());
  return {
    redis: hasRedis ? {} : await startEmbeddedRedis(options, lock),
    history: isPostgresOurs ? await startEmbeddedPostgres(options) : {},
  };
}

/**
 * Where the two listen, as variables; unlike in production they can be reached from this machine only.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} [portFlag] by which the user has set the port of the API
 */
async function chooseAddresses(env, portFlag) {
  const apiHost = env['API_HOST'] || '127.0.0.1';
  const api = { who: 'API', variable: 'API_PORT', usual: 3000, host: apiHost };
  const apiPort = await choosePort(env, { ...api, flag: portFlag });
  const workerHost = env['WORKER_HOST'] || '127.0.0.1';
  const worker = { who: 'worker', variable: 'WORKER_PORT', usual: 3001, host: workerHost, except: [apiPort] };
  const workerPort = await choosePort(env, worker);
  return {
    API_HOST: apiHost,
    API_PORT: String(apiPort),
    WORKER_HOST: workerHost,
    WORKER_PORT: String(workerPort),
  };
}

/**
 * @param {ProcessGroup} group
 * @param {Program} program
 * @param {NodeJS.ProcessEnv} env
 * @param {readonly string[]} flags of Node.js
 */
function startProgram(group, { name, title, main, graceMs, env: own }, env, flags) {
  say('start', `starting ${title}`);
  group.start({
    name,
    command: [process.execPath, ...flags, join(projectFolder, main)],
    env: { ...env, ...own },
    cwd: projectFolder,
    graceMs,
  });
}

/**
 * Where to reach from this machine what listens on `host`.
 * @param {string} host
 * @param {string} port
 */
function baseUrl(host, port) {
  if (host === '0.0.0.0' || host === '::') return `http://127.0.0.1:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * The port that the user has set (0 = any free one), or else the usual one, or else a free one.
 * @param {NodeJS.ProcessEnv} env
 * @param {object} options
 * @param {string} options.who what listens there, for the message
 * @param {string} options.variable
 * @param {string | undefined} [options.flag] by which the user has set it
 * @param {number} options.usual
 * @param {string} options.host
 * @param {readonly number[]} [options.except] ports that are promised to others
 * @returns {Promise<number>}
 */
async function choosePort(env, { who, variable, flag = variable, usual, host, except = [] }) {
  const given = env[variable];
  if (given === '0') return await findFreePort(host, except);
  const wanted = given ? Number(given) : usual;
  if (!Number.isInteger(wanted) || wanted < 0 || wanted > 65_535) {
    throw new Problem(`${flag} is '${given}': it must be a port, 1 to 65535.`);
  }
  if (!except.includes(wanted) && (await isPortFree(wanted, host))) return wanted;
  if (given)
    throw new Problem(
      `${flag} is ${given}, but another program uses that port of ${host}. Choose another port.`,
    );

  const port = await findFreePort(host, except);
  say('start', `port ${usual} is in use: the ${who} listens on ${port} instead`);
  return port;
}

const ASK_EVERY_MS = 50;
const RESPONSE_TIMEOUT_MS = 2000;
const GIVE_UP_AFTER_MS = 60_000;

/**
 * Returns when it responds with 200 that it is ready.
 * @param {object} options
 * @param {string} options.name
 * @param {string} options.url
 * @param {string} [options.path] where to ask
 * @param {AbortSignal} options.signal
 */
async function waitUntilReady({ name, url, path = '/readyz', signal }) {
  const deadline = Date.now() + GIVE_UP_AFTER_MS;
  for (;;) {
    const readiness = await askReadiness(url + path, signal);
    if (readiness === 'ready') return;
    if (Date.now() > deadline)
      throw new Problem(
        `The ${name} is not ready after ${GIVE_UP_AFTER_MS / 1000} s: ${url}${path} ${readiness}`,
      );
    await sleep(ASK_EVERY_MS, undefined, { signal });
  }
}

/**
 * @param {string} url
 * @param {AbortSignal} signal
 * @returns {Promise<string>} 'ready', or what is in the way
 */
async function askReadiness(url, signal) {
  try {
    const response = await fetch(url, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(RESPONSE_TIMEOUT_MS)]),
    });
    const body = await response.text();
    return response.status === 200 ? 'ready' : `responds with ${response.status} ${body}`;
  } catch (error) {
    return `does not respond (${messageOf(error)})`;
  }
}
