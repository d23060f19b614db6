import type { Attempt, AttemptOutcome } from '../../domain/attempt';
import type { Endpoint, EndpointId } from '../../domain/endpoint';
import { createLru } from '../../platform/caches';
import type { Slot, Slots } from './slots';
import { Waiters } from './waiters';

/** The members of an attempt that its endpoint's limit learns from. */
type EndedAttempt = Pick<Attempt, 'outcome' | 'durationMs'>;

/** The permit of a running attempt at its endpoint. */
export interface Permit {
  readonly endpointId: EndpointId;
  readonly slot: Slot;
  /** Whether nothing was known about its endpoint when it began. */
  readonly isUnknown: boolean;
  /** Whether it takes one of the slots that such endpoints share. */
  readonly isOfUnknown: boolean;
  /** Whether its endpoint had used its share when it began. */
  readonly isBeyondShare: boolean;
  /** Whether it waited until another attempt of its endpoint was over. */
  readonly wasAwaited: boolean;
}

/** Why there is no permit: its endpoint has reached its limit, or no slot of its kind is free. */
export type NoPermit = 'endpoint_full' | 'no_slot';

export interface ConcurrencyOptions {
  readonly slots: Slots;
  /** Called when a slot is free again for endpoints that found none. */
  readonly onSlotFree: () => void;
  /**
   * How many attempts one endpoint may have running however busy the process is; fewer while the process is
   * late.
   */
  readonly sharePerEndpoint: number;
  /** How many it may have while no other endpoint needs them. */
  readonly maxPerEndpoint: number;
  /** How many attempts at unknown endpoints may be running, all together. */
  readonly maxUnknown: number;
  /**
   * When no permit of an endpoint has become free for this long, its waiting deliveries are held.
   * Milliseconds.
   */
  readonly patienceMs: number;
}

/** How many attempts an endpoint may have running, and how many it has. */
export interface EndpointLimit {
  readonly limit: number;
  readonly underWay: number;
}

/** An endpoint's attempts in this process: the limit, the running ones, and those that wait for a permit. */
interface Limit {
  /** What its last attempt has left, so that each attempt looks for it once. */
  known: Known | undefined;
  size: number;
  /** The endpoint's own setting. */
  bound: number;
  underWay: number;
  readonly waiting: Waiters;
  /**
   * How long successful attempts take, smoothed: within the endpoint's share, and beyond it. Milliseconds.
   */
  usualMs: number | undefined;
  crowdedMs: number | undefined;
  /** Its quickest recent response: its own time, without the effect of this product's load. Milliseconds. */
  bestMs: number | undefined;
}

/** The facts kept about an endpoint without running attempts. */
interface Known {
  /** How long its last attempt took; an abandoned one counts as endless. Milliseconds. */
  readonly lastMs: number;
  /** How many attempts it may have running at the start. */
  readonly size: number;
  /** How long successful attempts take within its share. Milliseconds. */
  readonly usualMs: number | undefined;
  readonly bestMs: number | undefined;
  readonly bound: number;
}

// Few for an unknown endpoint, so that many that hang leave slots to the others. Each success doubles it.
const FIRST_SIZE = 2;
/** For an endpoint whose last attempt failed. */
const MIN_SIZE = 1;
// An idle endpoint keeps up to this much of its size. Without it, an endpoint with light traffic would grow
// from the start each time, and wait while it does. Few enough that hundreds of endpoints that hang when they
// are needed again find room.
const IDLE_SIZE = 8;

// Beyond its share, an endpoint grows by two at a time, so that it stops where others begin to need the
// slots.
const STEP_BEYOND_SHARE = 2;
// A response counts a sixteenth: a receiver's usual variation is no change.
const SMOOTHING = 1 / 16;
// A receiver may become this much slower when it gets more than its share at once. If it becomes slower
// still, it has enough.
const TOLERATED_SLOWDOWN = 1.5;
const TOLERATED_MS = 10;
// A receiver that takes at least this long at its best does not load the processor, however many attempts it
// has running. For a quicker one its share allows more than a thousand attempts a second: beyond it, attempts
// would only wait for the processor.
const PATIENT_MS = 50;
// After some hundred responses, a receiver that has become slower for good is known to be slow.
const FORGET_BEST = 1 / 128;
// The expected wait at an endpoint whose pace is not known.
const UNKNOWN_MS = 20;

/**
 * Well above the time of a receiver that accepts first and works afterwards; well below any usual time-out.
 */
export const SLOW_MS = 5_000;
const TIMEOUTS: readonly AttemptOutcome[] = ['connect_timeout', 'response_timeout'];

// A forgotten endpoint is unknown again, as every endpoint is to a new worker.
const REMEMBERED_ENDPOINTS = 50_000;

/**
 * Keeps one endpoint from taking the slots of all others, by memory alone. An endpoint may have a few
 * attempts running, more with each success and fewer with each failure, up to its share. A slow receiver gets
 * idle slots beyond its share, as long as it responds as fast as before. Deliveries that would have to wait
 * for longer than a moment are held.
 *
 * Endpoints whose last attempt here was slow begin among the slow attempts, and so do unknown ones beyond
 * their share.
 */
export class Concurrency {
  readonly #limits = new Map<EndpointId, Limit>();
  readonly #known = createLru<EndpointId, Known>(REMEMBERED_ENDPOINTS);
  #unknownEndpoints = 0;

  constructor(private readonly options: ConcurrencyOptions) {}

  /**
   * Give a permit for one attempt, or the reason why none is free without a long wait. `releasePermit` gives
   * it back.
   *
   * @param endpoint its id, and its own bound.
   * @param isFailing whether the endpoint's last attempt failed, at any worker: an unknown endpoint that
   *   fails counts as slow until it has shown otherwise.
   * @param wasHeld whether this delivery was held before: then it comes before new ones.
   */
  async takePermit(
    { id: endpointId, maxConcurrency }: Pick<Endpoint, 'id' | 'maxConcurrency'>,
    isFailing: boolean,
    wasHeld: boolean,
  ): Promise<Permit | NoPermit> {
    const limit = this.#limitOf(endpointId);
    limit.bound = maxConcurrency ?? Number.POSITIVE_INFINITY;
    const lastMs = limit.known?.lastMs ?? (isFailing ? Number.POSITIVE_INFINITY : undefined);
    const wasAwaited = !this.#enterAtOnce(limit, isFailing);
    if (wasAwaited && !(await this.#enterLater(limit, lastMs, wasHeld))) return 'endpoint_full';
    const permit = this.#takeSlot(endpointId, lastMs, wasAwaited);
    if (!permit) this.#free(endpointId, undefined);
    return permit ?? 'no_slot';
  }

  /** @param attempt its result; absent if it had none. */
  releasePermit(
    { endpointId, slot, isOfUnknown, isBeyondShare }: Permit,
    attempt: EndedAttempt | undefined,
  ): void {
    if (isOfUnknown) this.#unknownEndpoints -= 1;
    this.options.slots.leave(slot);
    const limit = this.#free(endpointId, attempt, isBeyondShare);
    // Only the pace counts here: a receiver that refuses at once holds no slot.
    if (attempt) {
      const { size, usualMs, bestMs, bound } = limit;
      const lastMs = paceOf(attempt);
      limit.known = { lastMs, size: idleSizeOf(attempt, size), usualMs, bestMs, bound };
      this.#known.set(endpointId, limit.known);
    }
    if (isOfUnknown || slot.isSlow) this.options.onSlotFree();
  }

  /** How many more attempts at an endpoint may begin now, or will get a permit within a moment. */
  freePermits(endpointId: EndpointId): number {
    const lastMs = this.#lastMsOf(endpointId);
    if (!this.#hasSlotFor(lastMs)) return 0;
    const limit = this.#limitOf(endpointId);
    const free = this.#mostOf(limit) - limit.underWay;
    // Half of those that may wait: a released delivery needs a moment to get here, and no permit must be idle
    // meanwhile.
    const permits = free + Math.floor(this.#mostWaiting(limit, lastMs) / 2) - limit.waiting.length;
    this.#forgetIdle(endpointId, limit);
    return Math.max(permits, 0);
  }

  /** How many attempts an endpoint may have running at the moment; `undefined`: it is unknown here. */
  limitOf(endpointId: EndpointId): number | undefined {
    return this.#limits.get(endpointId)?.size ?? this.#known.get(endpointId)?.size;
  }

  /** The limits of the endpoints with running attempts, and the number of these. */
  limits(): readonly EndpointLimit[] {
    return Array.from(this.#limits.values(), ({ size, bound, underWay }) => ({
      limit: Math.min(size, bound),
      underWay,
    }));
  }

  /** Whether the endpoint's last attempt here was a slow one. */
  isSlow(endpointId: EndpointId): boolean {
    return (this.#lastMsOf(endpointId) ?? 0) > SLOW_MS;
  }

  #takeSlot(endpointId: EndpointId, lastMs: number | undefined, wasAwaited: boolean): Permit | undefined {
    if (!this.#hasSlotFor(lastMs)) return undefined;
    const isUnknown = lastMs === undefined;
    const isOfUnknown = isUnknown && this.#hasRoomForUnknown;
    if (isOfUnknown) this.#unknownEndpoints += 1;
    const isSlow = isUnknown ? !isOfUnknown : lastMs > SLOW_MS;
    const limit = this.#limitOf(endpointId);
    const pace = isSlow ? 'slow' : isPatient(limit) ? 'patient' : 'quick';
    const isBeyondShare = limit.underWay > this.options.sharePerEndpoint;
    const slot = this.options.slots.take(pace);
    return { endpointId, slot, isUnknown, isOfUnknown, isBeyondShare, wasAwaited };
  }

  #hasSlotFor(lastMs: number | undefined): boolean {
    const isAmongQuick = lastMs === undefined ? this.#hasRoomForUnknown : lastMs <= SLOW_MS;
    return isAmongQuick || this.options.slots.hasRoomForSlow;
  }

  get #hasRoomForUnknown(): boolean {
    return this.#unknownEndpoints < this.options.maxUnknown;
  }

  /** How many may be running at the moment. */
  #mostOf(limit: Limit): number {
    const { size, bound, underWay } = limit;
    const { sharePerEndpoint, slots } = this.options;
    if (!isPatient(limit)) {
      return Math.min(size, bound, Math.max(Math.floor(sharePerEndpoint * slots.pace), 1));
    }
    const { spare } = slots;
    const idle = spare > 0 ? underWay + Math.min(spare, STEP_BEYOND_SHARE) : 0;
    return Math.min(size, bound, Math.max(sharePerEndpoint, idle));
  }

  /**
   * How many may wait: as many as will finish within the patience. More would only be in the way of others.
   */
  #mostWaiting(limit: Limit, lastMs = UNKNOWN_MS): number {
    const times = this.options.patienceMs / Math.max(lastMs, 1);
    return Math.floor(this.#mostOf(limit) * times);
  }

  #enterAtOnce(limit: Limit, isFailing: boolean): boolean {
    if (isFailing && limit.underWay === 0) limit.size = MIN_SIZE;
    if (limit.underWay >= this.#mostOf(limit)) return false;
    limit.underWay += 1;
    return true;
  }

  async #enterLater(limit: Limit, lastMs: number | undefined, wasHeld: boolean): Promise<boolean> {
    // Holding a delivery again costs more than a longer wait.
    const most = this.#mostWaiting(limit, lastMs) * (wasHeld ? 2 : 1);
    if (limit.waiting.length >= most) return false;
    return await limit.waiting.join(wasHeld && lastMs !== undefined);
  }

  #free(endpointId: EndpointId, attempt: EndedAttempt | undefined, isBeyondShare = false): Limit {
    const limit = this.#limitOf(endpointId);
    this.#learn(limit, attempt, isBeyondShare);
    limit.underWay -= 1;
    const most = this.#mostOf(limit);
    while (limit.underWay < most && limit.waiting.move()) limit.underWay += 1;
    this.#forgetIdle(endpointId, limit);
    return limit;
  }

  // Memory is only for running attempts.
  #forgetIdle(endpointId: EndpointId, { underWay, waiting }: Limit): void {
    if (underWay === 0 && waiting.length === 0) this.#limits.delete(endpointId);
  }

  /** Adapt the limit to the result of an attempt. */
  #learn(limit: Limit, attempt: EndedAttempt | undefined, isBeyondShare: boolean): void {
    const { sharePerEndpoint: share, maxPerEndpoint, slots } = this.options;
    if (!attempt) return;
    if (attempt.outcome !== 'delivered') {
      limit.size = Math.max(Math.floor(limit.size / 2), MIN_SIZE);
      return;
    }
    limit.bestMs = bestOf(limit.bestMs, attempt.durationMs, slots.pace < 1);
    if (isBeyondShare) limit.crowdedMs = smoothed(limit.crowdedMs, attempt.durationMs);
    else limit.usualMs = smoothed(limit.usualMs, attempt.durationMs);
    if (limit.size < share) limit.size = Math.min(limit.size * 2, share);
    else if (!isCrowded(limit)) limit.size = Math.min(limit.size + 1, maxPerEndpoint);
    else {
      limit.size = Math.max(Math.floor(limit.size / 2), share);
      limit.crowdedMs = undefined;
    }
  }

  #limitOf(endpointId: EndpointId): Limit {
    const known = this.#limits.get(endpointId);
    if (known) return known;
    const last = this.#known.get(endpointId);
    const { size = FIRST_SIZE, bound, usualMs, bestMs } = last ?? {};
    const limit: Limit = {
      known: last,
      size: Math.min(size, this.options.sharePerEndpoint),
      bound: bound ?? Number.POSITIVE_INFINITY,
      underWay: 0,
      waiting: new Waiters(this.options.patienceMs),
      usualMs,
      crowdedMs: undefined,
      bestMs,
    };
    this.#limits.set(endpointId, limit);
    return limit;
  }

  #lastMsOf(endpointId: EndpointId): number | undefined {
    return this.#known.get(endpointId)?.lastMs;
  }
}

function isPatient({ known }: Limit): boolean {
  return (known?.bestMs ?? 0) >= PATIENT_MS;
}

function smoothed(beforeMs: number | undefined, lastMs: number, weight = SMOOTHING): number {
  return beforeMs === undefined ? lastMs : beforeMs + (lastMs - beforeMs) * weight;
}

/**
 * A first response may have waited for this process, and so may every response while the process is late. These alone do
 * not count as slow.
 */
function bestOf(beforeMs: number | undefined, lastMs: number, isLate: boolean): number {
  if (beforeMs === undefined) return Math.min(lastMs, PATIENT_MS - 1);
  return Math.min(isLate ? beforeMs : smoothed(beforeMs, lastMs, FORGET_BEST), lastMs);
}

/** Whether a receiver has become slower because it gets more at once. */
function isCrowded({ usualMs, crowdedMs }: Limit): boolean {
  if (usualMs === undefined || crowdedMs === undefined) return false;
  return crowdedMs > usualMs * TOLERATED_SLOWDOWN + TOLERATED_MS;
}

function paceOf({ outcome, durationMs }: EndedAttempt): number {
  return TIMEOUTS.includes(outcome) ? Number.POSITIVE_INFINITY : durationMs;
}

function idleSizeOf({ outcome }: Pick<Attempt, 'outcome'>, size: number): number {
  return outcome === 'delivered' ? Math.min(size, IDLE_SIZE) : FIRST_SIZE;
}
