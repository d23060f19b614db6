/**
 * The header `Retry-After`, which is a number of seconds or a date.
 *
 * @param nowMs milliseconds since the Unix epoch
 * @returns seconds, 0 or more; undefined if it is absent or neither of the two
 */
export function readRetryAfter(value: string | null, nowMs: number): number | undefined {
  if (value === null) return undefined;
  if (/^\d+$/.test(value)) return Number(value);
  // Date.parse accepts texts that are not dates, such as "-1". HTTP dates begin with the day of the week.
  const date = /^[a-z]{3,9},? /i.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, (date - nowMs) / 1_000);
}
