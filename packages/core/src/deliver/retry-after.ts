/** Longer waits are cut to this: a receiver can slow deliveries down, not park an event for a year. */
export const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/**
 * The wait that a `Retry-After` header asks for (RFC 9110: seconds, or an HTTP date), in milliseconds, at
 * most 24 hours. 0 when it is absent, invalid or in the past.
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number {
  if (header === undefined) return 0;
  const text = header.trim();
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(httpDate(text)) - nowMs;
  return Number.isNaN(waitMs) ? 0 : Math.min(Math.max(waitMs, 0), MAX_RETRY_AFTER_MS);
}

// Date.parse accepts nearly anything as a date ("-5" is the year 2001); an HTTP date starts with a weekday.
// C's asctime form ends with the year and means GMT, which Date.parse would read as local time.
function httpDate(text: string): string {
  return /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text) ? text.replace(/ \d{4}$/, '$& GMT') : '';
}
