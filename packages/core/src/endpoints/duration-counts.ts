/**
 * How many attempts took how long, in buckets that grow by a quarter (three to a doubling): as many as tell a percentile to
 * within an eighth, and few enough to be kept for each hour. The first is below a millisecond, the last has no end.
 */
export type DurationCounts = readonly number[];

/** As many as there are letters, by which they are stored: up to two minutes. */
const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
const BUCKETS_TO_A_DOUBLING = 3;

export const NO_DURATIONS: DurationCounts = LETTERS.split('').map(() => 0);

export function countDuration(durationMs: number): DurationCounts {
  return NO_DURATIONS.with(bucketOf(durationMs), 1);
}

export function addDurations(a: DurationCounts, b: DurationCounts): DurationCounts {
  return a.map((count, bucket) => count + (b[bucket] ?? 0));
}

/**
 * How long so large a share of them took at most, in milliseconds, to within an eighth.
 *
 * @param share between 0 and 1.
 * @returns `undefined` when none was counted.
 */
export function percentileOf(counts: DurationCounts, share: number): number | undefined {
  const total = counts.reduce((sum, count) => sum + count, 0);
  let left = share * total;
  for (const [bucket, count] of counts.entries()) {
    if (count > 0 && left <= count) return middleOf(bucket);
    left -= count;
  }
  return undefined;
}

/** Those that were counted: the letter of each bucket, and how many. */
export function encodeDurations(counts: DurationCounts): string {
  return counts.map((count, bucket) => (count === 0 ? '' : LETTERS.charAt(bucket) + count)).join('');
}

export function decodeDurations(text: string): DurationCounts {
  if (text === '') return NO_DURATIONS;
  const counts = [...NO_DURATIONS];
  for (const [, letter = '', count] of text.matchAll(/([a-zA-Z])(\d+)/g)) {
    counts[LETTERS.indexOf(letter)] = Number(count);
  }
  return counts;
}

function bucketOf(durationMs: number): number {
  if (durationMs < 1) return 0;
  const bucket = 1 + Math.floor(BUCKETS_TO_A_DOUBLING * Math.log2(durationMs));
  return Math.min(bucket, NO_DURATIONS.length - 1);
}

function middleOf(bucket: number): number {
  return 2 ** ((bucket - 0.5) / BUCKETS_TO_A_DOUBLING);
}
