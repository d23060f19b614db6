// @ts-check
/**
 * `hookferry-server` (packages/server) tries the service without this repository: Redis, and one process with the API, the worker
 * and the portal. `node tools/serve.mjs` does the same in it. All that it keeps is in one folder, `.hookferry` unless told otherwise.
 *
 * Every setting of the API and the worker can be given as a variable, as for `npm start`.
 */
import { once } from 'node:events';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { describeError, messageOf, Problem } from './problem.mjs';
import { listenForStopSignals, ProcessGroup } from './processes/process-group.mjs';
import { keepFetchedIn } from './project-folders.mjs';
import { say } from './say.mjs';
import { isGiven } from './start/environment.mjs';
import { createPortalLink } from './start/print-welcome.mjs';
import { startStack } from './start/start-stack.mjs';

const OPTIONS = /** @type {const} */ ({
  port: { type: 'string' },
  data: { type: 'string' },
  help: { type: 'boolean' },
});
const USAGE = `Usage: hookferry-server [--port PORT] [--data FOLDER]

  --port PORT    where the API and the portal listen, on this machine only (default: API_PORT, or 3000 if it is free)
  --data FOLDER  its data, keys and log of Redis (default: DATA_DIR, or .hookferry in the current folder)

REDIS_URL names a Redis to use. Without it, it runs a redis-server or valkey-server of its own: the one on the PATH, or one
that it fetches. WORKER_PORT is the port of the worker's metrics. All other settings of the API and the worker are variables too.`;
const TOGETHER = {
  name: 'server',
  title: 'API, worker and portal, in one process',
  main: 'packages/server/dist/service.js',
  // Each of the two may take as long as in a process of its own.
  graceMs: 50_000,
};

const stop = listenForStopSignals();
const group = new ProcessGroup();
const signal = AbortSignal.any([stop.requested, group.failure]);

try {
  const options = readOptions();
  if (options.help) process.stdout.write(`${USAGE}\n`);
  else await serve(options);
} catch (error) {
  // What waits is interrupted by both, and then throws: the reason is what counts, not where it was felt.
  const reason = group.failure.aborted ? group.failure.reason : error;
  if (!stop.requested.aborted) {
    process.stderr.write(`${describeError(reason)}\n`);
    process.exitCode = 1;
  }
} finally {
  if (stop.requested.aborted) say('start', 'stopping');
  await group.stop(stop.insisted);
  if (stop.requested.aborted) say('start', 'stopped');
}

function readOptions() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    throw new Problem(`${messageOf(error)}\n${USAGE}`);
  }
}

/** @param {ReturnType<typeof readOptions>} options */
async function serve({ port, data }) {
  const environment = port === undefined ? process.env : { ...process.env, API_PORT: port };
  const dataFolder = resolve(data || environment['DATA_DIR'] || '.hookferry');
  await makePrivate(dataFolder);
  keepFetchedIn(join(dataFolder, 'cache'));
  const stack = await startStack({
    ...{ environment, dataFolder, group, signal, programs: [TOGETHER] },
    ...(port === undefined ? {} : { portFlag: '--port' }),
  });
  const keyFile = isGiven(environment, 'BOOTSTRAP_API_KEY') ? undefined : join(dataFolder, 'api-key');
  printReady(stack, keyFile, await createPortalLink({ ...stack, signal }));
  if (!signal.aborted) await once(signal, 'abort');
  signal.throwIfAborted();
}

/**
 * It has keys in it, and events: nobody else may read them, and no repository is to have them.
 * @param {string} folder
 */
async function makePrivate(folder) {
  try {
    await mkdir(folder, { recursive: true });
    await chmod(folder, 0o700);
    await writeFile(join(folder, '.gitignore'), '*\n');
  } catch (error) {
    throw new Problem(
      `The folder for data, ${folder}, can't be written to (${messageOf(error)}). Choose another one: --data FOLDER`,
    );
  }
}

/**
 * @param {import('./start/start-stack.mjs').Stack} stack
 * @param {string | undefined} keyFile undefined: the user has given the key
 * @param {string | undefined} portalLink
 */
function printReady({ apiUrl, workerUrl, redisUrl }, keyFile, portalLink) {
  const lines = [
    `API       ${apiUrl}`,
    `API key   ${keyFile === undefined ? 'in BOOTSTRAP_API_KEY' : `in ${relative('', keyFile)}`}`,
    ...(portalLink === undefined
      ? []
      : [`portal    ${portalLink}`, '          (signs you in as the operator, once, within ten minutes)']),
    `docs      ${apiUrl}/docs`,
    `metrics   ${apiUrl}/metrics and ${workerUrl}/metrics`,
    ...(redisUrl === undefined ? [] : [`Redis     ${redisUrl}`]),
  ];
  process.stdout.write(`\nHookferry is ready.\n\n${lines.map((line) => `  ${line}\n`).join('')}`);
  process.stdout.write('\nCtrl-C stops everything.\n\n');
}
