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

  --short             a quick look instead of figures to rely on
  --rounds N          how often each measurement is made
  --deliveries N      how many are loaded, or events published
  --scene NAME        one scene alone, of burst, tenants, scale, shapes; of history: pages, replay, path are parts of what the
                      history in PostgreSQL costs; redis, or lists, account, fan-out, is reading without one; of
                      portal: overview is how soon that is drawn
  --seconds N         tenants: how long an attack lasts
  --shards N          burst: how many the queues are split over
  --json FILE         writes the figures to a file as well; one of path, drain, burst, tenants, scale, shapes, history at a time
  --build DIR         measures the build of another checkout; of the same
  --node FILE,…       all of it by each of these programs, one after the other, in the place of this Node

Of path:

  --scenes NAME,…     what cases cost the service beside its plain case: retry, bodies, rate-limited, strict, filtered,
                      own-types, pushed, batch, fan-out; or all
  --commands          which commands to Redis an event needs, and what scripts call there
  --receivers         receivers that take their time: all scenes that have aims
  --receiver-ms N,…   how long receivers take; with --webhooks and --busy each combination is a scene
  --webhooks N,…      how many webhooks the events are spread over
  --busy N,…          how many processes beside it use all the processor time that they get
  --kill-worker       one of two workers is killed
  --idempotency-keys  an Idempotency-Key of its own for each request of ours
  --profile DIR       no figures: CPU profiles`;

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
    throw new Problem('The benchmarks do not compile: the errors are above.');
  }
  await buildPortal({ signal });
  const { TEST_REDIS_URL, ...server } = await provideTestRedis(group, signal);
  const env = { ...process.env, ...server, BENCH_REDIS_URL: TEST_REDIS_URL };
  for (const node of nodes) {
    process.exitCode = await runInForeground([node, join(projectFolder, 'bench/dist/main.js'), ...args], {
      env,
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
