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
 * others have nothing left. From its second run on jest knows the durations by itself. Shards (`--shard=1/3`) are even by
 * what their files take, and the same on every machine.
 */
export default class LongestFirst extends Sequencer {
  /**
   * @override
   * @param {import('@jest/test-result').Test[]} tests
   */
  sort(tests) {
    for (const { test, ms } of weigh(tests)) {
      // oxlint-disable-next-line no-underscore-dangle -- jest's name for what a sequencer may read and write
      this._getCache(test)[test.path] ??= [SUCCESS, ms];
    }
    return super.sort(tests);
  }

  /**
   * Each file, the longest first, goes to the shard that has least to do yet.
   * @override
   * @param {import('@jest/test-result').Test[]} tests
   * @param {import('@jest/test-sequencer').ShardOptions} options
   */
  shard(tests, { shardIndex, shardCount }) {
    const weighed = weigh(tests).toSorted((a, b) => b.ms - a.ms || (a.test.path < b.test.path ? -1 : 1));
    const shards = Array.from({ length: shardCount }, () => ({
      ms: 0,
      tests: /** @type {typeof tests} */ ([]),
    }));
    for (const { test, ms } of weighed) {
      const least = shards.reduce((a, b) => (b.ms < a.ms ? b : a));
      least.ms += ms;
      least.tests.push(test);
    }
    return shards[shardIndex - 1]?.tests ?? [];
  }
}

/** @param {readonly import('@jest/test-result').Test[]} tests */
function weigh(tests) {
  const durations = readDurations();
  return tests.map((test) => {
    const seconds = durations[relative(projectFolder, test.path)];
    return { test, ms: seconds === undefined ? SHORT_MS : seconds * 1_000 };
  });
}
