// @ts-check
/**
 * `npm test`: installs, compiles, lints, checks the format, and runs the unit tests and the whole flows of `e2e/flows`.
 * `npm run test:all` (`--all`): runs the other tests of `e2e`, which take longer, and one flow under the Node.js of the
 * images. Both use a Redis of their own. Other arguments go to jest: `npm test -- deliver`. The last line is
 * `N passed, N failed`.
 *
 * TEST_REDIS_URL names a Redis to use instead, whose databases will be emptied. REDIS_URL is never used.
 */
import { describeError } from './problem.mjs';
import { ProcessGroup } from './processes/process-group.mjs';
import { listenForStopSignals } from './processes/stop-signals.mjs';
import { say } from './say.mjs';
import { buildPortal } from './setup/build-portal.mjs';
import { installDependencies } from './setup/install-dependencies.mjs';
import { checkSources, compile } from './test/check-sources.mjs';
import { addCounts, formatCounts } from './test/counts.mjs';
import { provideImageNode } from './test/image-node.mjs';
import { runJest } from './test/run-jest.mjs';
import { provideTestRedis } from './test/test-redis.mjs';

// Starts both programs from their build, and publishes and delivers through them.
const SMOKE = ['--selectProjects', 'flows', '--testPathPatterns', 'e2e/flows/delivery\\.test'];

const stop = listenForStopSignals();
const group = new ProcessGroup();
const signal = AbortSignal.any([stop.requested, group.failure]);
const wished = process.argv.slice(2).filter((argument) => argument !== '--all');
const isAll = wished.length < process.argv.length - 2;
let counts = { passed: 0, failed: 0, skipped: 0 };

try {
  await installDependencies({ signal });
  counts = addCounts(counts, { failed: await compile(signal) });
  await buildPortal({ signal });
  const redis = await provideTestRedis(group, signal);
  counts = addCounts(counts, await (isAll ? runOthers(redis) : runDaily(redis)));
} catch (error) {
  say('test', describeError(group.failure.aborted ? group.failure.reason : error));
  counts = addCounts(counts, { failed: 1 });
} finally {
  await group.stop(stop.insisted);
}

/**
 * The checks run beside the tests: each of them leaves a core idle now and then.
 * @param {Record<string, string>} redis
 */
async function runDaily(redis) {
  const [failed, tested] = await Promise.all([checkSources(signal), runTests(['unit', 'flows'], redis)]);
  return addCounts(tested, { failed });
}

/** @param {Record<string, string>} redis */
async function runOthers(redis) {
  const tested = await runTests(['slow'], redis);
  return wished.length > 0 ? tested : addCounts(tested, await smokeUnderImageNode(redis));
}

/**
 * @param {readonly string[]} projects of jest.config.ts
 * @param {Record<string, string>} redis
 */
async function runTests(projects, redis) {
  say('test', `running the tests (jest): ${projects.join(', ')}`);
  const selection = wished.includes('--selectProjects') ? [] : ['--selectProjects', ...projects];
  return await runJest([...wished, ...selection], redis);
}

/**
 * All else runs under whatever Node.js this is.
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
