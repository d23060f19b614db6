// @ts-check
import { createRequire } from 'node:module';
import { relative } from 'node:path';
import { projectFolder } from '../project-folders.mjs';
import { readDurations } from './durations.mjs';

// Its types are of the CommonJS module.
const { default: Sequencer } = /** @type {typeof import('@jest/test-sequencer')} */ (
  createRequire(import.meta.url)('@jest/test-sequencer')
);

/** Of a file that `durations.json` does not name: those are many and short. */
const SHORT_MS = 1_500;
const SUCCESS = 1;

/**
 * Starts the longest files first, also in a fresh clone: one that begins last has a worker to itself at the end, while the
 * others have nothing left. From its second run on jest knows the durations by itself.
 */
export default class LongestFirst extends Sequencer {
  /**
   * @override
   * @param {import('@jest/test-result').Test[]} tests
   */
  sort(tests) {
    const durations = readDurations();
    for (const test of tests) {
      const seconds = durations[relative(projectFolder, test.path)];
      // oxlint-disable-next-line no-underscore-dangle -- jest's name for what a sequencer may read and write
      this._getCache(test)[test.path] ??= [SUCCESS, seconds === undefined ? SHORT_MS : seconds * 1_000];
    }
    return super.sort(tests);
  }
}
