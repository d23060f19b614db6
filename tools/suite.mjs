// @ts-check
/**
 * `npm run bench` and `npm run faults`: install, compile, and run the benchmarks or the fault suite, on servers of Redis of their own.
 * Arguments go to them: `npm run bench -- drain --short`, `npm run faults -- worker-kill --runs 10`; `--help` lists all.
 * `npm run bench -- --node FILE,…` runs everything with each of these Node programs, one after the other.
 */
import { join } from 'node:path';
import { describeError, Problem } from './problem.mjs';
import { listenForStopSignals, ProcessGroup } from './processes/process-group.mjs';
import { installedProgram, projectFolder } from './project-folders.mjs';
import { provideRedis } from './redis/provide-redis.mjs';
import { say } from './say.mjs';
import { buildPortal } from './setup/build.mjs';
import { installDependencies } from './setup/install-dependencies.mjs';
import { runInForeground } from './setup/run-command.mjs';
import { describeServer } from './test/test-redis.mjs';

const [name = '', ...args] = process.argv.slice(2);
const nodes = takeNodes();
const stop = listenForStopSignals();
const group = new ProcessGroup();
const signal = AbortSignal.any([stop.requested, group.failure]);

try {
  await installDependencies({ signal });
  say('setup', 'compiling (tsc -b)');
  if ((await runInForeground([installedProgram('tsc'), '-b'], { signal })) !== 0) {
    throw new Problem('The project does not compile. The errors are above.');
  }
  if (name === 'bench') await buildPortal({ signal });
  const main = join(
    projectFolder,
    name === 'bench' ? 'bench/dist/main.js' : 'e2e/faults/dist/faults/main.js',
  );
  const env = { ...process.env, ...(await redisOfTheirOwn()) };
  for (const node of nodes) {
    process.exitCode = await runInForeground([node, main, ...args], { env, stop: signal });
    if (process.exitCode !== 0) break;
  }
} catch (error) {
  say(name, describeError(group.failure.aborted ? group.failure.reason : error));
  process.exitCode = 1;
} finally {
  await group.stop(stop.insisted);
}

/** How to start the servers that they need. */
async function redisOfTheirOwn() {
  const server = describeServer(await provideRedis());
  if (server['TEST_REDIS_SERVER'] !== undefined) return server;
  throw new Problem(
    'Benchmarks and the fault suite need a Redis that keeps its data. Install Redis: `apt install redis-server`.',
  );
}

/** Takes the option for this program out of those for the benchmarks. They start their processes by the Node that runs them. */
function takeNodes() {
  const at = args.indexOf('--node');
  if (at === -1) return [process.execPath];
  const [, files = ''] = args.splice(at, 2);
  return files.split(',');
}
