import type { Attempt, AttemptOutcome } from '../domain/attempt';
import type { DeliveryId, DeliveryParts } from '../domain/delivery';
import { type DeliveryStatus, type DeliverySummary, endStatuses } from '../domain/delivery-log';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { DeliveryStore, ListedDelivery } from '../events/redis-delivery-store';
import type { TimeRange } from '../platform/redis-timeline';
import type { HoldExplanation } from './complete-deliveries';
import type { DeliveryPlace, LookedAt, NothingThere } from './delivery-places';

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

/** Tells which deliveries are held. */
export interface HeldStatus {
  isHeld(endpointId: EndpointId, eventId: EventId): Promise<boolean>;
  /** Which of these are. */
  findHeld(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<ReadonlySet<EventId>>;
}

/** A delivery's status as clients see it: one that is pending may be held. */
export async function shownStatusOf(
  heldDeliveries: HeldStatus,
  { endpointId, eventId }: DeliveryParts,
  status: DeliveryStatus,
): Promise<ShownStatus> {
  if (status !== 'pending') return status;
  return (await heldDeliveries.isHeld(endpointId, eventId)) ? 'held' : 'pending';
}

/** A delivery's status as clients see it. `held`: pending, and waiting at its endpoint's gate. */
export const shownStatuses = ['pending', 'held', ...endStatuses] as const;
export type ShownStatus = (typeof shownStatuses)[number];

/** What the last attempt was answered with. `none`: with nothing, or there was no attempt yet. */
export const statusClasses = ['1xx', '2xx', '3xx', '4xx', '5xx', 'none'] as const;
export type StatusClass = (typeof statusClasses)[number];

/** What a delivery must be to be listed, as far as its own record tells. */
export interface RecordFilter {
  readonly status?: ShownStatus | undefined;
  readonly statusClass?: StatusClass | undefined;
  /** What its last attempt was answered with. */
  readonly responseStatus?: number | undefined;
  /** What came of its last attempt. */
  readonly outcome?: AttemptOutcome | undefined;
}

/** What a delivery must be to be listed. */
export interface DeliveryFilter extends RecordFilter, TimeRange {
  readonly eventType?: string | undefined;
}

interface FilteredDelivery {
  readonly status: ShownStatus;
  readonly lastResponseStatus: number | undefined;
  readonly lastOutcome: AttemptOutcome | undefined;
}

/** Whether a delivery is what a filter says, as far as its own record tells. */
export function matchesFilter(
  { status, lastResponseStatus, lastOutcome }: FilteredDelivery,
  filter: RecordFilter,
): boolean {
  if (filter.status !== undefined && filter.status !== status) return false;
  if (filter.outcome !== undefined && filter.outcome !== lastOutcome) return false;
  if (filter.responseStatus !== undefined && filter.responseStatus !== lastResponseStatus) return false;
  return filter.statusClass === undefined || filter.statusClass === classOf(lastResponseStatus);
}

/** Whether an event's deliveries may be among those that a filter asks for. */
export function matchesEvent(
  { type, acceptedAt }: { readonly type: string; readonly acceptedAt: number },
  { eventType, since = -Infinity, until = Infinity }: DeliveryFilter,
): boolean {
  if (eventType !== undefined && eventType !== type) return false;
  return since <= acceptedAt && acceptedAt < until;
}

function classOf(responseStatus: number | undefined): string {
  return responseStatus === undefined ? 'none' : `${Math.floor(responseStatus / 100)}xx`;
}

/** A delivery as clients see it. */
export interface Delivery {
  readonly id: DeliveryId;
  readonly eventId: EventId;
  readonly endpointId: EndpointId;
  readonly type: string;
  readonly status: ShownStatus;
  readonly attemptCount: number;
  /** What came of the last attempt; `undefined` before there was one. */
  readonly lastOutcome: AttemptOutcome | undefined;
  /** What the last attempt was answered with, if it was. */
  readonly lastResponseStatus: number | undefined;
  readonly nextAttemptAt: number | undefined;
  /** Why it is held, if it is, and its endpoint is still there. */
  readonly hold: HoldExplanation | undefined;
  /** When its event was accepted. */
  readonly createdAt: number;
}

/** A delivery with each of its attempts. */
export interface DeliveryWithAttempts extends Delivery {
  readonly attempts: readonly Attempt[];
}
