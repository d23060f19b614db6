import { createLru } from '../kernel/lru';
import type { Attempt, AttemptOutcome } from '../model/attempt';
import type { EndpointId } from '../model/endpoint';
import { SLOW_AFTER_MS, type Slot, type Slots } from './slots';
import { WaitingLine } from './waiting-line';

/** How an attempt ended for its endpoint; `unused`: nothing is known of the receiver by it. */
type PlaceUse = 'succeeded' | 'failed' | 'unused';

/** What an attempt holds at its endpoint while it is under way. */
export interface Place {
  readonly endpointId: EndpointId;
  readonly slot: Slot;
  /** Whether nothing was known of its endpoint when it began. */
  readonly isStranger: boolean;
  /** Whether it takes one of the slots that such endpoints share. */
  readonly isOfStrangers: boolean;
}

/** Why there is no place: its endpoint has as many as it may, or there is no slot for one like it. */
export type NoPlace = 'endpoint_full' | 'no_slot';

export interface ConcurrencyOptions {
  readonly slots: Slots;
  /** Told when a slot is free again for those that find none. */
  readonly onSlotFree: () => void;
  /** The most attempts that one endpoint may have under way; fewer while the process is late. */
  readonly maxPerEndpoint: number;
  /** How many attempts at endpoints that nothing is known of may be under way, all together. */
  readonly maxStrangers: number;
  /** When no place of an endpoint has come free for so long, those that wait for one are to be held. Milliseconds. */
  readonly patienceMs: number;
}

/** How many attempts an endpoint may have under way, and how many are. */
export interface EndpointLimit {
  readonly limit: number;
  readonly underWay: number;
}

/** An endpoint's attempts of this process: how many may be under way, how many are, and which wait for a place. */
interface Limit {
  size: number;
  underWay: number;
  readonly waiting: WaitingLine;
}

/** What stays known of an endpoint with nothing under way. */
interface Known {
  /** How long its last attempt took; one that was given up counts as endless. Milliseconds. */
  readonly lastMs: number;
  /** How many it may have under way to begin with. */
  readonly size: number;
}

// Little for a stranger, so that many of them that hang leave slots to the others; twice as much after each success.
const FIRST_SIZE = 2;
/** For an endpoint whose last attempt failed. */
const MIN_SIZE = 1;
// Of what an endpoint has grown to, this much is left to it when it is idle. Without it, one with light traffic would grow
// from the start each time, and wait while it does. Few enough that hundreds that hang when they are needed again find room.
const IDLE_SIZE = 8;

/** Well above what a receiver that accepts first and works afterwards takes; well below any usual time-out. */
export const SLOW_MS = 5_000;
const TIMEOUTS: readonly AttemptOutcome[] = ['connect_timeout', 'response_timeout'];

// Those that are not remembered any more are strangers again, which is what they are to every new worker.
const REMEMBERED_ENDPOINTS = 50_000;

/**
 * Keeps one endpoint from taking the slots of all others, by memory alone: it may have a few attempts under way, more with
 * each success and fewer with each failure. A healthy endpoint hardly notices, since its places come free within
 * milliseconds. What would have to wait for longer is to be held.
 *
 * Endpoints whose last attempt here was slow begin among the slow attempts, and so do strangers beyond their share.
 */
export class Concurrency {
  readonly #limits = new Map<EndpointId, Limit>();
  readonly #known = createLru<EndpointId, Known>(REMEMBERED_ENDPOINTS);
  #strangers = 0;

  constructor(private readonly options: ConcurrencyOptions) {}

  /**
   * A place for one attempt, or why there is none for it without waiting for long. Whoever got one has to `leave`.
   *
   * @param isFailing whether the endpoint's last attempt failed, be it another worker's: a stranger that fails is taken
   *   for slow until it has shown otherwise.
   * @param wasHeld whether this delivery was held before: then it is before those that come for the first time.
   */
  async enter(endpointId: EndpointId, isFailing: boolean, wasHeld: boolean): Promise<Place | NoPlace> {
    const lastMs = this.#lastMsOf(endpointId) ?? (isFailing ? Number.POSITIVE_INFINITY : undefined);
    // One that takes long will hardly free a place before patience is over; until then it would only cost a slot.
    const isWorthWaiting = lastMs === undefined || lastMs <= SLOW_AFTER_MS;
    const hasEntered =
      this.#enterAtOnce(endpointId, isFailing) ||
      (isWorthWaiting && (await this.#limitOf(endpointId).waiting.join(wasHeld && lastMs !== undefined)));
    if (!hasEntered) return 'endpoint_full';
    const place = this.#takeSlot(endpointId, lastMs);
    if (!place) this.#free(endpointId, 'unused');
    return place ?? 'no_slot';
  }

  /** @param attempt what came of it; none if nothing did. */
  leave(
    { endpointId, slot, isOfStrangers }: Place,
    attempt: Pick<Attempt, 'outcome' | 'durationMs'> | undefined,
  ): void {
    if (isOfStrangers) this.#strangers -= 1;
    this.options.slots.leave(slot);
    const size = this.#free(endpointId, useOf(attempt));
    // Pace is all that counts here: a receiver that refuses at once holds no slot.
    if (attempt) this.#known.set(endpointId, { lastMs: paceOf(attempt), size: idleSizeOf(attempt, size) });
    if (isOfStrangers || slot.isSlow) this.options.onSlotFree();
  }

  /** How many more may begin at an endpoint now. */
  freePlaces(endpointId: EndpointId): number {
    if (!this.#hasSlotFor(this.#lastMsOf(endpointId))) return 0;
    const limit = this.#limits.get(endpointId);
    if (!limit) return this.#mostOf(endpointId, this.#firstSizeOf(endpointId));
    return Math.max(this.#mostOf(endpointId, limit.size) - limit.underWay - limit.waiting.length, 0);
  }

  /** How many attempts an endpoint may have under way at the moment; `undefined`: nothing is known of it here. */
  limitOf(endpointId: EndpointId): number | undefined {
    return this.#limits.get(endpointId)?.size ?? this.#known.get(endpointId)?.size;
  }

  /** The limits of the endpoints that have attempts under way, and how many they have. */
  limits(): readonly EndpointLimit[] {
    return Array.from(this.#limits.values(), ({ size, underWay }) => ({ limit: size, underWay }));
  }

  /** Whether the last attempt here at the endpoint was a slow one. */
  isSlow(endpointId: EndpointId): boolean {
    return (this.#lastMsOf(endpointId) ?? 0) > SLOW_MS;
  }

  #takeSlot(endpointId: EndpointId, lastMs: number | undefined): Place | undefined {
    if (!this.#hasSlotFor(lastMs)) return undefined;
    const isStranger = lastMs === undefined;
    const isOfStrangers = isStranger && this.#hasRoomForStrangers;
    if (isOfStrangers) this.#strangers += 1;
    const isSlow = isStranger ? !isOfStrangers : lastMs > SLOW_MS;
    return { endpointId, slot: this.options.slots.take(isSlow), isStranger, isOfStrangers };
  }

  #hasSlotFor(lastMs: number | undefined): boolean {
    const isAmongQuick = lastMs === undefined ? this.#hasRoomForStrangers : lastMs <= SLOW_MS;
    return isAmongQuick || this.options.slots.hasRoomForSlow;
  }

  get #hasRoomForStrangers(): boolean {
    return this.#strangers < this.options.maxStrangers;
  }

  /** How many of `size` may be under way at the moment. What a receiver takes its time for keeps no processor busy. */
  #mostOf(endpointId: EndpointId, size: number): number {
    const { maxPerEndpoint, slots } = this.options;
    const isSlow = (this.#lastMsOf(endpointId) ?? 0) > SLOW_AFTER_MS;
    return Math.min(size, isSlow ? maxPerEndpoint : Math.max(Math.floor(maxPerEndpoint * slots.pace), 1));
  }

  #enterAtOnce(endpointId: EndpointId, isFailing: boolean): boolean {
    const limit = this.#limitOf(endpointId);
    if (isFailing && limit.underWay === 0) limit.size = MIN_SIZE;
    if (limit.underWay >= this.#mostOf(endpointId, limit.size)) return false;
    limit.underWay += 1;
    return true;
  }

  /** @returns how many may be under way from now on. */
  #free(endpointId: EndpointId, use: PlaceUse): number {
    const limit = this.#limitOf(endpointId);
    limit.underWay -= 1;
    limit.size = this.#sizeAfter(use, limit.size);
    const most = this.#mostOf(endpointId, limit.size);
    while (limit.underWay < most && limit.waiting.move()) limit.underWay += 1;
    // Forgotten when idle: memory is for what is under way.
    if (limit.underWay === 0) this.#limits.delete(endpointId);
    return limit.size;
  }

  #limitOf(endpointId: EndpointId): Limit {
    const known = this.#limits.get(endpointId);
    if (known) return known;
    const size = this.#firstSizeOf(endpointId);
    const limit: Limit = { size, underWay: 0, waiting: new WaitingLine(this.options.patienceMs) };
    this.#limits.set(endpointId, limit);
    return limit;
  }

  #firstSizeOf(endpointId: EndpointId): number {
    return Math.min(this.#known.get(endpointId)?.size ?? FIRST_SIZE, this.options.maxPerEndpoint);
  }

  #lastMsOf(endpointId: EndpointId): number | undefined {
    return this.#known.get(endpointId)?.lastMs;
  }

  #sizeAfter(use: PlaceUse, size: number): number {
    switch (use) {
      case 'succeeded':
        return Math.min(size * 2, this.options.maxPerEndpoint);
      case 'failed':
        return Math.max(Math.floor(size / 2), MIN_SIZE);
      case 'unused':
        return size;
    }
  }
}

function paceOf({ outcome, durationMs }: Pick<Attempt, 'outcome' | 'durationMs'>): number {
  return TIMEOUTS.includes(outcome) ? Number.POSITIVE_INFINITY : durationMs;
}

function idleSizeOf({ outcome }: Pick<Attempt, 'outcome'>, size: number): number {
  return outcome === 'delivered' ? Math.min(size, IDLE_SIZE) : FIRST_SIZE;
}

function useOf(attempt: Pick<Attempt, 'outcome'> | undefined): PlaceUse {
  if (!attempt) return 'unused';
  return attempt.outcome === 'delivered' ? 'succeeded' : 'failed';
}
