import { parseRetryAfter } from '@hookferry/core/deliver/retry-after';
import type { Attempt } from '../../api/delivery-queries';

// The time between the response and the decision, and the fraction of a second that an HTTP date lacks.
const LEEWAY_MS = 2_000;

/** True if the next attempt is due at the time of the receiver's last `Retry-After`. */
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
