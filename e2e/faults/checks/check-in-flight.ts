import { eachRequest, type InjectedFault, type Ledger, type ReceivedRequest } from '../ledger';
import { countHits } from './fault-hits';
import { type Finding, toFindings } from './finding';

/**
 * Whether an endpoint had more requests under way at once than it may. Those that a fault hit don't count: their sender
 * may be dead, and the receiver not know it yet.
 */
export function checkInFlight(
  { requests, faults }: Pick<Ledger, 'requests' | 'faults'>,
  endpoint: string,
  cap: number,
): readonly Finding[] {
  const most = mostAtOnce(
    eachRequest(requests).filter((one) => one.endpoint === endpoint && isUndisturbed(one, faults)),
  );
  return toFindings(
    'too many requests in flight',
    most > cap ? [`${most} at once at ${endpoint}, which takes ${cap}`] : [],
  );
}

function isUndisturbed(request: ReceivedRequest, faults: readonly InjectedFault[]): boolean {
  return request.status !== null && countHits(faults, [request]) === 0;
}

function mostAtOnce(requests: readonly ReceivedRequest[]): number {
  // Of the same millisecond, what ends goes first: a receiver's response may be read within it, and the next one sent.
  const changes = requests
    .flatMap(({ arrivedAt, endedAt }) => [
      { at: arrivedAt, by: 1 },
      { at: Math.max(endedAt, arrivedAt + 1), by: -1 },
    ])
    .sort((a, b) => a.at - b.at || a.by - b.by);
  let now = 0;
  let most = 0;
  for (const { by } of changes) {
    now += by;
    most = Math.max(most, now);
  }
  return most;
}
