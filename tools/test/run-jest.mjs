// @ts-check
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installedProgram } from '../project-folders.mjs';
import { runInForeground } from '../setup/run-command.mjs';

/**
 * Runs the tests of all projects. No signal stops them: on Ctrl-C the terminal tells jest itself.
 * @param {readonly string[]} args
 * @param {Record<string, string>} redis
 * @param {string} [node] the program to run them under; default: the one that runs this
 * @returns {Promise<Counts>}
 */
export async function runJest(args, redis, node = process.execPath) {
  const folder = await mkdtemp(join(tmpdir(), 'webhooks-test-report-'));
  try {
    const report = join(folder, 'report.json');
    const code = await runInForeground(
      [node, installedProgram('jest'), '--json', `--outputFile=${report}`, ...args],
      { env: testEnvironment(redis) },
    );
    return countTests(code, JSON.parse(await readFile(report, 'utf8').catch(() => '{}')));
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
 * @param {Record<string, number | undefined>} report
 * @returns {Counts}
 */
function countTests(code, report) {
  const failedFiles = report['numRuntimeErrorTestSuites'] ?? 0; // Files that could not be run at all.
  const failed = (report['numFailedTests'] ?? 0) + failedFiles;
  return {
    passed: report['numPassedTests'] ?? 0,
    // jest can fail with every test passed: no test found, a teardown that throws, a broken configuration.
    failed: code !== 0 && failed === 0 ? 1 : failed,
    skipped: (report['numPendingTests'] ?? 0) + (report['numTodoTests'] ?? 0),
  };
}

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */

/**
 * @param {Counts} counts
 * @param {Partial<Counts>} more
 * @returns {Counts}
 */
export function addCounts(counts, { passed = 0, failed = 0, skipped = 0 }) {
  return {
    passed: counts.passed + passed,
    failed: counts.failed + failed,
    skipped: counts.skipped + skipped,
  };
}

/** @param {Counts} counts */
export function formatCounts({ passed, failed, skipped }) {
  const line = `${passed} passed, ${failed} failed`;
  return skipped === 0 ? line : `${line}, ${skipped} skipped`;
}
