// @ts-check
/**
 * `npm start` runs the whole service on this machine: Redis, the worker and the API.
 * `npm start -- --demo` also runs a demonstration: a receiver, one event of each type, a retry; then everything stops.
 * With `--keep` it keeps running, with a week of a platform for shops to be seen in the portal.
 * `--history` also runs PostgreSQL, to which finished deliveries move.
 * `--workers 3` runs as many workers.
 * `--watch` compiles changed files, and restarts the worker and the API with them: that is `npm run dev`.
 * `--skip-setup` installs and compiles nothing.
 *
 * Every setting of the API and the worker can be given as a variable. The others get defaults for one machine
 * (start/start-stack.mjs). DATA_DIR is the folder of the data, REDIS_PROVIDER and POSTGRES_PROVIDER the sources of Redis
 * and PostgreSQL.
 */
import { once } from 'node:events';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { demoSurroundings } from './demo/demo-service.mjs';
import { runDemo } from './demo/run-demo.mjs';
import { describeError, messageOf, Problem } from './problem.mjs';
import { listenForStopSignals, ProcessGroup } from './processes/process-group.mjs';
import { projectFolder } from './project-folders.mjs';
import { provideRedis } from './redis/provide-redis.mjs';
import { say } from './say.mjs';
import { buildPortal, buildPrograms, watchSources } from './setup/build.mjs';
import { installDependencies } from './setup/install-dependencies.mjs';
import { setUpForStart } from './setup/set-up.mjs';
import { isGiven, keepShellVariables } from './start/environment.mjs';
import { createPortalLink, printWelcome } from './start/print-welcome.mjs';
import { startStack } from './start/start-stack.mjs';

const OPTIONS = /** @type {const} */ ({
  demo: { type: 'boolean' },
  keep: { type: 'boolean' },
  history: { type: 'boolean' },
  workers: { type: 'string', default: '1' },
  watch: { type: 'boolean' },
  help: { type: 'boolean' },
  'skip-setup': { type: 'boolean' },
});
const USAGE = `Usage: npm start [-- --demo [--keep]] [--history] [--workers 3] [--watch] [--skip-setup]

  --demo        also runs a demonstration: a receiver, one event of each type, a retry; then everything stops
  --keep        with --demo: fills the portal with a week of events, keeps running, and prints a link to it
  --history     also runs PostgreSQL: finished deliveries move there, and are kept for months (docs/history.md)
  --workers 3   runs as many workers, all with the same settings (default: 1)
  --watch       compiles changed files, and restarts the worker and the API with them (npm run dev)
  --skip-setup  installs and compiles nothing

Every setting of the API and the worker can be given as a variable: see docs/configuration.md.`;

const stop = listenForStopSignals();
const group = new ProcessGroup();
const signal = AbortSignal.any([stop.requested, group.failure]);

try {
  const options = readOptions();
  if (options.help) process.stdout.write(`${USAGE}\n`);
  else await run(options);
} catch (error) {
  // What waits is interrupted by both, and then throws: the reason is what counts, not where it was felt.
  const reason = group.failure.aborted ? group.failure.reason : error;
  if (!stop.requested.aborted) {
    say('start', describeError(reason));
    process.exitCode = 1;
  }
} finally {
  if (stop.requested.aborted) say('start', 'stopping');
  await group.stop(stop.insisted);
  if (stop.requested.aborted) say('start', 'stopped');
}

/** @param {ReturnType<typeof readOptions>} options */
async function run(options) {
  if (!options['skip-setup']) await setUp(options);
  if (options.demo) await demonstrate(options);
  else await serve(options);
}

/** @param {ReturnType<typeof readOptions>} options */
async function setUp({ watch: isWatching = false }) {
  // Fetched meanwhile. If that fails, it fails again when it is needed, and is told then.
  const redis = isGiven(process.env, 'REDIS_URL') ? undefined : provideRedis().catch(() => undefined);
  if (isWatching) {
    await installDependencies({ signal });
    await buildPrograms({ signal });
    await buildPortal({ signal });
  } else {
    await setUpForStart({ signal });
  }
  await redis;
}

function readOptions() {
  try {
    const { workers, ...values } = parseArgs({ options: OPTIONS }).values;
    if (!/^[1-9]\d?$/.test(workers))
      throw new Error(`--workers is '${workers}': it must be a number from 1 to 99.`);
    return { ...values, workers: Number(workers) };
  } catch (error) {
    throw new Problem(`${messageOf(error)}\n${USAGE}`);
  }
}

/** @param {ReturnType<typeof readOptions>} options */
async function serve({ watch: isWatching = false, history: hasHistory = false, workers }) {
  const environment = process.env;
  const dataFolder = resolve(projectFolder, environment['DATA_DIR'] || '.data');
  const stack = await startStack({ environment, dataFolder, group, signal, isWatching, hasHistory, workers });
  const variables = await keepShellVariables(dataFolder, stack);
  printWelcome(stack, await createPortalLink({ ...stack, signal }), variables);
  if (isWatching) watchSources(group);
  await untilStopped();
}

/** @param {ReturnType<typeof readOptions>} options `keep`: it goes on, with its data, once it was shown */
async function demonstrate({ keep: isKept = false, history: hasHistory = false, workers }) {
  const { environment, dataFolder } = await demoSurroundings(group);
  const stack = await startStack({ environment, dataFolder, group, signal, hasHistory, workers });
  await runDemo({ stack, signal, group, isKept });
  if (!isKept) return;
  const link = await createPortalLink({ ...stack, signal });
  say('demo', `portal (this link works once, within ten minutes): ${link ?? stack.apiUrl}`);
  say('demo', 'Ctrl-C stops everything and deletes its data');
  await untilStopped();
}

async function untilStopped() {
  if (!signal.aborted) await once(signal, 'abort');
  signal.throwIfAborted();
}
