import { type EndpointSpec, subscribersOf } from '../endpoints';
import { type AcknowledgedEvent, isAccepted, type Ledger, pairOf } from '../ledger';

export interface OwedDelivery {
  readonly event: AcknowledgedEvent;
  readonly endpoint: string;
}

/** What was acknowledged and never accepted by a receiver that was to get it, whatever the service says of it. */
export function findLost(
  ledger: Pick<Ledger, 'acknowledged' | 'published' | 'requests'>,
  specs: readonly EndpointSpec[],
): readonly OwedDelivery[] {
  return findOwed(ledger, new Set(ledger.requests.filter(isAccepted).map(pairOf)), specs);
}

/** @param accepted pairs of event and endpoint. */
export function findOwed(
  { acknowledged, published }: Pick<Ledger, 'acknowledged' | 'published'>,
  accepted: ReadonlySet<string>,
  specs: readonly EndpointSpec[],
): readonly OwedDelivery[] {
  const coalesced = specs.filter(({ options }) => options?.coalesce !== undefined);
  const settled = new Map(
    coalesced.map(({ name }) => [name, settledUntil(name, { acknowledged, published }, accepted)]),
  );
  const owed: OwedDelivery[] = [];
  for (const event of acknowledged.values()) {
    for (const endpoint of subscribersOf(event.type, specs)) {
      const until = settled.get(endpoint)?.get(event.group) ?? Number.NEGATIVE_INFINITY;
      if (!accepted.has(pairOf({ marker: event.marker, endpoint })) && event.madeAt > until)
        owed.push({ event, endpoint });
    }
  }
  return owed;
}

/**
 * By group: an endpoint that gets the newest events alone needs none that was made by then. What it accepted is newer than all that
 * were made before its acknowledgement, or, without one, may be newer than any.
 */
function settledUntil(
  endpoint: string,
  { acknowledged, published }: Pick<Ledger, 'acknowledged' | 'published'>,
  accepted: ReadonlySet<string>,
): ReadonlyMap<string | undefined, number> {
  const until = new Map<string | undefined, number>();
  for (const { marker, group } of published.values()) {
    if (group === undefined || !accepted.has(pairOf({ marker, endpoint }))) continue;
    const at = acknowledged.get(marker)?.acknowledgedAt ?? Number.POSITIVE_INFINITY;
    until.set(group, Math.max(until.get(group) ?? at, at));
  }
  return until;
}
