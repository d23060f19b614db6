import { type EndpointSpec, subscribersOf } from '../endpoints';
import { type AcknowledgedEvent, isAccepted, type Ledger, pairOf } from '../ledger';

export interface OwedDelivery {
  readonly event: AcknowledgedEvent;
  readonly endpoint: string;
}

/** What was acknowledged and never accepted by a receiver that was to get it, whatever the service says of it. */
export function findLost(
  { acknowledged, requests }: Pick<Ledger, 'acknowledged' | 'requests'>,
  specs: readonly EndpointSpec[],
): readonly OwedDelivery[] {
  const accepted = new Set(requests.filter(isAccepted).map(pairOf));
  return findOwed(acknowledged.values(), accepted, specs);
}

/** @param accepted pairs of event and endpoint. */
export function findOwed(
  acknowledged: Iterable<AcknowledgedEvent>,
  accepted: ReadonlySet<string>,
  specs: readonly EndpointSpec[],
): readonly OwedDelivery[] {
  const owed: OwedDelivery[] = [];
  for (const event of acknowledged) {
    for (const endpoint of subscribersOf(event.type, specs)) {
      if (!accepted.has(pairOf({ marker: event.marker, endpoint }))) owed.push({ event, endpoint });
    }
  }
  return owed;
}
