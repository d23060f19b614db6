import { AuditLog } from '../accounts/audit/redis-audit-log';
import type { AccountId } from '../domain/account';
import { type EndpointId, encodeAddress, laneNameOf } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { keys, queueKeysOf } from '../domain/keys';
import { DELIVERIES_QUEUE, EVENTS_QUEUE, type QueueShards } from '../domain/queues';
import { keysOfLimits } from '../endpoints/admission/redis-admission-store';
import { BesideLanes } from '../endpoints/admission/redis-beside-lanes';
import { mastersOf, type RedisClient } from '../platform/redis-connect';
import { storageUnavailable } from '../platform/redis-errors';
import { idOfMember } from '../platform/redis-timeline';
import { ScheduledQueue } from '../queue/bullmq-scheduled-queue';
import { HeldCounts } from '../queue/redis-held-counts';
import { DayStore } from './redis-day-store';

/** How much of an account is left, as far as it has been counted. */
export interface Remains {
  readonly endpoints: number;
  readonly events: number;
}

/** An entry of a list that leads to events. */
export interface EventEntry {
  readonly eventId: EventId;
  /** The entry as it stands in the list. */
  readonly member: string;
}

/** The keys of an account found in one scan of some of all keys. */
export interface Found {
  readonly entries: readonly EventEntry[];
  /** Names of idempotent responses. */
  readonly responses: readonly string[];
  /** The next cursor; `undefined` at the end. */
  readonly next: SearchCursor | undefined;
}

// Redis scans this many keys in a millisecond or less.
const LOOKED_AT = 1_000;

/**
 * The remains of an account that is being erased. One list leads to the next: the account's to its endpoints,
 * events, API keys and portal sessions, an endpoint's to its events and replays, an event's to its
 * deliveries. So a list is emptied from its end, and an entry is removed after the data that it leads to: a
 * process that takes over finds what is left, and nothing else.
 */
export class RemainsStore {
  readonly #heldCounts: HeldCounts;
  readonly #besideLanes: BesideLanes;
  readonly #scheduledQueue: ScheduledQueue;

  constructor(
    private readonly redis: RedisClient,
    private readonly shards: QueueShards,
  ) {
    this.#heldCounts = new HeldCounts(redis, shards);
    this.#besideLanes = new BesideLanes(redis);
    this.#scheduledQueue = new ScheduledQueue(redis, shards);
  }

  async count(accountId: AccountId): Promise<Remains> {
    const [endpoints, events] = await Promise.all([
      this.redis.zcard(keys.endpointIds(accountId)),
      this.redis.zcard(keys.events(accountId)),
    ]);
    return { endpoints, events };
  }

  /** Remove up to `limit` of its API keys, and give their number. */
  async removeApiKeys(accountId: AccountId, limit: number): Promise<number> {
    const listKey = keys.apiKeyIds(accountId);
    const members = await this.#firstOf(listKey, limit);
    const ids = members.map(idOfMember);
    await Promise.all(
      ids.flatMap((id) => [
        this.redis.unlink(keys.apiKey(id), keys.apiKeyUsed(id)),
        this.redis.unlink(keys.rateLimit(accountId, id)),
      ]),
    );
    if (members.length > 0) await this.redis.zrem(listKey, ...members);
    return members.length;
  }

  /** Remove up to `limit` of its portal sessions, and give their number. */
  async removePortalSessions(accountId: AccountId, limit: number): Promise<number> {
    const listKey = keys.portalSessionIds(accountId);
    const ids = await this.#firstOf(listKey, limit);
    await Promise.all(ids.map((id) => this.redis.unlink(keys.portalSession(id))));
    if (ids.length > 0) await this.redis.zrem(listKey, ...ids);
    return ids.length;
  }

  /** Nobody verifies by them any more: there is nothing left that they sign. */
  async removeSigningKeys(accountId: AccountId): Promise<void> {
    await this.redis.unlink(keys.signingKeys(accountId));
  }

  /** An endpoint with remaining data. */
  async anyEndpoint(accountId: AccountId): Promise<EndpointId | undefined> {
    const [id] = await this.#firstOf(keys.endpointIds(accountId), 1);
    return id as EndpointId | undefined;
  }

  async eventsOf(accountId: AccountId, limit: number): Promise<EventEntry[]> {
    return (await this.#firstOf(keys.events(accountId), limit)).map(toEntry);
  }

  async forgetEvents(accountId: AccountId, entries: readonly EventEntry[]): Promise<void> {
    await this.redis.zrem(keys.events(accountId), ...membersOf(entries));
  }

  /** The events that wait for their time. */
  async scheduledEventsOf(accountId: AccountId, limit: number): Promise<EventEntry[]> {
    return (await this.#scheduledQueue.list(accountId, limit)).map(({ eventId }) => toEntry(eventId));
  }

  async forgetScheduledEvents(accountId: AccountId, entries: readonly EventEntry[]): Promise<void> {
    const eventIds = entries.map(({ eventId }) => eventId);
    await this.#scheduledQueue.remove(accountId, eventIds)(this.redis);
  }

  /**
   * The events in its list of deliveries, and those of held deliveries: either may reach back further than
   * the other.
   */
  async eventsOfEndpoint(endpointId: EndpointId, limit: number): Promise<EventEntry[]> {
    const members = await Promise.all(this.#listsOf(endpointId).map((list) => this.#firstOf(list, limit)));
    return [...new Set(members.flat())].slice(0, limit).map(toEntry);
  }

  async forgetEventsOfEndpoint(endpointId: EndpointId, entries: readonly EventEntry[]): Promise<void> {
    const members = membersOf(entries);
    await Promise.all(this.#listsOf(endpointId).map((list) => this.redis.zrem(list, ...members)));
  }

  /** The payload and its marker. */
  async removePayload(accountId: AccountId, eventId: EventId): Promise<void> {
    await this.redis.unlink(
      keys.event(accountId, eventId),
      keys.eventClaim(accountId, eventId),
      keys.moved(accountId, eventId),
      keys.scheduledFor(accountId, eventId),
    );
  }

  async receiversOf(accountId: AccountId, eventId: EventId, limit: number): Promise<EndpointId[]> {
    const members = await this.#firstOf(keys.receivers(accountId, eventId), limit);
    return members as EndpointId[];
  }

  /** The logs of an event's deliveries. */
  async removeDeliveries(
    accountId: AccountId,
    eventId: EventId,
    endpointIds: readonly EndpointId[],
  ): Promise<void> {
    if (endpointIds.length === 0) return;
    await Promise.all(endpointIds.map((id) => this.redis.unlink(keys.delivery(id, eventId))));
    await this.redis.zrem(keys.receivers(accountId, eventId), ...endpointIds);
  }

  /** Remove up to `limit` of its replays, and give their number. */
  async removeReplays(endpointId: EndpointId, limit: number): Promise<number> {
    const listKey = keys.replays(endpointId);
    const members = await this.#firstOf(listKey, limit);
    const ids = members.map(idOfMember);
    await Promise.all(ids.map((id) => this.redis.unlink(keys.replay(id), keys.replayed(id))));
    if (members.length > 0) await this.redis.zrem(listKey, ...members);
    return members.length;
  }

  /**
   * Scan some of all keys, of every account, for data that no list leads to: events older than the last ones
   * that lists keep, and idempotent responses. Other accounts' keys may look much the same.
   *
   * @param noted the cursor of the last scan; absent at the beginning.
   */
  async findStrays(accountId: AccountId, noted: SearchCursor | undefined): Promise<Found> {
    const masters = mastersOf(this.redis);
    const search = cursorAmong([...masters.keys()], noted);
    const master = search && masters.get(search.master);
    if (!master) throw storageUnavailable(new Error('No master of the Cluster is known.'));
    const pattern = keys.ofAnyEvent(accountId);
    const [cursor, found] = await master.scan(search.cursor, 'MATCH', pattern, 'COUNT', LOOKED_AT);
    return { ...sortOut(found), next: cursorAfter(search, cursor) };
  }

  async removeResponses(accountId: AccountId, names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => this.redis.unlink(keys.idempotency(accountId, name))));
  }

  /** Remove the rest of an endpoint once its lists are empty. */
  async removeEndpoint(accountId: AccountId, endpointId: EndpointId): Promise<void> {
    const { deliveries, keptLonger, replays, health, answerBytes, accessToken, transformations } = keys;
    const lists = [deliveries, keptLonger, replays, health, answerBytes, accessToken, transformations];
    await this.redis.unlink(...lists.map((keyOf) => keyOf(endpointId)), ...keysOfLimits(endpointId));
    await this.#besideLanes.clear(endpointId);
    const address = encodeAddress({ accountId, endpointId });
    for (const { held, lines, batches, wakeUps } of this.#homeShardsOf(endpointId)) {
      await this.redis.unlink(held(endpointId), lines(endpointId), batches(endpointId));
      await this.redis.zrem(wakeUps, address);
    }
    await this.#heldCounts.recount({ accountId, endpointId });
    for (const list of [keys.disabledEndpoints, keys.verificationsDue, keys.openBreakers, keys.listeners]) {
      await this.redis.zrem(list, address);
    }
    await this.redis.zrem(keys.endpointIds(accountId), endpointId);
  }

  /** What was recorded of the account. What operators did with it is in their own log. */
  async removeAuditLog(accountId: AccountId): Promise<void> {
    await new AuditLog(this.redis).remove(accountId);
  }

  /** Remove the rest of an account once its lists are empty, except the account itself. */
  async removeRest(accountId: AccountId, now: number): Promise<void> {
    await this.redis.unlink(
      keys.endpointsVersion(accountId),
      keys.subscriptions(accountId),
      keys.codeBytes(accountId),
      keys.signingKeys(accountId),
      keys.rateLimit(accountId),
      keys.runningReplays(accountId),
      keys.keptLonger(accountId),
      keys.movedUntil(accountId),
      keys.attemptsMovedUntil(accountId),
      keys.contacts(accountId),
      keys.confirmations(accountId),
      keys.unprovenRequests(accountId),
      keys.notified(accountId),
      keys.notifications(accountId),
      keys.notificationIds(accountId),
      keys.notificationsDue(accountId),
    );
    await this.redis.zrem(keys.contactAccounts, accountId);
    await new DayStore(this.redis).forgetLoads(accountId, now);
    for (const { prefix } of this.shards.all()) {
      const { flows } = queueKeysOf(prefix);
      await this.redis.unlink(flows(DELIVERIES_QUEUE, accountId), flows(EVENTS_QUEUE, accountId));
    }
  }

  #firstOf(key: string, limit: number): Promise<string[]> {
    return this.redis.zrange(key, '0', String(limit - 1));
  }

  #listsOf(endpointId: EndpointId): string[] {
    return [
      keys.deliveries(endpointId),
      ...this.#homeShardsOf(endpointId).flatMap(({ held, lane, grouped }) => [
        held(endpointId),
        lane(laneNameOf(endpointId)),
        grouped(endpointId),
      ]),
    ];
  }

  #homeShardsOf(endpointId: EndpointId) {
    return this.shards.homeShardsOf(endpointId).map(({ prefix }) => queueKeysOf(prefix));
  }
}

const EVENT_KEY = /^(?:event|receivers|event-claim|moved|scheduled-for):\{[^/]+\/([\w-]+)\}$/;
const RESPONSE_KEY = /^idempotency:\{[^/]+\/([\w-]+)\}$/;

function sortOut(found: readonly string[]): Omit<Found, 'next'> {
  const eventIds = new Set(found.flatMap((key) => EVENT_KEY.exec(key)?.[1] ?? []));
  return {
    entries: [...eventIds].map(toEntry),
    responses: [...new Set(found.flatMap((key) => RESPONSE_KEY.exec(key)?.[1] ?? []))],
  };
}

function toEntry(member: string): EventEntry {
  return { eventId: member as EventId, member };
}

function membersOf(entries: readonly EventEntry[]): string[] {
  return entries.map(({ member }) => member);
}

/** The position of a search through all keys. */
export interface SearchCursor {
  /** The servers that held the keys when it began, in the order of the search. */
  readonly masters: readonly string[];
  /** The server that is being searched. */
  readonly master: string;
  readonly cursor: string;
}

const START = '0';

/**
 * The cursor to resume a search with. The search begins again when the servers have changed: keys may have
 * moved from a server that was not searched yet to one that was, and a cursor is meaningless to another
 * server.
 *
 * @param masters in any order, which differs from process to process.
 */
export function cursorAmong(
  masters: readonly string[],
  noted: SearchCursor | undefined,
): SearchCursor | undefined {
  const sorted = masters.toSorted();
  if (noted && isSame(noted.masters, sorted)) return noted;
  return startOf(sorted, 0);
}

/** The next cursor after a scan that returned this one; `undefined` at the end. */
export function cursorAfter({ masters, master }: SearchCursor, cursor: string): SearchCursor | undefined {
  if (cursor !== START) return { masters, master, cursor };
  return startOf(masters, masters.indexOf(master) + 1);
}

function startOf(masters: readonly string[], index: number): SearchCursor | undefined {
  const master = masters[index];
  return master === undefined ? undefined : { masters, master, cursor: START };
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((each, i) => each === others[i]);
}
