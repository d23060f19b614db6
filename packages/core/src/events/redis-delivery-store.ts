import type { AccountId } from '../domain/account';
import type { Attempt, AttemptFilter } from '../domain/attempt';
import { type BreakerState, decodeBreaker } from '../domain/breaker';
import type { DeliveryParts } from '../domain/delivery';
import {
  type DeliveryFact,
  encodeFactIn,
  eraseAnswers,
  type FoundAttempt,
  findAttempt,
  linesToAppend,
} from '../domain/delivery-fact';
import {
  countAttempts,
  type DeliveryState,
  type DeliverySummary,
  NOTHING_HAPPENED,
  readLog,
  readSummary,
} from '../domain/delivery-log';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import type { RecordForm } from '../domain/record-form';
import { chunksOf } from '../platform/batches';
import { type Clock, systemClock } from '../platform/clock';
import { mapReply, together } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import { groupsByCommand, type Step } from '../platform/redis-script';
import { type Mark, readTimeline, type TimeRange } from '../platform/redis-timeline';
import {
  append,
  appendBeforeSending,
  appendIfListed,
  appendIfUnchanged,
  hasLapsed,
  lengthOfLog,
  replaceIfUnchanged,
  type SeeDeliveryReply,
  seeDelivery,
} from './redis-delivery-store.script';
import {
  addToEach,
  type EventMark,
  keepListed,
  type Pruned,
  type Retention,
  readIndex,
} from './redis-event-index';

export type DeliveryCursor = EventMark;

/** Events that an endpoint's list gets. */
export interface NewDeliveries {
  /** Absent: nobody is told what its list has lost to them. */
  readonly accountId?: AccountId | undefined;
  readonly endpointId: EndpointId;
  readonly marks: readonly EventMark[];
}

/** A delivery in an endpoint's list. */
export interface ListedDelivery extends EventMark, DeliverySummary {
  /** The number of its attempts that a filter matches. Absent: there was no filter. */
  readonly matchingAttempts: number | undefined;
}

/** A delivery with everything recorded of it. */
export interface RecordedDelivery extends EventMark, DeliveryState {}

export interface DeliveryPage {
  readonly deliveries: readonly ListedDelivery[];
  readonly nextCursor: DeliveryCursor | undefined;
}

/**
 * The length of a delivery's log, in bytes. Lines are only appended: the same length means the same facts.
 */
export type LogLength = number;

/** A delivery at the moment when its log was read. */
export interface ReadDelivery {
  readonly state: DeliveryState;
  readonly length: LogLength;
}

export interface DeliveryWithBreaker extends ReadDelivery {
  /** Of its endpoint. */
  readonly breaker: BreakerState;
}

// A log holds the beginnings of responses: with the default sizes 40 KB after ten failed attempts. This many
// logs are read and parsed before other work runs.
const LOGS_AT_ONCE = 25;

/**
 * An endpoint's list of deliveries and each delivery's log. Both have the endpoint's hash tag. A delivery
 * that is pending and was never tried consists of its entry in the list only.
 */
export class DeliveryStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly retention: Retention,
    private readonly onPruned: (
      accountId: AccountId,
      pruned: readonly Pruned[],
      endpointId: EndpointId,
    ) => void = () => {},
    /** In which lines are written. */
    private readonly form: RecordForm = 'current',
    private readonly clock: Clock = systemClock,
  ) {}

  /**
   * Read everything that an attempt needs, in one command: the breaker of its endpoint has the same hash tag.
   */
  async readWithBreaker({ endpointId, eventId }: DeliveryParts): Promise<DeliveryWithBreaker> {
    const [log, breaker] = await this.redis.mget(
      keys.delivery(endpointId, eventId),
      keys.breaker(endpointId),
    );
    return this.decodeWithBreaker(log ?? null, breaker ?? null);
  }

  /** The same from the stored texts. */
  decodeWithBreaker(log: string | null, breaker: string | null): DeliveryWithBreaker {
    return { ...readDelivery(log), breaker: decodeBreaker(breaker) };
  }

  /** How long the log of a delivery is now. */
  lengthOf({ endpointId, eventId }: DeliveryParts): Step<LogLength> {
    return lengthOfLog({ endpoint: endpointId, event: eventId });
  }

  async readWithLength(endpointId: EndpointId, eventId: EventId): Promise<ReadDelivery> {
    return readDelivery(await this.redis.get(keys.delivery(endpointId, eventId)));
  }

  async readEachWithLength(deliveries: readonly DeliveryParts[]): Promise<readonly ReadDelivery[]> {
    return (await this.readLogs(deliveries)).map((log) => readDelivery(log === '' ? null : log));
  }

  /** Read a delivery, and find an attempt in its log that may have been recorded. */
  async readWithAttempt(
    { endpointId, eventId }: DeliveryParts,
    attempt: Attempt,
    round: number,
  ): Promise<ReadDelivery & { readonly found: FoundAttempt | undefined }> {
    const log = await this.redis.get(keys.delivery(endpointId, eventId));
    return { ...readDelivery(log), found: findAttempt(log ?? '', attempt, round) };
  }

  /** Whether a delivery has moved to the history a moment ago: its log gets nothing any more. */
  async hasLapsed({ endpointId, eventId }: DeliveryParts): Promise<boolean> {
    return await hasLapsed({ endpoint: endpointId, event: eventId })(this.redis);
  }

  /** The logs of deliveries, in their order: '' if there is none. */
  async readLogs(deliveries: readonly DeliveryParts[]): Promise<readonly string[]> {
    const places = new Map<EndpointId, number[]>();
    for (const [i, { endpointId }] of deliveries.entries()) {
      const known = places.get(endpointId);
      if (known) known.push(i);
      else places.set(endpointId, [i]);
    }
    const logs = deliveries.map(() => '');
    const reading = [...places].map(async ([endpointId, some]) => {
      // An endpoint's logs have its hash tag.
      const names = some.map((i) => keys.delivery(endpointId, (deliveries[i] as DeliveryParts).eventId));
      const found = await this.redis.mget(names);
      for (const [j, i] of some.entries()) logs[i] = found[j] ?? '';
    });
    await Promise.all(reading);
    return logs;
  }

  /** Put events into the lists of their endpoints. Idempotent. */
  enlistAll(lists: readonly NewDeliveries[]): Step {
    return together(groupsByCommand(this.redis, lists).map((group) => this.#enlistGroup(group)));
  }

  #enlistGroup(lists: readonly NewDeliveries[]): Step<void> {
    const additions = lists.map(({ endpointId, marks }) => ({
      index: keys.deliveries(endpointId),
      entries: marks,
    }));
    return mapReply(addToEach(additions, this.retention), (pruned) => {
      for (const [i, { accountId, endpointId }] of lists.entries()) {
        const some = pruned[i] ?? [];
        if (accountId !== undefined && some.length > 0) this.onPruned(accountId, some, endpointId);
      }
    });
  }

  /** Show a delivery in its endpoint's list for its RETENTION again, from now on, however old its event is. Idempotent. */
  async keepListed(endpointId: EndpointId, mark: EventMark): Promise<void> {
    await keepListed(keys.deliveries(endpointId), mark, this.retention.ageMs)(this.redis);
  }

  /** Read the state of a delivery. `undefined`: it has no log, and is not in the list. */
  async readIfAny(parts: DeliveryParts): Promise<DeliveryState | undefined> {
    const { text, createdAt } = await this.#see(parts);
    if (text === undefined && createdAt === undefined) return undefined;
    return { ...readLog(text ?? ''), isForgotten: this.#isForgotten(text, createdAt) };
  }

  async append({ endpointId, eventId }: DeliveryParts, fact: DeliveryFact): Promise<void> {
    const [line, shortLine] = linesToAppend(fact, this.form);
    const { ageMs: keptMs } = this.retention;
    await append({ endpoint: endpointId, event: eventId, line, shortLine, keptMs })(this.redis);
  }

  /** Give whether it was appended: not if another line was appended since the log was read, nor if it has moved. */
  async appendIfUnchanged(delivery: DeliveryParts, fact: DeliveryFact, length: LogLength): Promise<boolean> {
    return (await this.appendToUnchanged([{ delivery, length }], fact)).length > 0;
  }

  /** The same fact, for deliveries of one endpoint. Gives those to whose logs it was appended, by their places. */
  async appendToUnchanged(
    read: readonly { readonly delivery: DeliveryParts; readonly length: LogLength }[],
    fact: DeliveryFact,
  ): Promise<readonly number[]> {
    if (read.length === 0) return [];
    const [line, shortLine] = linesToAppend(fact, this.form);
    const { ageMs: keptMs } = this.retention;
    const logs = read.map(({ delivery: { endpointId, eventId } }) => keys.delivery(endpointId, eventId));
    const lengths = read.map(({ length }) => length);
    const places = await appendIfUnchanged({ logs, lengths, line, shortLine, keptMs })(this.redis);
    return places.map((place) => place - 1);
  }

  /**
   * Begin the log of a delivery: only of one that its endpoint's list has, as one of which nothing is left has neither.
   *
   * @returns `changed`: it has a log.
   */
  async appendIfListed(
    { endpointId, eventId }: DeliveryParts,
    fact: DeliveryFact,
  ): Promise<'appended' | 'changed' | 'not_listed'> {
    return await appendIfListed({
      endpoint: endpointId,
      event: eventId,
      line: encodeFactIn(this.form, fact),
      keptMs: this.retention.ageMs,
    })(this.redis);
  }

  /**
   * Append what was made of the event, before it is sent.
   *
   * @param mustBeListed a delivery without a log and in no list may be gone: it stays without.
   * @returns the new length; `undefined`: nothing was appended, since another line was appended since the log was
   *   read, the payload was erased, or it is gone.
   */
  async appendTransformed(
    { endpointId, eventId }: DeliveryParts,
    fact: Extract<DeliveryFact, { kind: 'transformed' | 'reused' }>,
    length: LogLength,
    mustBeListed: boolean,
  ): Promise<LogLength | undefined> {
    const newLength = await appendBeforeSending({
      endpoint: endpointId,
      event: eventId,
      length,
      line: encodeFactIn(this.form, fact),
      keptMs: this.retention.ageMs,
      mustBeListed,
    })(this.redis);
    return newLength || undefined;
  }

  /**
   * Remove the receiver's responses, and keep later ones out of the log. Idempotent.
   *
   * @param mayHaveMoved a delivery without a log and in no list is in the history: it stays without.
   */
  async eraseAnswersOf(
    { endpointId, eventId }: DeliveryParts,
    erasedAt: number,
    { mayHaveMoved = false } = {},
  ): Promise<void> {
    for (let isDone = false; !isDone; ) {
      const log = (await this.redis.get(keys.delivery(endpointId, eventId))) ?? '';
      isDone = await replaceIfUnchanged({
        endpoint: endpointId,
        event: eventId,
        expected: log,
        text: eraseAnswers(log, erasedAt),
        keptMs: this.retention.ageMs,
        mustBeListed: mayHaveMoved,
      })(this.redis);
    }
  }

  async find(parts: DeliveryParts): Promise<RecordedDelivery | undefined> {
    const { text, createdAt } = await this.#see(parts);
    if (createdAt === undefined) return undefined;
    const isForgotten = this.#isForgotten(text, createdAt);
    return { eventId: parts.eventId, createdAt, ...readLog(text ?? ''), isForgotten };
  }

  /** Newest first. `before` is the last delivery of the page before. */
  async list(
    endpointId: EndpointId,
    limit: number,
    before?: DeliveryCursor,
    { attempts, ...range }: TimeRange & { readonly attempts?: AttemptFilter | undefined } = {},
  ): Promise<DeliveryPage> {
    const { marks, nextCursor } = await readIndex(
      this.redis,
      keys.deliveries(endpointId),
      limit,
      range,
      before,
    );
    return { deliveries: await this.readListed(endpointId, marks, attempts), nextCursor };
  }

  /**
   * The states of an endpoint's deliveries, in the same order. It does not check that they are in its list.
   *
   * @param attempts which ones to count.
   */
  async readListed(
    endpointId: EndpointId,
    marks: readonly EventMark[],
    attempts?: AttemptFilter,
  ): Promise<readonly ListedDelivery[]> {
    const deliveries: ListedDelivery[] = [];
    for (const some of chunksOf(marks, LOGS_AT_ONCE)) {
      deliveries.push(...(await this.#readSome(endpointId, some, attempts)));
    }
    return deliveries;
  }

  /** Deliveries whose events were accepted in a span of time, oldest first. */
  async listFrom(endpointId: EndpointId, range: TimeRange, limit: number, after?: Mark) {
    const order = 'oldest_first';
    return await readTimeline(this.redis, keys.deliveries(endpointId), { order, range, limit, after });
  }

  /** Forget an endpoint's list. The logs expire. */
  async removeAll(endpointId: EndpointId): Promise<void> {
    await this.redis.unlink(keys.deliveries(endpointId));
  }

  async #see({ endpointId, eventId }: DeliveryParts): Promise<SeeDeliveryReply> {
    return await seeDelivery({ endpoint: endpointId, event: eventId })(this.redis);
  }

  async #readSome(
    endpointId: EndpointId,
    marks: readonly EventMark[],
    attempts: AttemptFilter | undefined,
  ): Promise<readonly ListedDelivery[]> {
    const logs = await this.redis.mget(marks.map(({ eventId }) => keys.delivery(endpointId, eventId)));
    return marks.map((mark, i) => {
      const log = logs[i] ?? '';
      const isForgotten = this.#isForgotten(log, mark.createdAt);
      return listedOf(mark, readSummary(log), attempts && countAttempts(log, attempts), isForgotten);
    });
  }

  // A list, or its event, may stay for longer than its log, as others are shown for longer.
  #isForgotten(log: string | undefined, createdAt: number | undefined): true | undefined {
    if (log || createdAt === undefined) return undefined;
    return createdAt + this.retention.ageMs < this.clock() || undefined;
  }
}

function readDelivery(log: string | null | undefined): ReadDelivery {
  if (log == null) return { state: NOTHING_HAPPENED, length: 0 };
  return { state: readLog(log), length: Buffer.byteLength(log) };
}

// Copy member by member: a page needs hundreds, and a spread costs ten times as much.
function listedOf(
  { eventId, createdAt }: EventMark,
  {
    status,
    attemptCount,
    lastResponseStatus,
    lastOutcome,
    nextAttemptAt,
    eventType,
    isOpen,
  }: DeliverySummary,
  matchingAttempts: number | undefined,
  isForgotten: true | undefined,
): ListedDelivery {
  return {
    eventId,
    createdAt,
    status,
    attemptCount,
    lastResponseStatus,
    lastOutcome,
    nextAttemptAt,
    eventType,
    isOpen,
    matchingAttempts,
    isForgotten,
  };
}
