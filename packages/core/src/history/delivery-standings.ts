import type { DeliverySummary } from '../model/delivery-log';
import type { EndpointId } from '../model/endpoint';
import type { EventId } from '../model/event';
import type { DeliveryStore, ListedDelivery } from '../record/redis-delivery-store';
import type { ShownStatus } from './delivery-filter';
import type { DeliveryPlace, LookedAt, NothingThere } from './delivery-places';
import type { HeldStatus } from './shown-status';

/** Where a delivery stands, and whether it is held. */
export interface Standing
  extends DeliveryPlace,
    Pick<DeliverySummary, 'attemptCount' | 'lastOutcome' | 'lastResponseStatus' | 'nextAttemptAt'> {
  readonly status: ShownStatus;
}

export interface ReadStandingsDeps {
  readonly deliveryStore: Pick<DeliveryStore, 'readListed'>;
  readonly heldDeliveries: Pick<HeldStatus, 'findHeld'>;
}

/** Reads where deliveries stand: all of an endpoint together. */
export function createReadStandings({ deliveryStore, heldDeliveries }: ReadStandingsDeps) {
  /** In the same order. */
  async function standingsAt(places: readonly DeliveryPlace[]): Promise<readonly Standing[]> {
    const standings = new Map<DeliveryPlace, Standing>();
    await Promise.all(
      [...byEndpoint(places)].map(async ([endpointId, some]) => {
        const listed = await standingsOf(endpointId, await deliveryStore.readListed(endpointId, some));
        for (const [i, place] of some.entries()) {
          const standing = listed[i];
          if (standing) standings.set(place, { ...standing, type: place.type ?? standing.type });
        }
      }),
    );
    return places.flatMap((place) => standings.get(place) ?? []);
  }

  /** The same, where some events have none. */
  async function standingsAmong(
    lookedAt: readonly LookedAt[],
  ): Promise<readonly (Standing | NothingThere)[]> {
    const standings = (await standingsAt(lookedAt.filter(isDelivery))).values();
    return lookedAt.flatMap((one) => (isDelivery(one) ? (standings.next().value ?? []) : one));
  }

  /** Of deliveries of one endpoint whose logs were read. */
  async function standingsOf(
    endpointId: EndpointId,
    listed: readonly ListedDelivery[],
  ): Promise<readonly Standing[]> {
    const pending = listed.filter(({ status }) => status === 'pending').map(({ eventId }) => eventId);
    const held = await heldDeliveries.findHeld(endpointId, pending);
    return listed.map((one) => standingOf(endpointId, one, held));
  }

  return { standingsAt, standingsAmong, standingsOf };
}

function byEndpoint(places: readonly DeliveryPlace[]): ReadonlyMap<EndpointId, readonly DeliveryPlace[]> {
  const groups = new Map<EndpointId, DeliveryPlace[]>();
  for (const place of places) {
    const group = groups.get(place.endpointId);
    if (group) group.push(place);
    else groups.set(place.endpointId, [place]);
  }
  return groups;
}

function isDelivery(place: LookedAt): place is DeliveryPlace {
  return place.endpointId !== undefined;
}

// Member by member: hundreds are made for a page, and a spread costs ten times as much.
function standingOf(endpointId: EndpointId, listed: ListedDelivery, held: ReadonlySet<EventId>): Standing {
  const { eventId, createdAt, attemptCount, lastOutcome, lastResponseStatus } = listed;
  const isHeld = listed.status === 'pending' && held.has(eventId);
  return {
    endpointId,
    eventId,
    createdAt,
    type: listed.eventType,
    status: isHeld ? 'held' : listed.status,
    attemptCount,
    lastOutcome,
    lastResponseStatus,
    // One that is held was due before it came to its gate.
    nextAttemptAt: isHeld ? undefined : listed.nextAttemptAt,
  };
}
