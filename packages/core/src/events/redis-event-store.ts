import { makeChange } from '../accounts/audit/redis-recorded-change';
import type { AccountId } from '../domain/account';
import type { Act } from '../domain/audit';
import type { DeliveryParts } from '../domain/delivery';
import type { EndpointId } from '../domain/endpoint';
import {
  type AcceptedEvent,
  EVENT_HEAD_BYTES,
  type EventHead,
  type EventId,
  type Schedule,
  type StoredEvent,
} from '../domain/event';
import { keys } from '../domain/keys';
import type { RecordForm } from '../domain/record-form';
import { DELIVERY_BYTES, EVENT_BYTES, lapseOf } from '../domain/usage';
import { createLru } from '../platform/caches';
import { steadyClock } from '../platform/clock';
import { mapReply, together } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import type { Guard } from '../platform/redis-lua';
import type { Step } from '../platform/redis-script';
import { type Mark, readNewestFirst, readTimeline, type TimeRange } from '../platform/redis-timeline';
import { decodeHead, decodeStored, encodeEvent, encodeHead } from './event-text';
import {
  addCounted,
  type CountedEntry,
  type EventMark,
  keepListed,
  type MarkPage,
  type Pruned,
  type Retention,
  readIndex,
  storedMsOf,
} from './redis-event-index';
import {
  erasePayload,
  hasLapsed,
  keepEvent,
  openEvent,
  readCounted,
  readStart,
  saveEvent,
} from './redis-event-store.script';

export interface ReceiverPage {
  readonly members: readonly EndpointId[];
  readonly nextCursor: EndpointId | undefined;
}

/** An event with its receivers, as far as they were asked for. */
export interface OpenedEvent {
  readonly head: EventHead;
  readonly receivers: ReceiverPage;
}

export interface CountedHead {
  readonly head: EventHead;
  readonly deliveryCount: number;
}

/**
 * An event with thousands of endpoints is loaded once: its deliveries are neighbours on the queue, so a few
 * cached events are enough. More of them would only grow old in memory, and double the time of the garbage
 * collector.
 */
const CACHED_EVENTS = 64;

/**
 * How long a body may be used from memory, counted from before it was read. An erasure waits for longer than
 * this: then no process has it any more. The deliveries of an event follow each other closely, so a longer
 * time gains nothing.
 */
export const CACHED_FOR_MS = 250;

export interface EventStoreOptions {
  /** Called with the events that an account's list has pruned. */
  readonly onPruned?: (accountId: AccountId, pruned: readonly Pruned[]) => void;
  /** Called with the size of an erased payload, and when its event was accepted. */
  readonly onErased?: (accountId: AccountId, bytes: number, acceptedAt: number) => void;
  /** In which new events are written. Default: `current`. */
  readonly form?: RecordForm | undefined;
}

/**
 * Keeps each event's body once, whatever the number of its endpoints: see `event-text.ts`. Beside it: its receivers, and for
 * each account a list of its events.
 */
export class EventStore {
  readonly #cache = createLru<string, { readonly event: AcceptedEvent; readonly readAt: number }>(
    CACHED_EVENTS,
  );

  constructor(
    private readonly redis: RedisClient,
    private readonly retention: Retention,
    private readonly now = steadyClock,
    private readonly options: EventStoreOptions = {},
  ) {}

  /**
   * Store an event, and some of its endpoints. Repeating it changes nothing, nor does another event under the
   * same id. Adding an endpoint again changes nothing. It keeps the later steps from running when the event of this id waits
   * for its time, or was cancelled; and also when one that was stored before is gone.
   *
   * @param isLost Redis has lost some of its deliveries: one that lapses is kept again, and gets them.
   */
  save(
    event: AcceptedEvent,
    endpointIds: readonly EndpointId[] = [],
    { isLost = false } = {},
  ): Guard<boolean> {
    const { accountId, id, isStored } = event;
    return saveEvent({
      account: accountId,
      event: id,
      isStored: true,
      keptMs: storedMsOf(this.retention),
      text: isStored ? undefined : encodeEvent(event, this.options.form),
      endpoints: endpointIds,
      isLost,
    });
  }

  /**
   * Put events into the lists of their accounts, and count them for the accounts, with their deliveries. Idempotent. It takes one
   * call for those of an account that lapse at the same time, which all do mostly.
   */
  enlistAll(all: readonly { readonly event: Enlisted; readonly deliveries: number }[]): Step {
    const { ageMs } = this.retention;
    const groups = new Map<string, EnlistedTogether>();
    for (const { event, deliveries } of all) {
      const { accountId, id: eventId, acceptedAt: createdAt, body } = event;
      const lapsesAt = lapseOf(createdAt, ageMs);
      const name = `${lapsesAt} ${accountId}`;
      // One that has waited for its time was counted when it was published.
      const isCounted = body === undefined || event.schedule !== undefined;
      const eventBytes = isCounted ? 0 : EVENT_BYTES + Buffer.byteLength(body);
      const deliveryBytes = DELIVERY_BYTES * deliveries;
      const entry: CountedEntry = { eventId, createdAt, eventBytes, deliveryBytes };
      const group = groups.get(name);
      if (group) group.entries.push(entry);
      else groups.set(name, { accountId, lapsesAt, entries: [entry] });
    }
    return together([...groups.values()].map((group) => this.#enlist(group)));
  }

  /**
   * Gives `undefined` when the event does not exist any more. It may come from memory: see `CACHED_FOR_MS`.
   */
  async find(accountId: AccountId, id: EventId): Promise<StoredEvent | undefined> {
    const known = this.#cache.get(keys.event(accountId, id));
    if (known && this.now() - known.readAt < CACHED_FOR_MS) return known.event;
    return await this.read(accountId, id);
  }

  /** The same, never from memory: its schedule may have been changed a moment ago. */
  async read(accountId: AccountId, id: EventId): Promise<StoredEvent | undefined> {
    const readAt = this.now();
    return this.decode(accountId, id, await this.redis.get(keys.event(accountId, id)), readAt);
  }

  /** The same from the stored text. @param readAt when its read began: milliseconds of a clock that never jumps. */
  decode(accountId: AccountId, id: EventId, text: string | null, readAt: number): StoredEvent | undefined {
    if (text === null) return undefined;
    const event = decodeStored(accountId, id, text);
    if (event.body !== undefined) this.#cache.set(keys.event(accountId, id), { event, readAt });
    return event;
  }

  /**
   * Remove an event's payload. Its id stays taken for as long as it would have been. Idempotent.
   *
   * @param queued the head of an event that is about to be saved: the save will find its id taken.
   * @returns whether such an event exists.
   */
  async erasePayload(
    accountId: AccountId,
    id: EventId,
    erasedAt: number,
    queued?: EventHead,
    act?: Act,
  ): Promise<boolean> {
    const erased = erasePayload({
      account: accountId,
      event: id,
      erasedAt: String(erasedAt),
      head: queued === undefined ? undefined : encodeHead(queued, this.options.form),
      keptMs: storedMsOf(this.retention),
    });
    const recorded = act && { act, accountId, targetId: id };
    const { isThere, bytes, acceptedAt } = await makeChange(this.redis, erased, recorded);
    if (bytes > 0) this.options.onErased?.(accountId, bytes, acceptedAt);
    return isThere;
  }

  /** Keep an event for its RETENTION again, from some time on. Idempotent. @param fromNowMs when it begins; below 0: it has begun. */
  async keep(accountId: AccountId, id: EventId, fromNowMs: number): Promise<void> {
    const keptMs = Math.round(fromNowMs) + storedMsOf(this.retention);
    await keepEvent({ account: accountId, event: id, keptMs })(this.redis);
  }

  /** Show an event in its account's list for its RETENTION again, from now on, however old it is. Idempotent. */
  async keepListed(accountId: AccountId, mark: EventMark): Promise<void> {
    await keepListed(keys.events(accountId), mark, this.retention.ageMs)(this.redis);
  }

  async findHead(accountId: AccountId, id: EventId): Promise<EventHead | undefined> {
    const start = await this.redis.getrange(keys.event(accountId, id), 0, EVENT_HEAD_BYTES - 1);
    return start === '' ? undefined : decodeHead(start);
  }

  /** The same as a step. */
  headOf(accountId: AccountId, id: EventId): Step<EventHead | undefined> {
    const step = readStart({ account: accountId, event: id });
    return mapReply(step, (start) => (start === '' ? undefined : decodeHead(start)));
  }

  /**
   * Read an event and a page of its receivers.
   *
   * @param type for an event of another type the receivers are not read.
   * @param before as for `listReceivers`.
   * @returns `undefined` when it does not exist any more.
   */
  async open(
    accountId: AccountId,
    id: EventId,
    limit: number,
    { type, before }: { readonly type?: string | undefined; readonly before?: string | undefined } = {},
  ): Promise<OpenedEvent | undefined> {
    const first = before === undefined ? '+' : `(${before}`;
    const page = { account: accountId, event: id, eventType: type, first, most: limit + 1 };
    const { start, endpoints } = await openEvent(page)(this.redis);
    if (start === '') return undefined;
    const members = endpoints.slice(0, limit);
    const nextCursor = endpoints.length > limit ? members.at(-1) : undefined;
    return { head: decodeHead(start), receivers: { members, nextCursor } };
  }

  /** The head, and the number of its receivers with those whose deliveries have moved to the history. */
  async findCounted(accountId: AccountId, id: EventId): Promise<CountedHead | undefined> {
    const { start, deliveryCount } = await readCounted({ account: accountId, event: id })(this.redis);
    return start === '' ? undefined : { head: decodeHead(start), deliveryCount };
  }

  /** Whether it was sent to all, and moved to the history a moment ago. */
  async hasLapsed(accountId: AccountId, id: EventId): Promise<boolean> {
    return await hasLapsed({ account: accountId, event: id })(this.redis);
  }

  async isReceiver(accountId: AccountId, { endpointId, eventId }: DeliveryParts): Promise<boolean> {
    return (await this.redis.zscore(keys.receivers(accountId, eventId), endpointId)) !== null;
  }

  /** The account's events in a span of time, oldest first. Some may be gone already. */
  async listFrom(accountId: AccountId, range: TimeRange, limit: number, after?: Mark) {
    const order = 'oldest_first';
    return await readTimeline(this.redis, keys.events(accountId), { order, range, limit, after });
  }

  /** Newest first. `before` is the last event of the page before. */
  async list(accountId: AccountId, limit: number, before?: EventMark, range?: TimeRange): Promise<MarkPage> {
    return await readIndex(this.redis, keys.events(accountId), limit, range, before);
  }

  /** How many are listed from each `since` on and before its `until`. One round trip. */
  async countIn(
    accountId: AccountId,
    ranges: readonly { readonly since: number; readonly until: number }[],
  ): Promise<readonly number[]> {
    const key = keys.events(accountId);
    return await Promise.all(ranges.map(({ since, until }) => this.redis.zcount(key, since, `(${until}`)));
  }

  /** Adding an endpoint again changes nothing. */
  addReceivers(accountId: AccountId, id: EventId, endpointIds: readonly EndpointId[]): Step<boolean> {
    return saveEvent({
      account: accountId,
      event: id,
      isStored: false,
      keptMs: storedMsOf(this.retention),
      text: undefined,
      endpoints: endpointIds,
      isLost: false,
    });
  }

  /** An event's receivers, those registered last first. `before` is the last one of the page before. */
  async listReceivers(
    accountId: AccountId,
    id: EventId,
    limit: number,
    before?: string,
  ): Promise<ReceiverPage> {
    const page = await readNewestFirst(this.redis, keys.receivers(accountId, id), limit, before);
    return page as ReceiverPage;
  }

  #enlist({ accountId, lapsesAt, entries }: EnlistedTogether): Step<void> {
    let oldest = Number.POSITIVE_INFINITY;
    for (const { createdAt } of entries) oldest = Math.min(oldest, createdAt);
    const keptMs = Math.max(lapsesAt - oldest, this.retention.ageMs);
    return mapReply(addCounted(accountId, entries, this.retention, { lapsesAt, keptMs }), (pruned) => {
      if (pruned.length > 0) this.options.onPruned?.(accountId, pruned);
    });
  }
}

interface Enlisted {
  readonly accountId: AccountId;
  readonly id: EventId;
  readonly acceptedAt: number;
  /** Absent: the event is counted already. */
  readonly body?: string | undefined;
  readonly schedule?: Schedule;
}

/** Events of an account whose usage counts for equally long. */
interface EnlistedTogether {
  readonly accountId: AccountId;
  readonly lapsesAt: number;
  readonly entries: CountedEntry[];
}
