// @ts-check
import { relative } from 'node:path';
import { projectFolder } from '../project-folders.mjs';
import { say } from '../say.mjs';
import { writeDurations } from './durations.mjs';

const SAY_EVERY_MS = 15_000;
/** Before that the speed of this machine says little. */
const LEAST_SHARE = 0.1;

/**
 * Says now and then how far the tests are, how long they have taken and will take, and which files run. Lines that stay
 * legible in a log. With `TEST_DURATIONS=write` it writes `durations.json` at the end.
 */
export default class Progress {
  #startedAt = Date.now();
  #total = 0;
  #done = 0;
  #failed = 0;
  #expectedMs = 0;
  #doneMs = 0;
  /** @type {Map<string, number>} since when which file runs */
  #running = new Map();
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #workers;

  /** @param {{ readonly maxWorkers: number }} globalConfig */
  constructor({ maxWorkers }) {
    this.#workers = maxWorkers;
  }

  /**
   * @param {{ readonly numTotalTestSuites: number }} results
   * @param {{ readonly estimatedTime: number }} options
   */
  onRunStart({ numTotalTestSuites }, { estimatedTime }) {
    this.#startedAt = Date.now();
    this.#total = numTotalTestSuites;
    this.#expectedMs = estimatedTime * 1_000;
    this.#timer = setInterval(() => say('test', this.#describe()), SAY_EVERY_MS);
    this.#timer.unref();
  }

  /** @param {import('@jest/test-result').Test} test */
  onTestStart({ path }) {
    this.#running.set(path, Date.now());
  }

  /**
   * @param {import('@jest/test-result').Test} test
   * @param {import('@jest/test-result').TestResult} result
   */
  onTestResult({ path, duration = 0 }, { numFailingTests, testExecError }) {
    this.#running.delete(path);
    this.#done += 1;
    this.#doneMs += duration / this.#workers;
    if (numFailingTests > 0 || testExecError) this.#failed += 1;
  }

  /**
   * @param {unknown} _contexts
   * @param {{ readonly testResults: readonly import('@jest/test-result').TestResult[] }} results
   */
  onRunComplete(_contexts, { testResults }) {
    clearInterval(this.#timer);
    if (process.env['TEST_DURATIONS'] === 'write') writeDurations(testResults);
  }

  #describe() {
    const failed = this.#failed === 0 ? '' : `, ${this.#failed} failed`;
    const running = [...this.#running].map(([path, since]) => {
      return `${relative(projectFolder, path)} (${inWords(Date.now() - since)})`;
    });
    return `${this.#done} of ${this.#total} files${failed} after ${inWords(this.#tookMs())}, ${this.#describeLeft()}; now ${running.join(', ')}`;
  }

  #tookMs() {
    return Date.now() - this.#startedAt;
  }

  /** By the speed so far. Files that take longer than ever before leave nothing to go by. */
  #describeLeft() {
    const share = this.#doneMs / this.#expectedMs;
    const leftMs =
      share < LEAST_SHARE
        ? this.#expectedMs - this.#tookMs()
        : (this.#tookMs() * (1 - Math.min(1, share))) / share;
    return leftMs > 0 ? `about ${inWords(leftMs)} left` : 'longer than expected';
  }
}

/** @param {number} ms */
function inWords(ms) {
  const seconds = Math.round(ms / 1_000);
  return seconds < 90 ? `${seconds} s` : `${(seconds / 60).toFixed(1)} min`;
}
