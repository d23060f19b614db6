import type { EndpointSpec } from '../endpoints';
import type { InjectedFault, Ledger } from '../ledger';
import type { FaultTally } from '../run-result';
import { hits } from './fault-hits';
import type { Duplicate } from './find-duplicates';
import type { OwedDelivery } from './find-lost';
import type { TwoJobs } from './find-two-jobs';
import { createMeasureRecovery } from './measure-recovery';

export interface Verdicts {
  readonly lost: readonly OwedDelivery[];
  readonly duplicates: readonly Duplicate[];
  readonly twoJobs: readonly TwoJobs[];
}

/** What came of each fault of a run. */
export function tallyFaults(
  ledger: Ledger,
  specs: readonly EndpointSpec[],
  { lost, duplicates, twoJobs }: Verdicts,
): readonly FaultTally[] {
  const faults = ledger.faults.filter(({ isFurtherStrike }) => isFurtherStrike !== true);
  const measureRecovery = createMeasureRecovery(ledger, specs);
  const nearest = createNearest(faults);
  const tallies = faults.map((fault) => ({
    kind: fault.kind,
    acknowledged: 0,
    lost: 0,
    duplicates: 0,
    twoJobs: 0,
    recoveryMs: measureRecovery(fault),
  }));
  const at = (index: number) => tallies[index] ?? { acknowledged: 0, lost: 0, duplicates: 0, twoJobs: 0 };
  for (const event of ledger.acknowledged.values()) at(nearest(event.acknowledgedAt)).acknowledged += 1;
  for (const { event } of lost) at(nearest(event.acknowledgedAt)).lost += 1;
  for (const { requests } of twoJobs) at(nearest(requests[0]?.endedAt ?? 0)).twoJobs += 1;
  for (const { requests } of duplicates) {
    const [first] = requests;
    const hitting = faults.findIndex((fault) => fault.mayRepeat && first !== undefined && hits(fault, first));
    at(hitting === -1 ? nearest(first?.endedAt ?? 0) : hitting).duplicates += 1;
  }
  return tallies;
}

/** Which of the faults, one after the other, was nearest to a time: the limit is in the middle of what is between them. */
function createNearest(faults: readonly InjectedFault[]): (time: number) => number {
  const limits = faults
    .slice(1)
    .map(({ startedAt }, i) => (startedAt + (faults[i]?.endedAt ?? startedAt)) / 2);
  return (time) => {
    let [low, high] = [0, limits.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((limits[middle] ?? 0) <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}
