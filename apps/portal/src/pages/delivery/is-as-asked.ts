import type { DeliveryWithAttempts } from '../../api/delivery-queries';

type Attempt = DeliveryWithAttempts['attempts'][number];

// What passes between the answer and the decision what follows, and what an HTTP date leaves out of a second.
const LEEWAY_MS = 2_000;

/** Whether what comes next is due when the receiver asked for it, by the `Retry-After` of the attempt before. */
export function isAsAsked(
  { started_at: startedAt, duration_ms: durationMs, response_headers: headers }: Attempt,
  dueAt: string,
): boolean {
  const wish = headers?.['retry-after'];
  if (wish === undefined) return false;
  const seconds = /^\d+$/.test(wish) ? Number(wish) : undefined;
  const askedFor =
    seconds === undefined ? Date.parse(wish) : Date.parse(startedAt) + durationMs + seconds * 1_000;
  return Math.abs(Date.parse(dueAt) - askedFor) <= LEEWAY_MS;
}
