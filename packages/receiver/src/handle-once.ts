import type { DedupeStore } from './dedupe-store';
import type { SignedHeaders } from './event';
import { ReceiverResponse } from './responses';

// Longer than the longest attempt (60 s): by then the service has given up waiting for the response.
export const DEFAULT_LEASE_MS = 120_000;
// Short enough for a sender that waits, and most handlers have finished by then.
const BUSY_RETRY_SECONDS = 10;

export interface OnceOptions {
  readonly dedupe?: DedupeStore;
  readonly leaseMs?: number;
  readonly onError: (error: unknown) => void;
}

/**
 * Handles an event, unless it was handled before or is being handled now. Without a store, or without a signed id, it is
 * handled each time.
 *
 * @throws the error of `handle` or of the store. Then the service sends the event again.
 */
export async function handleOnce(
  { id }: SignedHeaders,
  handle: () => Promise<ReceiverResponse>,
  { dedupe, leaseMs = DEFAULT_LEASE_MS, onError }: OnceOptions,
): Promise<ReceiverResponse> {
  if (dedupe === undefined || id === undefined) return await handle();
  const leaseEndsAt = Date.now() + leaseMs;
  const claim = await dedupe.claim(id, leaseMs);
  if (claim === 'done') return new ReceiverResponse(204);
  if (claim === 'busy') {
    const headers = { 'retry-after': String(BUSY_RETRY_SECONDS) };
    return new ReceiverResponse(409, headers, 'This event is being handled right now.\n');
  }

  // After the lease, the claim may belong to another process.
  const release = async () => (Date.now() < leaseEndsAt ? await dedupe.release(id) : undefined);
  try {
    const response = await handle();
    await orReport(() => (isHandled(response) ? dedupe.commit(id) : release()), onError);
    return response;
  } catch (error) {
    await orReport(release, onError);
    throw error;
  }
}

function isHandled({ status }: ReceiverResponse): boolean {
  return status >= 200 && status < 300;
}

/** A failure of the store does not change the result of the event: the lease ends by itself. */
async function orReport(note: () => Promise<void>, onError: (error: unknown) => void): Promise<void> {
  try {
    await note();
  } catch (error) {
    onError(error);
  }
}
