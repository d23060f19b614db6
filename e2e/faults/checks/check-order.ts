import { type InjectedFault, isAccepted, type Ledger } from '../ledger';
import { type Finding, toFindings } from './finding';

/**
 * Whether a strict endpoint accepted each event of the sequence for the first time in the order of publishing.
 *
 * @param losses faults by which Redis may have lost events: one from before comes after those that were sent meanwhile.
 */
export function checkOrder(
  { acknowledged, requests }: Pick<Ledger, 'acknowledged' | 'requests'>,
  endpoint: string,
  losses: readonly InjectedFault[] = [],
): readonly Finding[] {
  const firstAt = new Map<string, number>();
  for (const request of requests.filter((one) => one.endpoint === endpoint && isAccepted(one))) {
    const known = firstAt.get(request.marker) ?? Number.POSITIVE_INFINITY;
    firstAt.set(request.marker, Math.min(known, request.arrivedAt));
  }
  // Markers sort as they were published.
  const sequence = [...acknowledged.values()]
    .filter(({ marker, isSequential }) => isSequential && firstAt.has(marker))
    .map(({ marker }) => marker)
    .sort();
  const mayBeSentAgain = (marker: string, at: number) => {
    const acknowledgedAt = acknowledged.get(marker)?.acknowledgedAt ?? 0;
    return losses.some(({ endedAt }) => acknowledgedAt <= endedAt && at >= endedAt);
  };
  const overtaken = sequence.filter((marker, i) => {
    const next = sequence[i + 1];
    const at = firstAt.get(marker) ?? 0;
    return next !== undefined && (firstAt.get(next) ?? 0) < at && !mayBeSentAgain(marker, at);
  });
  return toFindings(
    'order not kept',
    overtaken.map((marker) => `${marker} was overtaken at ${endpoint}`),
  );
}
