import { LRUCache } from 'lru-cache';
import { keys } from '../redis/keys';
import type { RedisClient } from '../redis/redis-connect';
import { withStorageErrors } from '../redis/redis-errors';
import { readOldestFirst, type SpanMember, type TimeSpan } from '../redis/redis-oldest-first';
import type { AcceptedEvent, AccountId, EventId } from './event';

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

/** What an account's index keeps at most: far more than is published within the retention, or else too much memory. */
const MAX_INDEXED = 1_000_000;
/** At each save one is added, so this keeps up; and no save waits for more than so many. */
const PRUNED_AT_ONCE = 10;

// KEYS: events. ARGV: the event, when it was accepted, from when on events are kept, how long, the most to keep, how many
// to take out at once.
const INDEX = `
  redis.call('ZADD', KEYS[1], 'NX', ARGV[2], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  local pruned_at_once = tonumber(ARGV[6])
  local old = redis.call('ZRANGE', KEYS[1], '-inf', '(' .. ARGV[3], 'BYSCORE', 'LIMIT', 0, pruned_at_once)
  if #old > 0 then redis.call('ZREM', KEYS[1], unpack(old)) end
  local over = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[5])
  if over > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, math.min(over, pruned_at_once) - 1) end`;

/**
 * Keeps each event's body once, whatever the number of endpoints it goes to. Layout: the time of acceptance,
 * a space, the type, a space and an @ if it is aimed at certain endpoints, a line feed, the body as it is. Beside it each
 * account has an index of its events.
 */
export function createRedisEventStore(redis: RedisClient, retentionMs: number) {
  const cache = new LRUCache<string, AcceptedEvent>({ max: CACHED_EVENTS });

  async function index({ accountId, id, acceptedAt }: AcceptedEvent): Promise<void> {
    const args = [id, acceptedAt, acceptedAt - retentionMs, retentionMs, MAX_INDEXED, PRUNED_AT_ONCE];
    await redis.eval(INDEX, 1, keys.events(accountId), ...args.map(String));
  }

  return withStorageErrors({
    /** Storing an event again changes nothing, nor does another one under the same id. */
    async save(event: AcceptedEvent): Promise<void> {
      const key = keys.event(event.accountId, event.id);
      const [saved] = await Promise.all([
        redis.set(key, encode(event), 'PX', retentionMs, 'NX'),
        index(event),
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
    async listFrom(accountId: AccountId, span: TimeSpan, limit: number, after?: SpanMember) {
      return await readOldestFirst(redis, keys.events(accountId), span, limit, after);
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
