import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { Mark, TimeRange } from '../kernel/redis-timeline';
import type { EndpointId } from '../model/endpoint';
import type { AccountId, EventId } from '../model/event';
import { type DeliveryPlace, markOf, type PlaceMark, type PlacesBatch } from './delivery-places';

export interface OpenHeldPlacesDeps {
  readonly endpointStore: Pick<EndpointStore, 'listIds'>;
  readonly heldDeliveries: HeldIndexes;
}

/** What is held, by endpoint. */
export interface HeldIndexes {
  /** Those of the account's endpoints that hold deliveries. */
  findHolding(accountId: AccountId, endpointIds: readonly EndpointId[]): Promise<readonly EndpointId[]>;
  /** An endpoint's held deliveries by the acceptance of their events, the newest first. */
  listNewest(
    endpointId: EndpointId,
    range: TimeRange,
    limit: number,
    after: Mark | undefined,
  ): Promise<readonly Mark[]>;
}

/** Gives a part of an account's held deliveries. */
export type ReadHeldPlaces = (limit: number, after?: PlaceMark) => Promise<PlacesBatch>;

// Some milliseconds to look through; as many again cost as much again.
const MOST_ENDPOINTS = 2_000;
// A command each. Where more of them hold deliveries, those are so many that looking at each delivery finds them as well.
const MOST_HOLDING = 100;
const LEAST_OF_EACH = 5;

/** Finds an account's held deliveries by the indexes that the queues have of them: they may be few among millions. */
export function createOpenHeldPlaces({ endpointStore, heldDeliveries }: OpenHeldPlacesDeps) {
  /** @returns `undefined`: there are too many endpoints, or too many of them hold some. */
  return async function openHeldPlaces(
    accountId: AccountId,
    range: TimeRange,
  ): Promise<ReadHeldPlaces | undefined> {
    const ids = await endpointStore.listIds(accountId, MOST_ENDPOINTS + 1);
    if (ids.length > MOST_ENDPOINTS) return undefined;
    const holding = await heldDeliveries.findHolding(accountId, ids);
    if (holding.length > MOST_HOLDING) return undefined;
    return (limit, after) => readPlaces(holding, range, limit, after);
  };

  // Of each endpoint as many as should be its share; what is older than the last one of an endpoint that has more may not be
  // next, and comes with the part after.
  async function readPlaces(
    holding: readonly EndpointId[],
    range: TimeRange,
    limit: number,
    after?: PlaceMark,
  ): Promise<PlacesBatch> {
    const share = Math.max(Math.ceil((2 * limit) / Math.max(holding.length, 1)), LEAST_OF_EACH);
    const parts = await Promise.all(
      holding.map(async (endpointId) => {
        const marks = await heldDeliveries.listNewest(
          endpointId,
          range,
          share,
          placeAfter(endpointId, after),
        );
        const places = marks.map(({ id, at }) => placeOf(endpointId, id as EventId, at));
        return { places, end: marks.length === share ? places.at(-1) : undefined };
      }),
    );
    const ends = parts.flatMap(({ end }) => end ?? []).toSorted(newestFirst);
    const all = parts.flatMap(({ places }) => places).toSorted(newestFirst);
    const [limitedBy] = ends;
    const sure = limitedBy === undefined ? all : all.filter((place) => newestFirst(place, limitedBy) <= 0);
    const entries = sure.slice(0, limit);
    const last = entries.at(-1);
    const hasMore = limitedBy !== undefined || entries.length < sure.length;
    return { entries, nextCursor: hasMore && last ? markOf(last) : undefined };
  }
}

export type OpenHeldPlaces = ReturnType<typeof createOpenHeldPlaces>;

function placeOf(endpointId: EndpointId, eventId: EventId, createdAt: number): DeliveryPlace {
  return { endpointId, eventId, createdAt, type: undefined };
}

// No event's id goes on with this, so that the event itself still comes.
const BEHIND = '~';

/** What is behind a place is behind it in each endpoint's own list: there the event itself may be still to come. */
function placeAfter(endpointId: EndpointId, after: PlaceMark | undefined): Mark | undefined {
  if (after === undefined) return undefined;
  const isToCome = after.endpointId !== undefined && endpointId < after.endpointId;
  return { id: isToCome ? after.eventId + BEHIND : after.eventId, at: after.createdAt };
}

function newestFirst(a: DeliveryPlace, b: DeliveryPlace): number {
  return (
    b.createdAt - a.createdAt || descending(a.eventId, b.eventId) || descending(a.endpointId, b.endpointId)
  );
}

function descending(a: string, b: string): number {
  if (a === b) return 0;
  return a > b ? -1 : 1;
}
