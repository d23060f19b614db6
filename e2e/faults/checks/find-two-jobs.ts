import {
  eachRequest,
  groupByPair,
  type InjectedFault,
  isAccepted,
  type Ledger,
  type ReceivedRequest,
} from '../ledger';
import { countHits } from './fault-hits';
import { partByResends } from './resends';

/** A delivery that went on as if there were two of it. */
export interface TwoJobs {
  readonly pair: string;
  readonly sign: 'overlapping requests' | 'an attempt repeated too often' | 'attempts after acceptance';
  readonly requests: readonly ReceivedRequest[];
}

/** The pairs of which two jobs must have been at work, each with the first sign of it. */
export function findTwoJobs({
  requests,
  faults,
  resends = [],
}: Pick<Ledger, 'requests' | 'faults'> & Partial<Pick<Ledger, 'resends'>>): readonly TwoJobs[] {
  const found: TwoJobs[] = [];
  // The number in a request with several events is that of its first one.
  const numbered = new Set(eachRequest(requests));
  for (const [pair, group] of groupByPair(requests)) {
    if (group.length === 1) continue;
    for (const part of partByResends(group, resends)) {
      const sign = signOf(part, numbered, faults);
      if (sign !== undefined) found.push({ pair, sign, requests: part });
    }
  }
  return found;
}

function signOf(
  group: readonly ReceivedRequest[],
  numbered: ReadonlySet<ReceivedRequest>,
  faults: readonly InjectedFault[],
) {
  if (group.length === 1) return undefined;
  if (hasUnexplainedOverlap(group, faults)) return 'overlapping requests';
  if (hasAttemptsAfterAcceptance(group, faults)) return 'attempts after acceptance';
  const own = group.filter((request) => numbered.has(request));
  if (hasTooManyOfOneAttempt(own, faults)) return 'an attempt repeated too often';
  return undefined;
}

/** One begins while another is under way, and nothing had happened to the sender of that one. */
function hasUnexplainedOverlap(group: readonly ReceivedRequest[], faults: readonly InjectedFault[]): boolean {
  return group.some((earlier, i) => {
    const overlapping = group.slice(i + 1).filter((later) => later.arrivedAt < earlier.endedAt);
    return overlapping.length > 0 && countHits(faults, [earlier]) === 0;
  });
}

/** A higher number follows only on an attempt that is on record as failed. */
function hasAttemptsAfterAcceptance(
  group: readonly ReceivedRequest[],
  faults: readonly InjectedFault[],
): boolean {
  return group.some(
    (request) =>
      isAccepted(request) &&
      group.some(({ attempt, arrivedAt }) => attempt > request.attempt && arrivedAt > request.arrivedAt) &&
      countHits(faults, [request]) === 0,
  );
}

/** Only an attempt that is not on record comes again under its number. */
function hasTooManyOfOneAttempt(
  group: readonly ReceivedRequest[],
  faults: readonly InjectedFault[],
): boolean {
  const attempts = new Set(group.map(({ attempt }) => attempt));
  return [...attempts].some((attempt) => {
    const same = group.filter((request) => request.attempt === attempt);
    return same.length > 1 + countHits(faults, same.slice(0, -1));
  });
}
