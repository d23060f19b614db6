// @ts-check
import { join } from 'node:path';
import { projectFolder } from '../project-folders.mjs';
import { say } from '../say.mjs';
import { choosePort } from './choose-port.mjs';
import { isGiven, withDefaults } from './given-environment.mjs';
import { provideApiKey } from './local-api-key.mjs';
import { provideEncryptionKey } from './local-encryption-key.mjs';
import { startEmbeddedRedis } from './start-embedded-redis.mjs';
import { waitUntilReady } from './wait-until-ready.mjs';

/** @typedef {import('../processes/process-group.mjs').ProcessGroup} ProcessGroup */

/**
 * @typedef {object} StackOptions
 * @property {NodeJS.ProcessEnv} environment what the user has set
 * @property {string} dataFolder
 * @property {ProcessGroup} group
 * @property {AbortSignal} signal
 * @property {boolean} [isWatching] whether the programs are to start anew when they are compiled anew
 */

/** @typedef {{ apiUrl: string, workerUrl: string, apiKey: string, redisUrl: string | undefined }} Stack `redisUrl` if it is ours */

/** Longer than the time limit of a delivery (15 s), so that those on their way can finish. */
const GRACE_MS = 25_000;

/**
 * Starts Redis (unless the user has one), the worker and the API, and returns when all are ready.
 * @param {StackOptions} options
 * @returns {Promise<Stack>}
 */
export async function startStack(options) {
  const { environment, group, signal, dataFolder, isWatching = false } = options;
  const flags = isWatching ? ['--watch', '--watch-preserve-output'] : [];
  const apiKey = await provideApiKey(environment, dataFolder);
  const redis = isGiven(environment, 'REDIS_URL') ? useGivenRedis() : await startEmbeddedRedis(options);
  const { REDIS_URL: redisUrl } = redis;
  const addresses = await chooseAddresses(environment);
  const env = {
    ...withDefaults(environment, {
      ...redis,
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
  // The worker first: what is started last is stopped first, and the API is the door.
  startProgram(group, 'worker', env, flags);
  startProgram(group, 'api', env, flags);

  const apiUrl = baseUrl(addresses.API_HOST, addresses.API_PORT);
  const workerUrl = baseUrl(addresses.WORKER_HOST, addresses.WORKER_PORT);
  await waitUntilReady({ name: 'worker', url: workerUrl, signal });
  await waitUntilReady({ name: 'API', url: apiUrl, signal });
  return { apiUrl, workerUrl, apiKey, redisUrl };
}

/** @returns {{ REDIS_URL?: string }} */
function useGivenRedis() {
  say('start', 'using the Redis that REDIS_URL names');
  return {};
}

/**
 * Where the two listen, as variables; unlike in production they can be reached from this machine only.
 * @param {NodeJS.ProcessEnv} env
 */
async function chooseAddresses(env) {
  const apiHost = env['API_HOST'] || '127.0.0.1';
  const apiPort = await choosePort(env, { who: 'API', variable: 'API_PORT', usual: 3000, host: apiHost });
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
 * @param {'api' | 'worker'} name
 * @param {NodeJS.ProcessEnv} env
 * @param {readonly string[]} flags of Node.js
 */
function startProgram(group, name, env, flags) {
  say('start', `starting the ${name === 'api' ? 'API' : name}`);
  const main = join(projectFolder, 'apps', name, 'dist', 'main.js');
  group.start({
    name,
    command: [process.execPath, ...flags, main],
    env,
    cwd: projectFolder,
    graceMs: GRACE_MS,
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
