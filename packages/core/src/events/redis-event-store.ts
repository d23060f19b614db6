import { makeChange } from '../audit/redis-recorded-change';
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
import { formatTraceparent, parseTraceparent } from '../domain/trace';
import { DELIVERY_BYTES, EVENT_BYTES, lapseOf } from '../domain/usage';
import { createLru } from '../platform/caches';
import { steadyClock } from '../platform/clock';
import type { RedisClient } from '../platform/redis-connect';
import type { ScriptTarget } from '../platform/redis-script';
import { type Mark, readNewestFirst, readTimeline, type TimeRange } from '../platform/redis-timeline';
import {
  addCounted,
  type CountedEntry,
  type EventMark,
  graceOf,
  keepListed,
  type MarkPage,
  type Pruned,
  type Retention,
  readIndex,
  storedMsOf,
} from './redis-event-index';
import {
  erasePayload,
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

export interface EventStoreListeners {
  /** Called with the events that an account's list has pruned. */
  readonly onPruned?: (accountId: AccountId, pruned: readonly Pruned[]) => void;
  /** Called with the size of an erased payload, and when its event was accepted. */
  readonly onErased?: (accountId: AccountId, bytes: number, acceptedAt: number) => void;
}

/**
 * Keeps each event's body once, whatever the number of its endpoints. Layout: the time of acceptance, a
 * space, the type, a space and an @ if it is aimed at certain endpoints, a space and an & if it is noted that
 * a worker fans it out, its schedule if it has one, a space, a ^ and a traceparent if it is traced, a space, an ! and the time if its payload was erased, a line feed, the unchanged body. A
 * schedule is a space, then ~ while it waits, + once it is due, - once it was cancelled, the time at which it was published and, for one
 * that was cancelled, a comma and the time at which it would have been due. Beside it: its receivers, and for each account a list of its events.
 */
export class EventStore {
  readonly #cache = createLru<string, { readonly event: AcceptedEvent; readonly readAt: number }>(
    CACHED_EVENTS,
  );

  constructor(
    private readonly redis: RedisClient,
    private readonly retention: Retention,
    private readonly now = steadyClock,
    private readonly options: EventStoreListeners = {},
  ) {}

  /**
   * Store an event, and some of its endpoints. Repeating it changes nothing, nor does another event under the
   * same id. Adding an endpoint again changes nothing. As a step, it keeps the later ones from running when
   * the event of this id waits for its time, or was cancelled; and also when one that was stored before is gone.
   */
  async save(
    event: AcceptedEvent,
    endpointIds: readonly EndpointId[] = [],
    target: ScriptTarget = this.redis,
  ): Promise<void> {
    const { accountId, id, isStored } = event;
    await saveEvent({
      account: accountId,
      event: id,
      isStored: true,
      keptMs: storedMsOf(this.retention),
      text: isStored ? undefined : encode(event),
      endpoints: endpointIds,
    })(target);
  }

  /**
   * Put events into the lists of their accounts, and count them for the accounts, with their deliveries. Idempotent. It takes one
   * call for those of an account that lapse at the same time, which all do mostly.
   */
  async enlistAll(
    all: readonly { readonly event: Enlisted; readonly deliveries: number }[],
    target: ScriptTarget = this.redis,
  ): Promise<void> {
    const { ageMs } = this.retention;
    const groups = new Map<string, EnlistedTogether>();
    for (const { event, deliveries } of all) {
      const { accountId, id: eventId, acceptedAt: createdAt, body } = event;
      const lapsesAt = lapseOf(createdAt, ageMs);
      const name = `${lapsesAt} ${accountId}`;
      // One that has waited for its time was counted when it was published.
      const isCounted = body === undefined || event.schedule !== undefined;
      const ownBytes = isCounted ? 0 : EVENT_BYTES + Buffer.byteLength(body);
      const bytes = [ownBytes, DELIVERY_BYTES * deliveries];
      const entry: CountedEntry = { eventId, createdAt, bytes };
      const group = groups.get(name);
      if (group) group.entries.push(entry);
      else groups.set(name, { accountId, lapsesAt, entries: [entry] });
    }
    await Promise.all([...groups.values()].map((group) => this.#enlist(group, target)));
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
      head: queued === undefined ? undefined : encodeHead(queued),
      keptMs: storedMsOf(this.retention),
    });
    const recorded = act && { act, accountId, targetId: id };
    const { isThere, bytes, acceptedAt } = await makeChange(this.redis, erased, recorded);
    if (bytes > 0) this.options.onErased?.(accountId, bytes, acceptedAt);
    return isThere;
  }

  /**
   * How much of the RETENTION of an event is left, by the clock of Redis; 0 or less: it is over, or the event is gone. One
   * whose deliveries were requested again may have more. Milliseconds.
   */
  async leftOf(accountId: AccountId, id: EventId): Promise<number> {
    return (await this.redis.pttl(keys.event(accountId, id))) - graceOf(this.retention);
  }

  /** Keep an event for its RETENTION again, from some time on. Idempotent. @param fromNowMs when it begins; below 0: it has begun. */
  async keep(accountId: AccountId, id: EventId, fromNowMs: number): Promise<void> {
    const keptMs = Math.round(fromNowMs) + storedMsOf(this.retention);
    await keepEvent({ account: accountId, event: id, keptMs })(this.redis);
  }

  /** Show an event in its account's list for its RETENTION again, from now on, however old it is. Idempotent. */
  async keepListed(accountId: AccountId, mark: EventMark): Promise<void> {
    await keepListed(this.redis, keys.events(accountId), mark, this.retention.ageMs);
  }

  async findHead(accountId: AccountId, id: EventId): Promise<EventHead | undefined> {
    const start = await this.redis.getrange(keys.event(accountId, id), 0, EVENT_HEAD_BYTES - 1);
    return start === '' ? undefined : decodeHead(start);
  }

  /** The same as a step. */
  async findHeadInStep(
    accountId: AccountId,
    id: EventId,
    target: ScriptTarget,
  ): Promise<EventHead | undefined> {
    const start = await readStart({ account: accountId, event: id })(target);
    return start === '' ? undefined : decodeHead(start);
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
  async addReceivers(
    accountId: AccountId,
    id: EventId,
    endpointIds: readonly EndpointId[],
    target: ScriptTarget = this.redis,
  ): Promise<void> {
    await saveEvent({
      account: accountId,
      event: id,
      isStored: false,
      keptMs: storedMsOf(this.retention),
      text: undefined,
      endpoints: endpointIds,
    })(target);
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

  async #enlist({ accountId, lapsesAt, entries }: EnlistedTogether, target: ScriptTarget): Promise<void> {
    const { ageMs } = this.retention;
    let oldest = Number.POSITIVE_INFINITY;
    for (const { createdAt } of entries) oldest = Math.min(oldest, createdAt);
    const counted = {
      usageKey: keys.usage(accountId),
      usedBytesKey: keys.usedBytes(accountId),
      fields: [`events:${lapsesAt}`, `deliveries:${lapsesAt}`],
      keptMs: Math.max(lapsesAt - oldest, ageMs),
    };
    const pruned = await addCounted(target, keys.events(accountId), entries, this.retention, counted);
    if (pruned.length > 0) this.options.onPruned?.(accountId, pruned);
  }
}

/** @property body absent: the event is counted already. */
type Enlisted = Pick<AcceptedEvent, 'accountId' | 'id' | 'acceptedAt'> &
  Pick<Partial<AcceptedEvent>, 'body' | 'schedule'>;

/** Events of an account whose usage counts for equally long. */
interface EnlistedTogether {
  readonly accountId: AccountId;
  readonly lapsesAt: number;
  readonly entries: CountedEntry[];
}

const AIMED = '@';
const QUEUED = '&';
const TRACED = '^';
const ERASED = '!';
const GROUPED = '=';
const SCHEDULE_MARKS = { waiting: '~', due: '+', cancelled: '-' } as const;
const SCHEDULE = /^([~+-])(\d+)(?:,(\d+))?$/;

/** The text that is stored. */
export function encode({
  acceptedAt,
  type,
  body,
  endpointIds,
  isQueued,
  trace,
  schedule,
  group,
}: AcceptedEvent): string {
  const head = encodeHead({ acceptedAt, type, isAimed: endpointIds !== undefined });
  const queued = isQueued ? ` ${QUEUED}` : '';
  const traced = trace === undefined ? '' : ` ${TRACED}${formatTraceparent(trace)}`;
  return `${head}${queued}${encodeSchedule(schedule)}${encodeGroup(group)}${traced}\n${body}`;
}

function encodeGroup(group: string | undefined): string {
  return group === undefined ? '' : ` ${GROUPED}${encodeURIComponent(group)}`;
}

function encodeSchedule(schedule: Schedule | undefined): string {
  if (schedule === undefined) return '';
  const { state, publishedAt, deliverAt } = schedule;
  const wouldHaveBeen = state === 'cancelled' ? `,${deliverAt}` : '';
  return ` ${SCHEDULE_MARKS[state]}${publishedAt}${wouldHaveBeen}`;
}

function decodeSchedule(marks: readonly string[], acceptedAt: number): Schedule | undefined {
  for (const text of marks) {
    const [, mark, publishedAt, deliverAt] = SCHEDULE.exec(text) ?? [];
    if (mark === undefined) continue;
    const state = mark === '~' ? 'waiting' : mark === '+' ? 'due' : 'cancelled';
    return { state, publishedAt: Number(publishedAt), deliverAt: Number(deliverAt ?? acceptedAt) };
  }
  return undefined;
}

/** Whether a stored event notes that a worker fans it out. */
export function isNotedAsQueued(stored: string): boolean {
  return stored.slice(0, stored.indexOf('\n')).split(' ').includes(QUEUED);
}

function encodeHead({ acceptedAt, type, isAimed }: EventHead): string {
  return `${acceptedAt} ${type}${isAimed ? ` ${AIMED}` : ''}`;
}

/** The stored form of an event by its head. @param body '' once it was erased. */
export function encodeStored(head: EventHead, body: string): string {
  const { trace, erasedAt, schedule, group } = head;
  const traced = trace === undefined ? '' : ` ${TRACED}${formatTraceparent(trace)}`;
  const erased = erasedAt === undefined ? '' : ` ${ERASED}${erasedAt}`;
  return `${encodeHead(head)}${encodeSchedule(schedule)}${encodeGroup(group)}${traced}${erased}\n${body}`;
}

export function decodeStored(accountId: AccountId, id: EventId, stored: string): StoredEvent {
  const { type, acceptedAt, erasedAt, trace, schedule, group } = decodeHead(stored);
  const known = {
    id,
    accountId,
    type,
    acceptedAt,
    ...(trace === undefined ? {} : { trace }),
    ...(schedule === undefined ? {} : { schedule }),
    ...(group === undefined ? {} : { group }),
  };
  return erasedAt === undefined
    ? { body: stored.slice(stored.indexOf('\n') + 1), ...known }
    : { erasedAt, ...known };
}

/** @param stored an event, or its beginning. */
export function decodeHead(stored: string): EventHead {
  const [acceptedAt, type = '', ...marks] = stored.slice(0, stored.indexOf('\n')).split(' ');
  const erased = marks.find((mark) => mark.startsWith(ERASED));
  const traced = marks.find((mark) => mark.startsWith(TRACED));
  const trace = traced === undefined ? undefined : parseTraceparent(traced.slice(TRACED.length));
  const schedule = decodeSchedule(marks, Number(acceptedAt));
  const grouped = marks.find((mark) => mark.startsWith(GROUPED));
  return {
    acceptedAt: Number(acceptedAt),
    type,
    isAimed: marks.includes(AIMED),
    ...(erased === undefined ? {} : { erasedAt: Number(erased.slice(ERASED.length)) }),
    ...(trace === undefined ? {} : { trace }),
    ...(schedule === undefined ? {} : { schedule }),
    ...(grouped === undefined ? {} : { group: decodeURIComponent(grouped.slice(GROUPED.length)) }),
  };
}
