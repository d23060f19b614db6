import { isAccepted, type Ledger, type ReceivedRequest, type Resend } from '../ledger';
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

/** Whether all that was to be sent again, as a response confirmed, was accepted after that. */
export function checkResends({
  requests,
  resends,
}: Pick<Ledger, 'requests' | 'resends'>): readonly Finding[] {
  const acceptedAt = new Map<string, number>();
  for (const request of requests.filter(isAccepted)) {
    acceptedAt.set(keyOf(request), Math.max(acceptedAt.get(keyOf(request)) ?? 0, request.endedAt));
  }
  const missing = resends.filter(
    (resend) => resend.isAcknowledged && (acceptedAt.get(keyOf(resend)) ?? 0) < resend.askedAt,
  );
  return toFindings(
    'asked to be sent again, and never accepted again',
    missing.map((resend) => keyOf(resend)),
  );
}

function keyOf({ eventId, endpoint }: Pick<Resend, 'eventId' | 'endpoint'>): string {
  return `${eventId} at ${endpoint}`;
}
