import type { AccountId } from '../domain/account';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { EventMark } from '../events/redis-event-index';
import type { EventStore } from '../events/redis-event-store';
import type { Batch } from '../platform/batches';
import type { Mark, TimeRange } from '../platform/redis-timeline';

/**
 * A place among an account's deliveries: by the acceptance of its event, the newest first, and of one event those to the
 * endpoints registered last first.
 */
export interface DeliveryPlace extends EventMark {
  readonly endpointId: EndpointId;
  /** The event's type, where it is known. */
  readonly type: string | undefined;
}

/** Where a page of an account's deliveries ended. */
export interface PlaceMark extends EventMark {
  /** Absent: with all that went to the event's endpoints. */
  readonly endpointId?: EndpointId | undefined;
}

/** An event that has no deliveries to be listed, or no more of them: that costs a look too. */
export interface NothingThere extends EventMark {
  readonly endpointId?: undefined;
}

export type LookedAt = DeliveryPlace | NothingThere;

export type PlacesBatch = Batch<LookedAt, PlaceMark>;

export interface AccountPlacesFilter extends TimeRange {
  readonly eventType?: string | undefined;
}

export interface ReadAccountPlacesDeps {
  readonly eventStore: Pick<EventStore, 'list' | 'open'>;
}

interface OpenedPlaces {
  readonly places: readonly LookedAt[];
  /** Whether there are more of it. */
  readonly hasMore: boolean;
}

// Each takes a command. Of one that went to thousands, those behind it are opened for nothing.
const OPENED_TOGETHER = 25;

/**
 * Reads an account's deliveries out of its list of events and of what each one's receivers are: there is no list of them
 * all. What comes meanwhile moves nothing, since it comes in front.
 */
export function createReadAccountPlaces({ eventStore }: ReadAccountPlacesDeps) {
  return async function readAccountPlaces(
    accountId: AccountId,
    filter: AccountPlacesFilter,
    limit: number,
    after?: PlaceMark,
  ): Promise<PlacesBatch> {
    if (after?.endpointId !== undefined) {
      const { places } = await open(accountId, after, filter, limit, after.endpointId);
      return batchOf(places, true);
    }
    const size = Math.min(limit, OPENED_TOGETHER);
    const { marks, nextCursor } = await eventStore.list(accountId, size, after, filter);
    const events = await Promise.all(marks.map((mark) => open(accountId, mark, filter, size)));
    const broken = events.findIndex(({ hasMore }) => hasMore);
    const whole = broken < 0 ? events : events.slice(0, broken + 1);
    const places = whole.flatMap((event) => event.places);
    const hasMore = places.length > limit || broken >= 0 || nextCursor !== undefined;
    return batchOf(places.slice(0, limit), hasMore);
  };

  async function open(
    accountId: AccountId,
    { eventId, createdAt }: EventMark,
    { eventType: type }: AccountPlacesFilter,
    limit: number,
    before?: EndpointId,
  ): Promise<OpenedPlaces> {
    const opened = await eventStore.open(accountId, eventId, limit, { type, before });
    if (!opened || opened.receivers.members.length === 0) {
      return { places: [{ eventId, createdAt }], hasMore: false };
    }
    const { head, receivers } = opened;
    const places = receivers.members.map((endpointId) => ({
      eventId,
      createdAt,
      endpointId,
      type: head.type,
    }));
    return { places, hasMore: receivers.nextCursor !== undefined };
  }
}

function batchOf(entries: readonly LookedAt[], hasMore: boolean): PlacesBatch {
  const last = entries.at(-1);
  return { entries, nextCursor: hasMore && last ? markOf(last) : undefined };
}

export function markOf({ eventId, createdAt, endpointId }: LookedAt): PlaceMark {
  return endpointId === undefined ? { eventId, createdAt } : { eventId, createdAt, endpointId };
}

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
