import { parseRetryAfter } from '@hookferry/core/deliver/retry-after';
import type { Attempt } from '../../api/delivery-queries';

// What passes between the answer and the decision what follows, and what an HTTP date leaves out of a second.
const LEEWAY_MS = 2_000;

/** Whether what comes next is due when the receiver asked for it, by the `Retry-After` of the attempt before. */
export function isAsAsked(
  { started_at: startedAt, duration_ms: durationMs, response_headers: headers }: Attempt,
  dueAt: string,
): boolean {
  const wish = headers?.['retry-after'];
  if (wish === undefined) return false;
  const endedAt = Date.parse(startedAt) + durationMs;
  const waitMs = parseRetryAfter(wish, endedAt);
  return waitMs > 0 && Math.abs(Date.parse(dueAt) - endedAt - waitMs) <= LEEWAY_MS;
}
