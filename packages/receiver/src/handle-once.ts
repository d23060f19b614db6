import { Answer } from './answers';
import type { DedupeStore } from './dedupe-store';
import type { SignedHeaders } from './event';

// Longer than the longest attempt (60 s): by then the service has given up waiting for the answer.
export const DEFAULT_LEASE_MS = 120_000;
// Soon enough for somebody who waits, and most handlers have come to their end by then.
const BUSY_RETRY_SECONDS = 10;

export interface OnceOptions {
  readonly dedupe?: DedupeStore;
  readonly leaseMs?: number;
  readonly onError: (error: unknown) => void;
}

/**
 * Has an event handled unless it was before, or is being handled right now. Without a store, or an id that was signed,
 * it is handled each time.
 *
 * @throws what `handle` or the store throws: then the event may come again.
 */
export async function handleOnce(
  { id }: SignedHeaders,
  handle: () => Promise<Answer>,
  { dedupe, leaseMs = DEFAULT_LEASE_MS, onError }: OnceOptions,
): Promise<Answer> {
  if (dedupe === undefined || id === undefined) return await handle();
  const leaseEndsAt = Date.now() + leaseMs;
  const claim = await dedupe.claim(id, leaseMs);
  if (claim === 'done') return new Answer(204);
  if (claim === 'busy') {
    const headers = { 'retry-after': String(BUSY_RETRY_SECONDS) };
    return new Answer(409, headers, 'This event is being handled right now.\n');
  }

  // Once the lease has ended, the claim may be somebody else's.
  const release = async () => (Date.now() < leaseEndsAt ? await dedupe.release(id) : undefined);
  try {
    const answer = await handle();
    await orTell(() => (isHandled(answer) ? dedupe.commit(id) : release()), onError);
    return answer;
  } catch (error) {
    await orTell(release, onError);
    throw error;
  }
}

function isHandled({ status }: Answer): boolean {
  return status >= 200 && status < 300;
}

/** The event's own ending stands whatever becomes of the note about it: its lease ends by itself. */
async function orTell(note: () => Promise<void>, onError: (error: unknown) => void): Promise<void> {
  try {
    await note();
  } catch (error) {
    onError(error);
  }
}
