import { type EndpointSpec, subscribersOf } from '../endpoints';
import { groupByPair, type InjectedFault, isAccepted, type Ledger, pairOf } from '../ledger';
import { splitName } from '../mode';

// A killed process's connections are closed by the kernel at once; this is for a receiver that is busy.
const SEEN_BROKEN_WITHIN_MS = 500;

type Seen = Pick<Ledger, 'acknowledged' | 'requests'>;

/**
 * Says how long what was under way at a fault took to go on, in milliseconds since its beginning, one figure each.
 *
 * - Of a killed worker's requests, which receivers saw break off: until the next request for the same.
 * - Of any other fault: until acceptance of what was acknowledged, and not accepted yet, when it began, at endpoints
 *   where nothing but the fault was in the way.
 *
 * What never went on is not here: it is lost.
 */
export function createMeasureRecovery(
  ledger: Seen,
  specs: readonly EndpointSpec[],
): (fault: InjectedFault) => readonly number[] {
  const broken = findBroken(ledger);
  const accepted = findAccepted(ledger, specs);
  return (fault) =>
    splitName(fault.kind).name === 'worker-kill'
      ? broken
          .filter(
            ({ arrivedAt, brokenAt, nextAt }) =>
              arrivedAt <= fault.endedAt &&
              brokenAt >= fault.startedAt &&
              brokenAt <= fault.endedAt + SEEN_BROKEN_WITHIN_MS &&
              nextAt > fault.endedAt,
          )
          .map(({ nextAt }) => nextAt - fault.startedAt)
      : accepted
          .filter(
            ({ acknowledgedAt, acceptedAt }) =>
              acknowledgedAt <= fault.startedAt && acceptedAt > fault.startedAt,
          )
          .map(({ acceptedAt }) => acceptedAt - fault.startedAt);
}

/** Each request that broke off and the one that came after it. */
function findBroken({ requests }: Seen) {
  return [...groupByPair(requests).values()].flatMap((group) =>
    group.slice(0, -1).flatMap(({ status, arrivedAt, endedAt }, i) => {
      const next = group[i + 1];
      return status === null && next ? [{ arrivedAt, brokenAt: endedAt, nextAt: next.arrivedAt }] : [];
    }),
  );
}

/** When each delivery that nothing but a fault holds up was acknowledged, and accepted for the first time. */
function findAccepted({ acknowledged, requests }: Seen, specs: readonly EndpointSpec[]) {
  const prompt = specs.filter(({ isPrompt }) => isPrompt);
  const acceptedAt = new Map<string, number>();
  for (const request of requests.filter(isAccepted)) {
    const known = acceptedAt.get(pairOf(request)) ?? Number.POSITIVE_INFINITY;
    acceptedAt.set(pairOf(request), Math.min(known, request.endedAt));
  }
  return [...acknowledged.values()].flatMap(({ marker, type, acknowledgedAt }) =>
    subscribersOf(type, prompt).map((endpoint) => ({
      acknowledgedAt,
      acceptedAt: acceptedAt.get(pairOf({ marker, endpoint })) ?? 0,
    })),
  );
}
