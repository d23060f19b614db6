import { type EndpointSpec, subscribersOf } from '../endpoints';
import { groupByPair, type InjectedFault, isAccepted, type Ledger, pairOf } from '../ledger';

// A killed process's connections are closed by the kernel at once; this is for a receiver that is busy.
const SEEN_BROKEN_WITHIN_MS = 500;

/**
 * How long what was under way at a fault took to go on, in milliseconds since its beginning, one figure each.
 *
 * - Of a killed worker's requests, which receivers saw break off: until the next request for the same.
 * - Of any other fault: until acceptance of what was acknowledged, and not accepted yet, when it began, at endpoints
 *   where nothing but the fault was in the way.
 *
 * What never went on is not here: it is lost.
 */
export function measureRecovery(
  fault: InjectedFault,
  ledger: Pick<Ledger, 'acknowledged' | 'requests'>,
  specs: readonly EndpointSpec[],
): readonly number[] {
  return fault.kind === 'worker-kill' ? untilNextRequest(fault, ledger) : untilAccepted(fault, ledger, specs);
}

function untilNextRequest(fault: InjectedFault, { requests }: Pick<Ledger, 'requests'>): readonly number[] {
  const times: number[] = [];
  for (const group of groupByPair(requests).values()) {
    const isBroken = group.some(
      ({ status, arrivedAt, endedAt }) =>
        status === null &&
        arrivedAt <= fault.endedAt &&
        endedAt >= fault.startedAt &&
        endedAt <= fault.endedAt + SEEN_BROKEN_WITHIN_MS,
    );
    const next = group.find(({ arrivedAt }) => arrivedAt > fault.endedAt);
    if (isBroken && next) times.push(next.arrivedAt - fault.startedAt);
  }
  return times;
}

function untilAccepted(
  fault: InjectedFault,
  { acknowledged, requests }: Pick<Ledger, 'acknowledged' | 'requests'>,
  specs: readonly EndpointSpec[],
): readonly number[] {
  const prompt = specs.filter(({ isPrompt }) => isPrompt);
  const acceptedAt = new Map<string, number>();
  for (const request of requests.filter(isAccepted)) {
    const known = acceptedAt.get(pairOf(request)) ?? Number.POSITIVE_INFINITY;
    acceptedAt.set(pairOf(request), Math.min(known, request.endedAt));
  }
  return [...acknowledged.values()]
    .filter((event) => event.acknowledgedAt <= fault.startedAt)
    .flatMap(({ marker, type }) =>
      subscribersOf(type, prompt).map((endpoint) => pairOf({ marker, endpoint })),
    )
    .map((pair) => (acceptedAt.get(pair) ?? 0) - fault.startedAt)
    .filter((afterMs) => afterMs > 0);
}
