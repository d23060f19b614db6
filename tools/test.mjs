// @ts-check
/**
 * `npm test`: installs, compiles, lints, checks the format, and runs the unit tests and the daily flows of `e2e/flows`
 * (`jest.config.ts` has their list). `npm run test:all` (`--all`): runs the long unit tests (`*.long.test.ts`), the other
 * flows and tests of `e2e`, one flow under the Node.js of the images, and some flows with a history. `npm run
 * test:history` (`--history`): runs all that have to find no difference with a history. What fails in these two is run once
 * more. `npm run test:all -- --shard=1/3` runs a third of it. All use a Redis of their own. Other arguments go to jest:
 * `npm test -- deliver`. The last line is `N passed, N failed`; what was skipped or unsteady comes behind it, and what
 * failed before it.
 *
 * TEST_REDIS_URL names a Redis to use instead, whose databases will be emptied. REDIS_URL is never used.
 */
import { join } from 'node:path';
import { describeError } from './problem.mjs';
import { listenForStopSignals, ProcessGroup } from './processes/process-group.mjs';
import { installedProgram, projectFolder } from './project-folders.mjs';
import { say } from './say.mjs';
import { buildPortal } from './setup/build.mjs';
import { installDependencies } from './setup/install-dependencies.mjs';
import { runInForeground, runQuietly } from './setup/run-command.mjs';
import { provideImageNode } from './test/image-node.mjs';
import { addCounts, formatCounts, runJest, runJestTwice } from './test/run-jest.mjs';
import { provideTestRedis } from './test/test-redis.mjs';

// Starts both programs from their build, and publishes and delivers through them.
const SMOKE = ['--selectProjects', 'flows', '--testPathPatterns', 'e2e/flows/delivery\\.test'];

// What has ended is read, exported, redelivered and erased there, by HTTP, in the portal and by the command line.
const HISTORY_FLOWS = [
  'e2e/flows/(delivery|dead-letters|erasure|filters|redelivery|replay-faults|replays|retries|subscriptions)',
  'e2e/portal/(deliveries|events-and-replays)',
  'e2e/packages/cli',
  'e2e/slow/history',
];
const ALL_HISTORY_FLOWS = [
  'e2e/flows/[^/]+',
  'e2e/portal/[^/]+',
  'e2e/packages/(cli|client|python)',
  'e2e/slow/history',
];

/** @type {readonly { what: string, command: readonly [string, ...string[]] }[]} */
const CHECKS = [
  {
    what: 'linting (oxlint)',
    command: [installedProgram('oxlint'), '--deny-warnings'],
  },
  {
    what: 'checking the format (biome)',
    command: [installedProgram('biome'), 'ci', `--colors=${process.stdout.isTTY ? 'force' : 'off'}`, '.'],
  },
  {
    what: 'checking the scripts of Redis (StyLua)',
    command: [process.execPath, join(projectFolder, 'packages/core/build/lint-lua.mjs')],
  },
  {
    what: 'checking the structure (house)',
    command: [process.execPath, join(projectFolder, 'tools/house.mjs'), '--check'],
  },
  {
    what: 'checking the lock file and the licences',
    command: [process.execPath, join(projectFolder, 'tools/check-dependencies.mjs')],
  },
  {
    what: 'checking the words of the pages',
    command: [process.execPath, join(projectFolder, 'tools/check-words.mjs')],
  },
];

/** These take many seconds of a processor. @type {typeof CHECKS} */
const LONG_CHECKS = [
  {
    what: 'linting with the types (oxlint)',
    command: [installedProgram('oxlint'), '--type-aware', '--deny-warnings'],
  },
  {
    what: 'looking for exports that nobody uses (knip)',
    command: [installedProgram('knip'), '--no-gitignore', '--no-progress'],
  },
  {
    what: 'checking the lists of files that an event passes (house)',
    command: [process.execPath, join(projectFolder, 'tools/house.mjs'), '--check', '--walks'],
  },
];

const stop = listenForStopSignals();
const group = new ProcessGroup();
const signal = AbortSignal.any([stop.requested, group.failure]);
const SHARD = /^--shard=(\d+)\/\d+$/;
const wished = process.argv
  .slice(2)
  .filter((argument) => argument !== '--all' && argument !== '--history' && !SHARD.test(argument));
const shard = process.argv.filter((argument) => SHARD.test(argument));
const isFirstShard = shard.every((argument) => SHARD.exec(argument)?.[1] === '1');
const isAll = process.argv.includes('--all');
const isHistory = process.argv.includes('--history');
/** @type {import('./test/run-jest.mjs').Counts} */
const NONE = { passed: 0, failed: 0, skipped: 0 };
let counts = NONE;

try {
  await installDependencies({ signal });
  counts = addCounts(counts, await compile());
  await buildPortal({ signal });
  const redis = await provideTestRedis(group, signal);
  counts = addCounts(counts, await runWished(redis));
} catch (error) {
  const why = describeError(group.failure.aborted ? group.failure.reason : error);
  say('test', why);
  counts = addCounts(counts, { failed: 1, failures: [why] });
} finally {
  await group.stop(stop.insisted);
}

process.exitCode = counts.failed === 0 ? 0 : 1;
for (const failure of counts.failures ?? []) process.stdout.write(`FAILED   | ${failure}\n`);
process.stdout.write(`${formatCounts(counts)}\n`);

/** @param {Record<string, string>} redis */
async function runWished(redis) {
  if (isHistory) return await runWithHistory(ALL_HISTORY_FLOWS, redis);
  return await (isAll ? runOthers(redis) : runDaily(redis));
}

/**
 * The checks run beside the tests: each of them leaves a core idle now and then.
 * @param {Record<string, string>} redis
 */
async function runDaily(redis) {
  say('test', 'running the tests (jest)');
  const tests = runJest([...wished, ...select('unit', 'flows')], redis);
  const [checked, tested] = await Promise.all([checkSources(CHECKS), tests]);
  return addCounts(tested, checked);
}

/** @param {Record<string, string>} redis */
async function runOthers(redis) {
  say('test', 'running the long tests (jest)');
  const tested = await runJestTwice([...wished, ...shard], select('long', 'more-flows', 'slow'), redis);
  if (wished.length > 0) return tested;
  const checked = addCounts(tested, await checkSources(LONG_CHECKS));
  const smoked = isFirstShard ? addCounts(checked, await smokeUnderImageNode(redis)) : checked;
  return addCounts(smoked, await runWithHistory(HISTORY_FLOWS, redis));
}

/**
 * The same tests once more, with a history that everything moves to at once.
 * @param {readonly string[]} files
 * @param {Record<string, string>} redis
 * @returns {Promise<Partial<import('./test/run-jest.mjs').Counts>>}
 */
async function runWithHistory(files, redis) {
  say('test', 'running flows with a history (jest)');
  const pattern = `(${files.join('|')})\\.test\\.ts$`;
  const args = [...wished, ...shard, '--testPathPatterns', pattern];
  return await runJestTwice(args, select('flows', 'more-flows', 'slow'), { ...redis, TEST_HISTORY: '1' });
}

/**
 * The arguments that choose projects of jest.config.ts; none if the user's own arguments do.
 * @param {readonly string[]} projects
 * @returns {readonly string[]}
 */
function select(...projects) {
  return wished.includes('--selectProjects') ? [] : ['--selectProjects', ...projects];
}

/**
 * All else runs under whatever Node.js this is.
 * @param {Record<string, string>} redis
 * @returns {Promise<Partial<import('./test/run-jest.mjs').Counts>>}
 */
async function smokeUnderImageNode(redis) {
  const node = await provideImageNode(signal);
  if (node === undefined) return {};
  say('test', 'publishing and delivering under the Node.js of the images');
  return await runJest(SMOKE, redis, node);
}

/** Compiles everything, tests included. */
async function compile() {
  const what = 'compiling, tests included (tsc -b)';
  say('test', what);
  const code = await runInForeground([installedProgram('tsc'), '-b'], { signal });
  return code === 0 ? {} : failureOf(what);
}

/**
 * Runs every check, also after one has failed: so that one run shows everything to fix. Shows only the failures, because tests
 * write at the same time.
 * @param {typeof CHECKS} checks
 */
async function checkSources(checks) {
  let checked = NONE;
  for (const { what, command } of checks) {
    say('test', what);
    const { code, output, errors } = await runQuietly(command, { signal, isBackground: true });
    if (code !== 0) checked = addCounts(checked, failureOf(what, `\n${output}${errors}`));
  }
  return checked;
}

/** @param {string} what @param {string} [output] */
function failureOf(what, output = '') {
  say('test', `FAILED: ${what}${output}`);
  return { failed: 1, failures: [what] };
}
