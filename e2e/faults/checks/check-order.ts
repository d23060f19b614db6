import { type InjectedFault, isAccepted, type Ledger } from '../ledger';
import { type Finding, toFindings } from './finding';

// Redis serves again a moment before the suite sees it, and then the fault is over.
const SERVES_BEFORE_MS = 1_000;

/**
 * Whether an endpoint accepted no event for the first time after a later one: one that was made when this one was acknowledged.
 *
 * @param losses faults by which Redis may have lost events: one from before comes after those that were sent meanwhile.
 */
export function checkOrder(
  { acknowledged, requests }: Pick<Ledger, 'acknowledged' | 'requests'>,
  endpoint: string,
  ordering: 'strict' | 'group',
  losses: readonly InjectedFault[] = [],
): readonly Finding[] {
  const mayBeSentAgain = (acknowledgedAt: number, at: number) =>
    losses.some(({ endedAt }) => acknowledgedAt <= endedAt && at >= endedAt - SERVES_BEFORE_MS);
  const seen = new Set<string>();
  // When the latest one of each group was made, of those that were accepted so far.
  const latest = new Map<string, number>();
  const overtaken: string[] = [];
  for (const { marker, arrivedAt } of [...requests]
    .sort((a, b) => a.arrivedAt - b.arrivedAt)
    .filter(isFirst)) {
    const event = acknowledged.get(marker);
    if (event === undefined) continue;
    const group = ordering === 'group' ? (event.group ?? '') : '';
    const latestMadeAt = latest.get(group) ?? Number.NEGATIVE_INFINITY;
    if (event.acknowledgedAt < latestMadeAt && !mayBeSentAgain(event.acknowledgedAt, arrivedAt))
      overtaken.push(marker);
    latest.set(group, Math.max(latestMadeAt, event.madeAt));
  }
  return toFindings(
    'order not kept',
    overtaken.map((marker) => `${marker} was overtaken at ${endpoint}`),
  );

  function isFirst(request: Ledger['requests'][number]): boolean {
    if (request.endpoint !== endpoint || !isAccepted(request) || seen.has(request.marker)) return false;
    seen.add(request.marker);
    return true;
  }
}
