import { groupByPair, type InjectedFault, isAccepted, type Ledger, type ReceivedRequest } from '../ledger';
import { countHits } from './fault-hits';
import { partByResends } from './resends';

export interface Duplicate {
  readonly pair: string;
  readonly requests: readonly ReceivedRequest[];
  /** Whether each repetition had a fault of its own that hit the request before it. */
  readonly isExplained: boolean;
}

/** Every pair of event and endpoint that was accepted more often than was asked for. */
export function findDuplicates({
  requests,
  faults,
  resends = [],
}: Pick<Ledger, 'requests' | 'faults'> & Partial<Pick<Ledger, 'resends'>>): readonly Duplicate[] {
  const duplicates: Duplicate[] = [];
  for (const [pair, group] of groupByPair(requests)) {
    if (group.length === 1) continue;
    for (const part of partByResends(group, resends)) {
      const accepted = part.filter(isAccepted);
      if (accepted.length > 1)
        duplicates.push({ pair, requests: accepted, isExplained: isExplained(accepted, faults) });
    }
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
