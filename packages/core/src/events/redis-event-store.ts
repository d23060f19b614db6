import { LRUCache } from 'lru-cache';
import type { EndpointId } from '../endpoints/endpoint';
import { keys } from '../redis/keys';
import type { RedisClient } from '../redis/redis-connect';
import { withStorageErrors } from '../redis/redis-errors';
import { readNewestFirst } from '../redis/redis-newest-first';
import { type Mark, readTimeline, type TimeRange } from '../redis/redis-timeline';
import type { AcceptedEvent, AccountId, EventId } from './event';
import { addToIndex, type EventMark, type MarkPage, readIndex } from './redis-event-index';

export interface ReceiverPage {
  readonly members: readonly EndpointId[];
  readonly nextCursor: EndpointId | undefined;
}

export interface EventHead extends Pick<AcceptedEvent, 'type' | 'acceptedAt'> {
  /** Whether it was aimed at certain endpoints: it is none of the others' business. */
  readonly isAimed: boolean;
}

/** An event's head is within its first bytes, so that a list need not load whole bodies. */
const HEAD_BYTES = 256;

/**
 * An event to thousands of endpoints is loaded once: its deliveries are neighbours on the queue, so a few events are
 * enough. More of them would only grow old in memory, and double the time that the garbage collector takes.
 */
const CACHED_EVENTS = 64;

/** Events that an account's list keeps, unless it is said otherwise. */
const LISTED_EVENTS = 100_000;

/**
 * Keeps each event's body once, whatever the number of endpoints it goes to. Layout: the time of acceptance,
 * a space, the type, a space and an @ if it is aimed at certain endpoints, a line feed, the body as it is. Beside it,
 * which endpoints it went to; and for each account a list of its events.
 */
export function createRedisEventStore(redis: RedisClient, retentionMs: number, count = LISTED_EVENTS) {
  const retention = { ageMs: retentionMs, count };
  const cache = new LRUCache<string, AcceptedEvent>({ max: CACHED_EVENTS });

  return withStorageErrors({
    /** Storing an event again changes nothing, nor does another one under the same id. */
    async save(event: AcceptedEvent): Promise<void> {
      const key = keys.event(event.accountId, event.id);
      const mark = { eventId: event.id, createdAt: event.acceptedAt };
      const [saved] = await Promise.all([
        redis.set(key, encode(event), 'PX', retentionMs, 'NX'),
        addToIndex(redis, keys.events(event.accountId), mark, retention),
      ]);
      // Another event that came under this id before stays the one that is sent.
      if (saved !== null) cache.set(key, event);
    },

    /** `undefined` when the event is not there, or no longer. An event never changes, so it may come from memory. */
    async find(accountId: AccountId, id: EventId): Promise<AcceptedEvent | undefined> {
      const key = keys.event(accountId, id);
      const known = cache.get(key);
      if (known) return known;
      const stored = await redis.get(key);
      if (stored === null) return undefined;
      const event = decode(accountId, id, stored);
      cache.set(key, event);
      return event;
    },

    async findHead(accountId: AccountId, id: EventId): Promise<EventHead | undefined> {
      const start = await redis.getrange(keys.event(accountId, id), 0, HEAD_BYTES - 1);
      return start === '' ? undefined : decodeHead(start);
    },

    /** The account's events of a span of time, oldest first. Some may be gone already. */
    async listFrom(accountId: AccountId, range: TimeRange, limit: number, after?: Mark) {
      const order = 'oldest_first';
      return await readTimeline(redis, keys.events(accountId), { order, range, limit, after });
    },

    /** Newest first. `before` is the last event of the page before. */
    async list(
      accountId: AccountId,
      limit: number,
      before?: EventMark,
      range?: TimeRange,
    ): Promise<MarkPage> {
      return await readIndex(redis, keys.events(accountId), limit, range, before);
    },

    /** Adding an endpoint again changes nothing. */
    async addReceivers(accountId: AccountId, id: EventId, endpointIds: readonly EndpointId[]): Promise<void> {
      const key = keys.eventDeliveries(accountId, id);
      // By their ids alone: so they are small, and a page can go on where the one before ended.
      const members = endpointIds.flatMap((endpointId) => ['0', endpointId]);
      await Promise.all([redis.zadd(key, ...members), redis.pexpire(key, retentionMs)]);
    },

    /** The endpoints that an event went to, those registered last first. `before` is the last one of the page before. */
    async listReceivers(
      accountId: AccountId,
      id: EventId,
      limit: number,
      before?: EndpointId,
    ): Promise<ReceiverPage> {
      const page = await readNewestFirst(redis, keys.eventDeliveries(accountId, id), limit, before);
      return page as ReceiverPage;
    },
  });
}

export type EventStore = ReturnType<typeof createRedisEventStore>;

const AIMED = ' @';

function encode({ acceptedAt, type, body, endpointIds }: AcceptedEvent): string {
  return `${acceptedAt} ${type}${endpointIds === undefined ? '' : AIMED}\n${body}`;
}

function decode(accountId: AccountId, id: EventId, stored: string): AcceptedEvent {
  const { type, acceptedAt } = decodeHead(stored);
  return { id, accountId, type, acceptedAt, body: stored.slice(stored.indexOf('\n') + 1) };
}

function decodeHead(stored: string): EventHead {
  const space = stored.indexOf(' ');
  const rest = stored.slice(space + 1, stored.indexOf('\n'));
  const isAimed = rest.endsWith(AIMED);
  const type = isAimed ? rest.slice(0, -AIMED.length) : rest;
  return { acceptedAt: Number(stored.slice(0, space)), type, isAimed };
}
