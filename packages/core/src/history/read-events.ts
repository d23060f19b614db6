import type { AccountId } from '../domain/account';
import { type EventId, eventNotFound } from '../domain/event';
import type { EventMark } from '../events/redis-event-index';
import type { EventStore } from '../events/redis-event-store';
import { type Page, SCANNED_ONE_BY_ONE, scanPage } from '../platform/batches';
import { textOfMember } from '../platform/json';
import type { TimeRange } from '../platform/redis-timeline';
import type { DeliveryCounts } from './read-deliveries';

/** An event in a list. */
export interface ListedEvent {
  readonly id: EventId;
  readonly type: string;
  /** When it was accepted. Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  /** When its payload was erased, if it was. Milliseconds since the Unix epoch. */
  readonly erasedAt?: number;
  /** How many endpoints it went to. */
  readonly deliveryCount: number;
}

/** An event as it was published, and what became of it. */
export interface PublishedEvent extends Omit<ListedEvent, 'deliveryCount'> {
  /** The JSON text of its data, as it was sent; `null` once that was erased. */
  readonly dataText: string;
  readonly deliveries: DeliveryCounts;
}

/** What an event must be to be listed. */
export interface EventFilter extends TimeRange {
  readonly type?: string | undefined;
}

export interface ReadEventsDeps {
  readonly eventStore: Pick<EventStore, 'find' | 'findHead' | 'list' | 'countReceivers'>;
  readonly countDeliveries: (accountId: AccountId, id: EventId) => Promise<DeliveryCounts>;
}

/** What an account has published, as far as it was fanned out and is kept still. */
export function createReadEvents({ eventStore, countDeliveries }: ReadEventsDeps) {
  return {
    /** Newest first. */
    list(
      accountId: AccountId,
      filter: EventFilter,
      limit: number,
      before?: EventMark,
    ): Promise<Page<ListedEvent, EventMark>> {
      return scanPage({
        limit,
        before,
        mostScanned: SCANNED_ONE_BY_ONE,
        readBatch: async (size, from: EventMark | undefined) => {
          const { marks, nextCursor } = await eventStore.list(accountId, size, from, filter);
          return { entries: marks, nextCursor };
        },
        cursorOf: (mark) => mark,
        show: async ({ eventId, createdAt }) => {
          const head = await eventStore.findHead(accountId, eventId);
          if (!head || (filter.type !== undefined && filter.type !== head.type)) return undefined;
          const { type, erasedAt } = head;
          const deliveryCount = await eventStore.countReceivers(accountId, eventId);
          return {
            id: eventId,
            type,
            createdAt,
            deliveryCount,
            ...(erasedAt === undefined ? {} : { erasedAt }),
          };
        },
      });
    },

    /** @throws AppError `not_found`, also for another account's event. */
    async read(accountId: AccountId, id: EventId): Promise<PublishedEvent> {
      const [event, deliveries] = await Promise.all([
        eventStore.find(accountId, id),
        countDeliveries(accountId, id),
      ]);
      if (!event) throw eventNotFound();
      const listed = { id, type: event.type, createdAt: event.acceptedAt, deliveries };
      if (event.body === undefined) return { ...listed, dataText: 'null', erasedAt: event.erasedAt };
      return { ...listed, dataText: textOfMember(event.body, 'data') ?? 'null' };
    },
  };
}

export type ReadEvents = ReturnType<typeof createReadEvents>;
