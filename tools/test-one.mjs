// @ts-check
/**
 * `npm run test:one -- FILE`: runs the tests whose path matches, and nothing else: nothing is installed, linted or checked.
 * Tests of whole flows (`e2e/`) start what is built, so those are compiled first. Other arguments go to jest (`-t NAME`).
 * `--watch` runs them again after each change, until you press `q`.
 */
import { describeError, Problem } from './problem.mjs';
import { listenForStopSignals, ProcessGroup } from './processes/process-group.mjs';
import { installedProgram } from './project-folders.mjs';
import { say } from './say.mjs';
import { buildPortal } from './setup/build.mjs';
import { completeInstallation, writeSources } from './setup/install-dependencies.mjs';
import { runInForeground } from './setup/run-command.mjs';
import { runJest } from './test/run-jest.mjs';
import { provideTestRedis } from './test/test-redis.mjs';

const stop = listenForStopSignals();
const group = new ProcessGroup();
// jest's own `--watch` runs only what has changed since the last commit.
const wished = process.argv.slice(2).map((argument) => (argument === '--watch' ? '--watchAll' : argument));
process.exitCode = 1;

try {
  if (wished.length === 0)
    throw new Problem('Name a file: npm run test:one -- packages/core/src/deliver/decide-next.test.ts');
  await completeInstallation({ signal: stop.requested });
  await writeSources({ signal: stop.requested });
  const ofWholeFlows = wished.some((argument) => argument.includes('e2e'));
  if (ofWholeFlows) {
    const code = await runInForeground([installedProgram('tsc'), '-b'], { signal: stop.requested });
    if (code !== 0) throw new Problem('It does not compile, so no test has run. The errors are above.');
    await buildPortal({ signal: stop.requested });
  }
  const redis = await provideTestRedis(group, stop.requested);
  const { failed } = await runJest(wished, redis);
  process.exitCode = failed === 0 ? 0 : 1;
} catch (error) {
  say('test', describeError(error));
} finally {
  await group.stop(stop.insisted);
}
