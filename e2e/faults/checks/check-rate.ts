import type { Ledger } from '../ledger';
import { type Finding, toFindings } from './finding';

const WINDOW_MS = 1_000;
// A request may be on its way for longer than the one before it, by the receiver's clock, which has whole milliseconds.
const JITTER = 1;

/** Whether more than `limit` requests came to the endpoint within any second. Those that were reset came to nobody. */
export function checkRate(
  { requests }: Pick<Ledger, 'requests'>,
  endpoint: string,
  limit: number,
): readonly Finding[] {
  const arrivals = requests
    .filter((request) => request.endpoint === endpoint && request.status !== null)
    .map(({ arrivedAt }) => arrivedAt)
    .sort((a, b) => a - b);
  const most = mostWithin(arrivals, WINDOW_MS);
  return toFindings(
    'rate limit exceeded',
    most > limit + JITTER ? [`${most} requests within a second at ${endpoint}, which takes ${limit}`] : [],
  );
}

/** The most of these sorted times that lie within a window of this length, its end not included. */
function mostWithin(times: readonly number[], windowMs: number): number {
  let from = 0;
  let most = 0;
  for (const [i, time] of times.entries()) {
    while (time - (times[from] ?? time) >= windowMs) from += 1;
    most = Math.max(most, i - from + 1);
  }
  return most;
}
