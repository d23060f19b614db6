// @ts-check

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
