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
import { buildPortal } from './setup/build-portal.mjs';
import { installDependencies } from './setup/install-dependencies.mjs';
import { checkSources } from './test/check-sources.mjs';
import { addCounts, formatCounts } from './test/counts.mjs';
import { provideImageNode } from './test/image-node.mjs';
import { runJest } from './test/run-jest.mjs';
import { provideTestRedis } from './test/test-redis.mjs';

// Less than a minute: what starts both programs from their build, and sends what they are given.
const SMOKE = ['--selectProjects', 'flows', '--testPathPatterns', 'e2e/flows/delivery\\.test'];

const stop = listenForStopSignals();
const group = new ProcessGroup();
const signal = AbortSignal.any([stop.requested, group.failure]);
let counts = { passed: 0, failed: 0, skipped: 0 };

try {
  await installDependencies({ signal });
  counts = addCounts(counts, { failed: await checkSources(signal) });
  await buildPortal({ signal });
  const redis = await provideTestRedis(group, signal);
  const wished = process.argv.slice(2);
  say('test', 'running the tests (jest)');
  counts = addCounts(counts, await runJest(wished, redis));
  if (wished.length === 0) counts = addCounts(counts, await smokeUnderImageNode(redis));
} catch (error) {
  say('test', describeError(group.failure.aborted ? group.failure.reason : error));
  counts = addCounts(counts, { failed: 1 });
} finally {
  await group.stop(stop.insisted);
}

/**
 * All else runs under whatever Node.js this is: one whole flow runs under the one of the images too.
 * @param {Record<string, string>} redis
 * @returns {Promise<Partial<import('./test/counts.mjs').Counts>>}
 */
async function smokeUnderImageNode(redis) {
  const node = await provideImageNode(signal);
  if (node === undefined) return {};
  say('test', 'publishing and delivering under the Node.js of the images');
  return await runJest(SMOKE, redis, node);
}

process.exitCode = counts.failed === 0 ? 0 : 1;
process.stdout.write(`${formatCounts(counts)}\n`);
