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

const stop = listenForStopSignals();
const group = new ProcessGroup();
const signal = AbortSignal.any([stop.requested, group.failure]);

try {
  await installDependencies({ signal });
  say('setup', 'compiling (tsc -b bench)');
  if ((await runInForeground([installedProgram('tsc'), '-b', 'bench'], { signal })) !== 0) {
    throw new Problem('The benchmarks do not compile: the errors are above.');
  }
  await buildPortal({ signal });
  const { TEST_REDIS_URL, ...server } = await provideTestRedis(group, signal);
  process.exitCode = await runInForeground(
    [process.execPath, join(projectFolder, 'bench/dist/main.js'), ...process.argv.slice(2)],
    { env: { ...process.env, ...server, BENCH_REDIS_URL: TEST_REDIS_URL } },
  );
} catch (error) {
  say('bench', describeError(group.failure.aborted ? group.failure.reason : error));
  process.exitCode = 1;
} finally {
  await group.stop(stop.insisted);
}
