import type { AccountId } from '../domain/account';
import type { DeliveryParts } from '../domain/delivery';
import type { DeliveryState } from '../domain/delivery-log';
import type { EndpointId } from '../domain/endpoint';
import type { EventHead, EventId, StoredEvent } from '../domain/event';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { DeliveryStore, RecordedDelivery } from '../events/redis-delivery-store';
import type { EventMark } from '../events/redis-event-index';
import type { MovedStore } from '../events/redis-moved';
import type { Batch } from '../platform/batches';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { DeliveryCounter } from './count-deliveries';
import {
  type EmptyEntry,
  matchesFilter,
  readStandings,
  type Standing,
  standingsOf,
  type TypedStanding,
} from './delivery-standings';
import type {
  DeliveryCounts,
  DeliveryKey,
  DeliveryQuery,
  EventKey,
  EventQuery,
  HistorySource,
  ListedEvent,
  ListMark,
  ListSpan,
  SourceBatch,
  SourceEntry,
  WalkedDelivery,
  WalkQuery,
} from './history-source';
import {
  type EntryBatch,
  findHolding,
  readEntries,
  readHeldEntries,
  readOn,
  readReceiver,
  readReceivers,
  walkEntries,
  walkedOf,
} from './list-entries';
import { type SearchParts, searchRecent } from './search-recent';

export interface RecentParts extends SearchParts {
  readonly endpointStore: EndpointStore;
  readonly deliveryStore: DeliveryStore;
  readonly heldDeliveries: HeldDeliveries;
}

/**
 * What is in Redis: all that has not ended, and what ended a moment ago. Several commands read an entry, and
 * it may move to the history in between. What was in a list can be read for a minute longer.
 */
export class Recent implements HistorySource {
  readonly #counter: DeliveryCounter;

  /** @param moved absent: there is no history beside it. */
  constructor(
    private readonly parts: RecentParts,
    private readonly moved?: MovedStore,
  ) {
    this.#counter = new DeliveryCounter({ ...parts, moved });
  }

  async listDeliveries(query: DeliveryQuery, span: ListSpan): Promise<SourceBatch<TypedStanding>> {
    return await searchRecent(this.parts, query, async () => {
      const { entries, nextCursor } = await this.#readStandings(query, span);
      return { entries: await this.#filterAll(query, entries), nextCursor };
    });
  }

  async listEvents(query: EventQuery, span: ListSpan): Promise<SourceBatch<ListedEvent>> {
    return await searchRecent(this.parts, query, () => this.#listEvents(query, span));
  }

  async walkDeliveries(query: WalkQuery, span: ListSpan): Promise<SourceBatch<WalkedDelivery>> {
    if (query.endpointId !== undefined) return await this.#walkEndpoint(query, query.endpointId, span);
    const { entries, nextCursor } = await walkEntries(this.parts.eventStore, query, span);
    return { entries: entries.map((one) => ({ mark: one, row: walkedOf(one) })), nextCursor };
  }

  async walkEvents({ accountId, since, until }: WalkQuery, span: ListSpan): Promise<SourceBatch<EventMark>> {
    const { eventStore } = this.parts;
    const { marks, nextCursor } = await readOn(
      (limit, after) => eventStore.listFrom(accountId, { since, until }, limit, after),
      span,
    );
    return { entries: marks.map((mark) => ({ mark, row: mark })), nextCursor };
  }

  async findEvent(accountId: AccountId, id: EventId): Promise<StoredEvent | undefined> {
    return await this.parts.eventStore.read(accountId, id);
  }

  async findDelivery(_accountId: AccountId, parts: DeliveryParts): Promise<RecordedDelivery | undefined> {
    return await this.parts.deliveryStore.find(parts);
  }

  async readHeads(
    accountId: AccountId,
    events: readonly EventKey[],
  ): Promise<readonly (EventHead | undefined)[]> {
    return await Promise.all(events.map(({ eventId }) => this.parts.eventStore.findHead(accountId, eventId)));
  }

  async readStates(
    _accountId: AccountId,
    deliveries: readonly DeliveryKey[],
  ): Promise<readonly (DeliveryState | undefined)[]> {
    return await Promise.all(deliveries.map((delivery) => this.parts.deliveryStore.readIfAny(delivery)));
  }

  async countDeliveries(accountId: AccountId, id: EventId): Promise<DeliveryCounts | undefined> {
    const { eventStore } = this.parts;
    // Its deliveries are counted while it is here: it lapses after them, and comes back before them.
    if (this.moved && !(await eventStore.findHead(accountId, id))) return undefined;
    return await this.#counter.countOf(accountId, id);
  }

  /** All commands are sent at once: for the events of a page it is a few round trips together. */
  async countEach(
    accountId: AccountId,
    events: readonly EventMark[],
  ): Promise<readonly (DeliveryCounts | undefined)[]> {
    return await Promise.all(events.map(({ eventId }) => this.countDeliveries(accountId, eventId)));
  }

  async #listEvents(
    { accountId, type: wanted, since, until }: EventQuery,
    { limit, after }: ListSpan,
  ): Promise<SourceBatch<ListedEvent>> {
    const { eventStore } = this.parts;
    const { marks, nextCursor } = await eventStore.list(accountId, limit, after, { since, until });
    const entries = marks.map(async (mark): Promise<SourceEntry<ListedEvent>> => {
      const { eventId: id, createdAt } = mark;
      const found = await eventStore.findCounted(accountId, id);
      if (!found) return { mark, row: undefined, isGone: true };
      const { head, deliveryCount } = found;
      const { type, erasedAt, schedule, requestId } = head;
      if (wanted !== undefined && wanted !== type) return { mark, row: undefined };
      const row = {
        ...{ id, type, createdAt, deliveryCount },
        ...(erasedAt === undefined ? {} : { erasedAt }),
        ...(schedule === undefined ? {} : { schedule }),
        ...(requestId === undefined ? {} : { requestId }),
      };
      return { mark, row };
    });
    return { entries: await Promise.all(entries), nextCursor };
  }

  async #readStandings(
    query: DeliveryQuery,
    span: ListSpan,
  ): Promise<Batch<Standing | EmptyEntry, ListMark>> {
    const { endpointId, eventId } = query;
    const { deliveryStore, heldDeliveries } = this.parts;
    if (endpointId !== undefined && eventId === undefined) {
      const { limit, after } = span;
      const page = await deliveryStore.list(endpointId, limit, after, query);
      const entries = await standingsOf(heldDeliveries, endpointId, page.deliveries);
      return { entries, nextCursor: page.nextCursor };
    }
    const { entries, nextCursor } = await this.#readEntries(query, span);
    const standings = await readStandings(deliveryStore, heldDeliveries, entries, query.attempts);
    return { entries: standings, nextCursor };
  }

  async #readEntries(query: DeliveryQuery, span: ListSpan): Promise<EntryBatch> {
    const { endpointStore, eventStore, heldDeliveries } = this.parts;
    const { accountId, endpointId, eventId, status } = query;
    if (eventId !== undefined) {
      return endpointId === undefined
        ? await readReceivers(eventStore, query, eventId, span)
        : await readReceiver(eventStore, query, eventId, endpointId);
    }
    const holding =
      status === 'held' ? await findHolding(endpointStore, heldDeliveries, accountId) : undefined;
    return holding
      ? await readHeldEntries(heldDeliveries, holding, query, span)
      : await readEntries(eventStore, query, span);
  }

  async #filterAll(
    query: DeliveryQuery,
    all: readonly (Standing | EmptyEntry)[],
  ): Promise<readonly SourceEntry<TypedStanding>[]> {
    if (all.some(lacksType)) {
      return await Promise.all(all.map(async (one) => await this.#lookAt(query, one)));
    }
    return all.map((one) => filterEntry(query, one));
  }

  async #lookAt(query: DeliveryQuery, one: Standing | EmptyEntry): Promise<SourceEntry<TypedStanding>> {
    if (!lacksType(one)) return filterEntry(query, one);
    if (!matchesFilter(one, query)) return { mark: one, row: undefined };
    // A delivery that was never tried has no line with its type. If its event is gone too, its type is unknown.
    const type = (await this.parts.eventStore.findHead(query.accountId, one.eventId))?.type;
    return filterEntry(query, { ...one, type });
  }

  /** Events that are gone are left out. */
  async #walkEndpoint(
    { accountId, since, until }: WalkQuery,
    endpointId: EndpointId,
    span: ListSpan,
  ): Promise<SourceBatch<WalkedDelivery>> {
    const { marks, nextCursor } = await readOn(
      (limit, after) => this.parts.deliveryStore.listFrom(endpointId, { since, until }, limit, after),
      span,
    );
    const { after } = span;
    // Only behind this endpoint's delivery of that event does the event itself lie behind the mark.
    const isToCome = after?.endpointId !== undefined && endpointId < after.endpointId;
    const all = isToCome ? [{ eventId: after.eventId, createdAt: after.createdAt }, ...marks] : marks;
    const heads = await this.readHeads(accountId, all);
    const entries = all.map((mark, i): SourceEntry<WalkedDelivery> => {
      const key = { ...mark, endpointId };
      const type = heads[i]?.type;
      return type === undefined
        ? { mark: key, row: undefined, isGone: true }
        : { mark: key, row: { ...key, type } };
    });
    return { entries, nextCursor };
  }
}

/** Its record does not tell its type. */
function lacksType(one: Standing | EmptyEntry): one is Standing {
  return one.endpointId !== undefined && one.type === undefined;
}

function filterEntry(query: DeliveryQuery, one: Standing | EmptyEntry): SourceEntry<TypedStanding> {
  return { mark: one, row: isWanted(query, one) ? one : undefined };
}

function isWanted(query: DeliveryQuery, one: Standing | EmptyEntry): one is TypedStanding {
  if (one.endpointId === undefined || one.type === undefined || !matchesFilter(one, query)) return false;
  return query.eventType === undefined || query.eventType === one.type;
}
