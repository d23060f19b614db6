import { groupByPair, type InjectedFault, isAccepted, type Ledger, type ReceivedRequest } from '../ledger';
import { countHits } from './fault-hits';

export interface Duplicate {
  readonly pair: string;
  readonly requests: readonly ReceivedRequest[];
  /** Whether each repetition had a fault of its own that hit the request before it. */
  readonly isExplained: boolean;
}

/** Every pair of event and endpoint that was accepted more than once. */
export function findDuplicates({
  requests,
  faults,
}: Pick<Ledger, 'requests' | 'faults'>): readonly Duplicate[] {
  const duplicates: Duplicate[] = [];
  for (const [pair, group] of groupByPair(requests)) {
    const accepted = group.filter(isAccepted);
    if (accepted.length > 1)
      duplicates.push({ pair, requests: accepted, isExplained: isExplained(accepted, faults) });
  }
  return duplicates;
}

function isExplained(accepted: readonly ReceivedRequest[], faults: readonly InjectedFault[]): boolean {
  const repeated = accepted.slice(0, -1);
  return (
    repeated.every((request) => countHits(faults, [request]) > 0) &&
    countHits(faults, repeated) >= repeated.length
  );
}
