import type { TimeRange } from '../kernel/redis-timeline';
import type { Batch } from '../kernel/scan-page';
import type { EndpointId } from '../model/endpoint';
import type { AccountId } from '../model/event';
import type { EventMark } from '../record/redis-event-index';
import type { EventStore } from '../record/redis-event-store';

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

export type ReadAccountPlaces = ReturnType<typeof createReadAccountPlaces>;

function batchOf(entries: readonly LookedAt[], hasMore: boolean): PlacesBatch {
  const last = entries.at(-1);
  return { entries, nextCursor: hasMore && last ? markOf(last) : undefined };
}

export function markOf({ eventId, createdAt, endpointId }: LookedAt): PlaceMark {
  return endpointId === undefined ? { eventId, createdAt } : { eventId, createdAt, endpointId };
}
