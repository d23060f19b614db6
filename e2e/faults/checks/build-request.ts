import { randomUUID } from 'node:crypto';
import type { ReceivedRequest } from '../ledger';

/** A request that a receiver has taken, but for what a test says of it. */
export function buildRequest(change: Partial<ReceivedRequest> = {}): ReceivedRequest {
  const arrivedAt = change.arrivedAt ?? 1_000;
  return {
    endpoint: 'one',
    requestId: randomUUID(),
    eventId: `evt_${change.marker ?? 'm1'}`,
    marker: 'm1',
    type: 'keyword.quick_win',
    attempt: 1,
    arrivedAt,
    endedAt: arrivedAt + 10,
    status: 204,
    isVerified: true,
    bodyHash: 'hash',
    ...change,
  };
}
