import type { AccountId } from '../domain/account';
import type { EventId } from '../domain/event';
import { mapReply } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import type { Step } from '../platform/redis-script';
import { readTimeline, type TimeRange } from '../platform/redis-timeline';
import {
  addCounted as addCountedScript,
  addToIndexes,
  keepListed as keepListedScript,
  type PrunedEntry,
} from './redis-event-index.script';

interface Age {
  /** How long events are kept. */
  readonly ageMs: number;
}

/** How long and how many events are kept. */
export interface Retention extends Age {
  /** The number of events that one index keeps, the newest. */
  readonly count: number;
}

const DAY_MS = 86_400_000;

/**
 * What is still open when its RETENTION is over is cancelled, and shown for that long again. Until somebody has found it, its
 * event has to be there: for a day, or for as long again where that is less. Milliseconds.
 */
export function graceOf({ ageMs }: Age): number {
  return Math.min(ageMs, DAY_MS);
}

/** How long the record of an event is stored. Milliseconds. */
export function storedMsOf(retention: Age): number {
  return retention.ageMs + graceOf(retention);
}

/** An event's position in an index. */
export interface EventMark {
  readonly eventId: EventId;
  /** When it was accepted. Milliseconds since the Unix epoch. */
  readonly createdAt: number;
}

export interface MarkPage {
  /** Newest first. */
  readonly marks: readonly EventMark[];
  readonly nextCursor: EventMark | undefined;
}

/** An event that was pruned from an index. */
export interface Pruned extends EventMark {
  /** The bytes of its delivery's log, if that was removed as well: the delivery had ended. */
  readonly logBytes: number | undefined;
}

/** The entries that an index gets. */
export interface IndexAddition {
  readonly index: string;
  readonly entries: readonly EventMark[];
}

/** An entry of an account's list, with the bytes to count for it if it is new. */
export interface CountedEntry extends EventMark {
  readonly eventBytes: number;
  /** Of all its deliveries. */
  readonly deliveryBytes: number;
}

/** Until when new entries count for their account, and for how long from now on. Milliseconds. */
export interface Counted {
  readonly lapsesAt: number;
  readonly keptMs: number;
}

/**
 * Put events into indexes of endpoints. Idempotent. An index is pruned where it grows, so that none needs a sweep. The log of
 * an ended delivery is removed together with its entry.
 *
 * The step gives the pruned entries of each.
 */
export function addToEach(
  additions: readonly IndexAddition[],
  retention: Retention,
): Step<readonly (readonly Pruned[])[]> {
  const counts: number[] = [];
  const events: EventId[] = [];
  const times: number[] = [];
  let newest = 0;
  for (const { entries } of additions) {
    counts.push(entries.length);
    for (const { eventId, createdAt } of entries) {
      events.push(eventId);
      times.push(createdAt);
      newest = Math.max(newest, createdAt);
    }
  }
  const step = addToIndexes({
    indexes: additions.map(({ index }) => index),
    newest,
    most: retention.count,
    keptMs: retention.ageMs,
    counts,
    events,
    times,
  });
  return mapReply(step, (entries) => {
    const pruned = additions.map((): Pruned[] => []);
    for (const entry of entries) pruned[entry.place - 1]?.push(toPruned(entry));
    return pruned;
  });
}

/** The same for an account's events, whose bytes count for the account. */
export function addCounted(
  accountId: AccountId,
  entries: readonly CountedEntry[],
  retention: Retention,
  { lapsesAt, keptMs }: Counted,
): Step<readonly Pruned[]> {
  let newest = 0;
  for (const { createdAt } of entries) newest = Math.max(newest, createdAt);
  const step = addCountedScript({
    account: accountId,
    newest,
    most: retention.count,
    keptMs: retention.ageMs,
    countedMs: keptMs,
    lapsesAt,
    events: entries.map(({ eventId }) => eventId),
    times: entries.map(({ createdAt }) => createdAt),
    eventBytes: entries.map(({ eventBytes }) => eventBytes),
    deliveryBytes: entries.map(({ deliveryBytes }) => deliveryBytes),
  });
  return mapReply(step, (pruned) => pruned.map(toPruned));
}

function toPruned({ event: eventId, createdAt, logBytes }: PrunedEntry): Pruned {
  return { eventId, createdAt, logBytes };
}

/**
 * Keep an entry in an index for some time from now, however old it is and however many came after it. Idempotent.
 *
 * @param forMs milliseconds.
 */
export function keepListed(index: string, { eventId, createdAt }: EventMark, forMs: number): Step<void> {
  return keepListedScript({ index, event: eventId, createdAt, keptMs: forMs });
}

/** Newest first. `before` is the `nextCursor` of the page before. */
export async function readIndex(
  redis: RedisClient,
  key: string,
  limit: number,
  range?: TimeRange,
  before?: EventMark,
): Promise<MarkPage> {
  const after = before && { id: before.eventId, at: before.createdAt };
  const found = await readTimeline(redis, key, { order: 'newest_first', range, limit: limit + 1, after });
  const marks = found.slice(0, limit).map(({ id, at }) => ({ eventId: id as EventId, createdAt: at }));
  return { marks, nextCursor: found.length > limit ? marks.at(-1) : undefined };
}
