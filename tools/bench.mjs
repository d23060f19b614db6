// @ts-check
/**
 * `npm run bench`: installs, compiles, and runs the benchmarks on a Redis of their own. Arguments go to them:
 * `npm run bench -- drain --short`. What they print is in docs/benchmarks.md.
 */
import { join } from 'node:path';
import { describeError, Problem } from './problem.mjs';
import { listenForStopSignals, ProcessGroup } from './processes/process-group.mjs';
import { installedProgram, projectFolder } from './project-folders.mjs';
import { say } from './say.mjs';
import { buildPortal } from './setup/build.mjs';
import { installDependencies } from './setup/install-dependencies.mjs';
import { runInForeground } from './setup/run-command.mjs';
import { provideTestRedis } from './test/test-redis.mjs';

const USAGE = `Usage: npm run bench [-- NAME …] [options]

All benchmarks, or those that are named: path, drain, burst, tenants, scale, shapes, history, scrape, portal.

  --short             a short run, whose figures are only rough
  --rounds N          how often each measurement is repeated
  --deliveries N      how many deliveries are loaded, or events published
  --scene NAME        one scene alone, of burst, tenants, scale and shapes.
                      history: pages, replay and path measure the history in PostgreSQL; redis, lists, account and fan-out
                      measure reading without one. portal: overview measures how soon that page is shown
  --seconds N         tenants: how long an attack lasts
  --shards N          burst: the number of shards of the queues
  --json FILE         also writes the figures to a file; for one of path, drain, burst, tenants, scale, shapes, history
  --build DIR         measures the build of another checkout; for the same benchmarks
  --node FILE,…       runs everything with each of these Node programs, one after the other

Of path:

  --scenes NAME,…     further cases, beside the plain one: retry, bodies, rate-limited, strict, filtered, own-types, pushed,
                      batch, fan-out; or all
  --commands          counts the commands to Redis for one event, and those that scripts call
  --receivers         slow receivers: all scenes that have aims
  --receiver-ms N,…   how long receivers take; with --webhooks and --busy each combination is a scene
  --webhooks N,…      how many webhooks the events are spread over
  --busy N,…          how many other processes use all the processor time that they get
  --kill-worker       kills one of two workers
  --idempotency-keys  sends an Idempotency-Key with each request to Hookferry
  --profile DIR       writes CPU profiles, instead of measuring`;

const args = process.argv.slice(2);
const nodes = takeNodes();
const stop = listenForStopSignals();
const group = new ProcessGroup();
const signal = AbortSignal.any([stop.requested, group.failure]);

try {
  if (args.includes('--help')) process.stdout.write(`${USAGE}\n`);
  else await run();
} catch (error) {
  say('bench', describeError(group.failure.aborted ? group.failure.reason : error));
  process.exitCode = 1;
} finally {
  await group.stop(stop.insisted);
}

async function run() {
  await installDependencies({ signal });
  say('setup', 'compiling (tsc -b bench)');
  if ((await runInForeground([installedProgram('tsc'), '-b', 'bench'], { signal })) !== 0) {
    throw new Problem('The benchmarks do not compile. The errors are above.');
  }
  await buildPortal({ signal });
  const { TEST_REDIS_URL, ...server } = await provideTestRedis(group, signal);
  const env = { ...process.env, ...server, BENCH_REDIS_URL: TEST_REDIS_URL };
  for (const node of nodes) {
    process.exitCode = await runInForeground([node, join(projectFolder, 'bench/dist/main.js'), ...args], {
      env,
      stop: signal,
    });
    if (process.exitCode !== 0) return;
  }
}

/** Takes the option for this program out of those for the benchmarks. They start their processes by the Node that runs them. */
function takeNodes() {
  const at = args.indexOf('--node');
  if (at === -1) return [process.execPath];
  const [, files = ''] = args.splice(at, 2);
  return files.split(',');
}
