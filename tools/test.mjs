// @ts-check
/**
 * `npm test`: installs, compiles, lints, checks the format, and runs every test on a Redis of its own.
 * Arguments go to jest: `npm test -- deliver`. The last line is `N passed, N failed`.
 *
 * TEST_REDIS_URL names a Redis to use instead, whose databases will be emptied. REDIS_URL is never used.
 */
import { describeError } from './problem.mjs';
import { ProcessGroup } from './processes/process-group.mjs';
import { listenForStopSignals } from './processes/stop-signals.mjs';
import { say } from './say.mjs';
import { installDependencies } from './setup/install-dependencies.mjs';
import { checkSources } from './test/check-sources.mjs';
import { addCounts, formatCounts } from './test/counts.mjs';
import { runJest } from './test/run-jest.mjs';
import { provideTestRedis } from './test/test-redis.mjs';

const stop = listenForStopSignals();
const group = new ProcessGroup();
const signal = AbortSignal.any([stop.requested, group.failure]);
let counts = { passed: 0, failed: 0, skipped: 0 };

try {
  await installDependencies({ signal });
  counts = addCounts(counts, { failed: await checkSources(signal) });
  const redis = await provideTestRedis(group, signal);
  counts = addCounts(counts, await runJest(process.argv.slice(2), redis));
} catch (error) {
  say('test', describeError(group.failure.aborted ? group.failure.reason : error));
  counts = addCounts(counts, { failed: 1 });
} finally {
  await group.stop(stop.insisted);
}

process.exitCode = counts.failed === 0 ? 0 : 1;
process.stdout.write(`${formatCounts(counts)}\n`);
