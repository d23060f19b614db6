import type { ReplayId, ReplayOrder } from '../domain/replay';
import { systemClock } from '../platform/clock';
import { createNewId } from '../platform/ids';
import { uniqueAccountId, uniqueEndpointId } from './unique-ids';

const newId = createNewId(systemClock);

/** A replay of all failed deliveries since the beginning of time, at a rate that no test waits for. */
export function buildReplayOrder(change: Partial<ReplayOrder> = {}): ReplayOrder {
  return {
    id: newId('rpl') as ReplayId,
    accountId: uniqueAccountId(),
    endpointId: uniqueEndpointId(),
    mode: 'failed',
    since: 0,
    until: 1_800_000_000_000,
    rate: 1_000,
    isDryRun: false,
    createdAt: 1_700_000_000_000,
    ...change,
  };
}
