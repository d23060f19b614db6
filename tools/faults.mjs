// @ts-check
/**
 * `npm run faults`: installs, compiles, and runs the fault suite, which starts Redis servers of its own. Arguments go
 * to it: `npm run faults -- quick`, `npm run faults -- worker-kill --runs 10`, `npm run faults -- --help`.
 */
import { join } from 'node:path';
import { describeError, Problem } from './problem.mjs';
import { listenForStopSignals } from './processes/process-group.mjs';
import { installedProgram, projectFolder } from './project-folders.mjs';
import { provideRedis } from './redis/provide-redis.mjs';
import { say } from './say.mjs';
import { installDependencies } from './setup/install-dependencies.mjs';
import { runInForeground } from './setup/run-command.mjs';
import { describeServer } from './test/test-redis.mjs';

const { requested: signal } = listenForStopSignals();

try {
  await installDependencies({ signal });
  say('setup', 'compiling (tsc -b)');
  if ((await runInForeground([installedProgram('tsc'), '-b'], { signal })) !== 0) {
    throw new Problem('The project does not compile. The errors are above.');
  }
  const server = describeServer(await provideRedis());
  if (server['TEST_REDIS_SERVER'] === undefined) {
    throw new Problem(
      'The fault suite needs a Redis that keeps its data. Install Redis: `apt install redis-server`.',
    );
  }
  process.exitCode = await runInForeground(
    [process.execPath, join(projectFolder, 'e2e/faults/dist/faults/main.js'), ...process.argv.slice(2)],
    { env: { ...process.env, ...server }, stop: signal },
  );
} catch (error) {
  say('faults', describeError(error));
  process.exitCode = 1;
}
