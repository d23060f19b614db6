import { WebhooksApiError } from './api-error';
import { isCertainlyUnsent, WebhooksConnectionError } from './connection-error';

/** A caller should know about longer waits, so the error is thrown at once, with its `retryAfterSeconds`. */
const MAX_RETRY_DELAY_MS = 60_000;
const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 8_000;

/**
 * Whether the same request may succeed when it is sent again.
 *
 * @param isRepeatable whether it does no harm if the service already carried it out
 */
export function isWorthRetrying(error: unknown, isRepeatable: boolean): boolean {
  if (error instanceof WebhooksApiError) return isTemporary(error);
  if (!(error instanceof WebhooksConnectionError) || error.code === 'aborted') return false;
  return isRepeatable || isCertainlyUnsent(error);
}

/** `request_in_progress`: the service still works on an earlier attempt with the same `Idempotency-Key`, whose connection broke. */
function isTemporary({ status, code, retryAfterSeconds = 0 }: WebhooksApiError): boolean {
  if (retryAfterSeconds * 1_000 > MAX_RETRY_DELAY_MS) return false;
  return status === 429 || status === 503 || code === 'request_in_progress';
}

/**
 * How long to wait before the next attempt: as long as the service asked for, otherwise longer each time. It is partly
 * random, so that clients do not all come back at once.
 *
 * @param retry 1 for the first retry
 * @param random from 0 to less than 1
 */
export function retryDelayMs(error: unknown, retry: number, random: number): number {
  const asked = error instanceof WebhooksApiError ? error.retryAfterSeconds : undefined;
  if (asked !== undefined) return Math.ceil(asked * 1_000);
  const backoffMs = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (retry - 1));
  return Math.round(backoffMs * (0.5 + random / 2));
}
