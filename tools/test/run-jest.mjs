// @ts-check
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { installedProgram, projectFolder } from '../project-folders.mjs';
import { say } from '../say.mjs';
import { runInForeground } from '../setup/run-command.mjs';

/** So many files do not fail by chance: something is broken, and a second run would only take time. */
const MOST_RUN_AGAIN = 8;

/**
 * Runs tests. No signal stops them: on Ctrl-C the terminal tells jest itself.
 * @param {readonly string[]} args
 * @param {Record<string, string>} redis
 * @param {string} [node] the program to run them under; default: the one that runs this
 * @returns {Promise<Counts>}
 */
export async function runJest(args, redis, node = process.execPath) {
  const { code, report } = await reportOf(args, redis, node);
  return countTests(code, report);
}

/**
 * Runs tests, and the files that failed once more, one at a time. Long tests have browsers, killed processes and clocks
 * on the cores of one machine: what fails only beside others is unsteady. That is told, and stops nobody's change.
 * @param {readonly string[]} args
 * @param {readonly string[]} projects the arguments that name projects of jest's configuration
 * @param {Record<string, string>} redis
 * @returns {Promise<Counts>}
 */
export async function runJestTwice(args, projects, redis) {
  const first = await reportOf([...args, ...projects], redis, process.execPath);
  const { testResults = [] } = first.report;
  const files = testResults.filter(({ status }) => status === 'failed');
  if (files.length === 0 || files.length > MOST_RUN_AGAIN) return countTests(first.code, first.report);
  say(
    'test',
    `running what failed once more, one file at a time:\n${indent(files.flatMap(describeFailures))}`,
  );
  const paths = files.map(({ name }) => name);
  // One worker is jest's own process. A test that fails may leave something open in it, which would keep it from its end.
  const alone = ['--maxWorkers=1', '--forceExit', '--runTestsByPath', ...paths];
  const second = await reportOf([...alone, ...projects], redis, process.execPath);
  const again = new Map(second.report.testResults?.map(({ name, status }) => [name, status]));
  const unsteady = files.filter(({ name }) => again.has(name) && again.get(name) !== 'failed');
  if (unsteady.length > 0)
    say(
      'test',
      `UNSTEADY: failed beside others, passed alone:\n${indent(unsteady.flatMap(describeFailures))}`,
    );
  const others = countOf(testResults.filter((file) => !files.includes(file)));
  return { ...addCounts(others, countTests(second.code, second.report)), unsteady: unsteady.length };
}

/**
 * @param {readonly string[]} args
 * @param {Record<string, string>} redis
 * @param {string} node
 * @returns {Promise<{ code: number, report: Report }>}
 */
async function reportOf(args, redis, node) {
  const folder = await mkdtemp(join(tmpdir(), 'webhooks-test-report-'));
  try {
    const file = join(folder, 'report.json');
    const command = [node, installedProgram('jest'), '--json', `--outputFile=${file}`, ...args];
    const code = await runInForeground(/** @type {[string, ...string[]]} */ (command), {
      env: testEnvironment(redis),
    });
    return { code, report: JSON.parse(await readFile(file, 'utf8').catch(() => '{}')) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Tests must neither find the user's own Redis nor depend on how the user has set the service up.
 * @param {Record<string, string>} redis
 */
function testEnvironment(redis) {
  const { REDIS_URL: _url, REDIS_URL_FILE: _urlFile, ...rest } = process.env;
  return { ...rest, ...redis };
}

/**
 * @param {number} code
 * @param {Report} report
 * @returns {Counts}
 */
function countTests(code, report) {
  const failedFiles = report.numRuntimeErrorTestSuites ?? 0; // Files that could not be run at all.
  const failed = (report.numFailedTests ?? 0) + failedFiles;
  return {
    passed: report.numPassedTests ?? 0,
    failures: report.testResults?.filter(({ status }) => status === 'failed').flatMap(describeFailures) ?? [],
    // jest can fail with every test passed: no test found, a teardown that throws, a broken configuration.
    failed: code !== 0 && failed === 0 ? 1 : failed,
    skipped: (report.numPendingTests ?? 0) + (report.numTodoTests ?? 0),
  };
}

/**
 * @param {readonly FileReport[]} files
 * @returns {Counts}
 */
function countOf(files) {
  const all = files.flatMap(({ assertionResults }) => assertionResults);
  const count = (/** @type {readonly string[]} */ ...statuses) =>
    all.filter(({ status }) => statuses.includes(status)).length;
  return { passed: count('passed'), failed: count('failed'), skipped: count('pending', 'todo') };
}

/** @param {FileReport} file */
function describeFailures({ name, message, assertionResults }) {
  const failed = assertionResults.filter(({ status }) => status === 'failed');
  const file = relative(projectFolder, name);
  if (failed.length === 0)
    return [`${file}: ${firstLine(message.replace(/^.*Test suite failed to run\s*/s, ''))}`];
  return failed.map(
    ({ fullName, failureMessages }) => `${file} › ${fullName}: ${firstLine(failureMessages[0])}`,
  );
}

const firstLine = (text = '') => stripVTControlCharacters(text).trim().split('\n')[0] ?? '';

/** @param {readonly string[]} lines */
const indent = (lines) => lines.map((line) => `           ${line}`).join('\n');

/**
 * What jest writes about a file of tests.
 * @typedef {object} FileReport
 * @property {string} name its path
 * @property {'passed' | 'failed' | 'skipped' | 'focused'} status
 * @property {string} message
 * @property {readonly { status: string, fullName: string, failureMessages: readonly string[] }[]} assertionResults
 */

/**
 * @typedef {object} Report
 * @property {number} [numRuntimeErrorTestSuites]
 * @property {number} [numPassedTests]
 * @property {number} [numFailedTests]
 * @property {number} [numPendingTests]
 * @property {number} [numTodoTests]
 * @property {readonly FileReport[]} [testResults]
 */

/**
 * @typedef {object} Counts
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {number} [unsteady] files
 * @property {readonly string[]} [failures] a line for each test that failed
 */

/**
 * @param {Counts} counts
 * @param {Partial<Counts>} more
 * @returns {Counts}
 */
export function addCounts(counts, { passed = 0, failed = 0, skipped = 0, unsteady = 0, failures = [] }) {
  return {
    passed: counts.passed + passed,
    failed: counts.failed + failed,
    skipped: counts.skipped + skipped,
    unsteady: (counts.unsteady ?? 0) + unsteady,
    failures: [...(counts.failures ?? []), ...failures],
  };
}

/** @param {Counts} counts */
export function formatCounts({ passed, failed, skipped, unsteady = 0 }) {
  const parts = [`${passed} passed`, `${failed} failed`];
  if (skipped > 0) parts.push(`${skipped} skipped`);
  if (unsteady > 0) parts.push(`${unsteady} unsteady`);
  return parts.join(', ');
}
