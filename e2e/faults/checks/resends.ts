import { type InjectedFault, isAccepted, type Ledger, type ReceivedRequest, type Resend } from '../ledger';
import { hits } from './fault-hits';
import { type Finding, toFindings } from './finding';

/**
 * The requests of one pair, parted where it was asked to be sent again: within a part nothing but a fault explains a repetition.
 * @param group in the order of arrival.
 */
export function partByResends(
  group: readonly ReceivedRequest[],
  resends: readonly Resend[],
): readonly (readonly ReceivedRequest[])[] {
  const [first] = group;
  const asked = resends
    .filter(({ eventId, endpoint }) => eventId === first?.eventId && endpoint === first.endpoint)
    .map(({ askedAt }) => askedAt)
    .sort((a, b) => a - b);
  const limits = [...asked, Number.POSITIVE_INFINITY];
  return limits
    .map((limit, i) =>
      group.filter(
        ({ arrivedAt }) => arrivedAt < limit && arrivedAt >= (limits[i - 1] ?? Number.NEGATIVE_INFINITY),
      ),
    )
    .filter(({ length }) => length > 0);
}

/**
 * Whether all that was to be sent again, as a response confirmed, was accepted after that. What was delivered before is sent just
 * once: if its receiver is broken at that moment, the attempt has to be on record.
 */
export function checkResends(
  ledger: Pick<Ledger, 'requests' | 'resends' | 'faults' | 'recorded'>,
): readonly Finding[] {
  const byPair = new Map<string, ReceivedRequest[]>(ledger.resends.map((resend) => [keyOf(resend), []]));
  for (const request of ledger.requests) byPair.get(keyOf(request))?.push(request);
  const attempts = new Map(ledger.recorded.map((one) => [keyOf(one), one.attemptCount]));
  const missing = ledger.resends.filter((resend) => {
    const after = (byPair.get(keyOf(resend)) ?? []).filter(({ endedAt }) => endedAt >= resend.askedAt);
    const onRecord = attempts.get(keyOf(resend)) ?? 0;
    const isDone = (request: ReceivedRequest) =>
      isAccepted(request) ||
      (request.attempt <= onRecord && ledger.faults.some((fault) => breaks(fault, request)));
    return resend.isAcknowledged && !after.some(isDone);
  });
  return toFindings(
    'asked to be sent again, and never accepted again',
    missing.map((resend) => keyOf(resend)),
  );
}

/** Whether this fault of receivers, alone or in a pair, is why the request was not accepted. */
function breaks(fault: InjectedFault, request: ReceivedRequest): boolean {
  return `${fault.kind} ${fault.victim}`.includes('receiver') && hits(fault, request);
}

function keyOf({ eventId, endpoint }: Pick<Resend, 'eventId' | 'endpoint'>): string {
  return `${eventId} at ${endpoint}`;
}
