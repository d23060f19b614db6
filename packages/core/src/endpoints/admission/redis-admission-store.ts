import { type BreakerState, decodeBreaker, decodeFailingSince } from '../../domain/breaker';
import { type EndpointId, type LaneName, orderOfLane } from '../../domain/endpoint';
import type { EventId } from '../../domain/event';
import { keys } from '../../domain/keys';
import { chunksOf } from '../../platform/batches';
import { mapReply } from '../../platform/redis-atomic';
import type { RedisClient } from '../../platform/redis-connect';
import type { Guard, Step } from '../../platform/redis-lua';
import { LIMITS_KEPT_MS } from './limits';
import { type AdmitAttemptReply, admitAttempt, stand, withdrawAttempt } from './redis-admission-store.script';
import { joinOrder, leaveOrder, lookAtLanes, markReady } from './redis-lanes.script';

export interface AdmissionRequest {
  readonly eventId: EventId;
  /** When its event was accepted: its position in the order. Milliseconds since the Unix epoch. */
  readonly acceptedAt: number;
  /** The most attempts within any second. */
  readonly rateLimit: number | undefined;
  /** The key that counts the attempt. It is unique, even among attempts that repeat it after a crash. */
  readonly attemptKey: string;
  /** Longer than any attempt: after this it no longer counts, because its worker died. Milliseconds. */
  readonly leaseMs: number;
  /**
   * Whether it was held or tried before: others do not overtake deliveries that are held for the rate limit.
   */
  readonly hasWaited: boolean;
  /**
   * - `any`: the endpoint's deliveries go in any order.
   * - `look`: one at a time; check whether this is the first one in the order.
   * - `begin`: the same, and if so, it has the turn until it ends.
   */
  readonly ordering: 'any' | 'look' | 'begin';
  /** The lane in which it waits, if it does: see `laneOf`. */
  readonly lane?: string | undefined;
  /** Only the newest of its lane is sent, when the first has waited for so long. Milliseconds; 0: all are sent. */
  readonly windowMs?: number | undefined;
}

export type AdmissionAnswer =
  | { readonly kind: 'admitted'; readonly isProbe: boolean }
  | { readonly kind: 'breaker_open'; readonly openUntil: number }
  | { readonly kind: 'rate_limited'; readonly nextInMs: number }
  | {
      readonly kind: 'ordering';
      /** Whether the one that goes before it may go now. */
      readonly isSoon: boolean;
    }
  /** A newer one of its lane is sent in place of it. */
  | { readonly kind: 'superseded'; readonly by: EventId }
  /** In the window of its lane: a newer one may come until then. Milliseconds since the Unix epoch. */
  | { readonly kind: 'coalescing'; readonly until: number }
  /** For `look`: no delivery has begun, and this is the first one. */
  | { readonly kind: 'first' };

interface Ordered {
  readonly eventId: EventId;
  /** Milliseconds since the Unix epoch. */
  readonly acceptedAt: number;
}

/** A delivery in the lane that it waits in. */
export interface OrderPlace extends Ordered {
  /** Absent: that of the whole endpoint. */
  readonly lane?: string;
  /** Whether it was accepted just now: then it goes behind all others of its lane. */
  readonly isNew?: boolean | undefined;
}

/** The state of everything that may hold an endpoint's deliveries back. */
export interface Standing {
  readonly breaker: BreakerState;
  /** How many attempts the rate limit allows now, and in how many milliseconds the next one. */
  readonly rate: { readonly free: number; readonly nextInMs: number };
  /** In strict order: the delivery that has the turn, or the first one. */
  readonly next: OrderedDelivery | undefined;
  /** In strict order: whether the end of that one wakes the endpoint up, even if that had not waited itself. */
  readonly isEndAwaited: boolean;
  /** In the order within groups: held deliveries that are first in their lanes, the oldest first. */
  readonly ready: readonly EventId[];
  /** While it has no access token: until when nobody asks for one. Milliseconds since the Unix epoch. */
  readonly tokenPausedUntil?: number | undefined;
}

export interface OrderedDelivery extends Ordered {
  /** Whether it has begun. */
  readonly hasBegun: boolean;
}

const REMOVED_AT_ONCE = 500;

/** The keys that limit an endpoint's attempts, over all workers. They have the endpoint's hash tag. */
export function keysOfLimits(endpointId: EndpointId): readonly string[] {
  return [
    keys.breaker(endpointId),
    keys.recentAttempts(endpointId),
    keys.order(endpointId),
    keys.turn(endpointId),
    keys.rateWaiting(endpointId),
    keys.orderWaiting(endpointId),
  ];
}

/**
 * Admits an attempt, in one step that takes everything or nothing: the circuit breaker's probe, a share
 * of the rate limit, the turn of an endpoint with strict order, or of a group of events.
 *
 * An attempt counts for the rate limit until one second after its end. Since its request arrives before that
 * end, no second sees more arrivals than the limit, however long each request takes.
 */
export class AdmissionStore {
  constructor(private readonly redis: RedisClient) {}

  /** A guard: what comes after it runs only if it is the first one, and may begin. */
  admit(endpointId: EndpointId, request: AdmissionRequest, now: number): Guard<AdmissionAnswer> {
    const step = admitAttempt({
      endpoint: endpointId,
      now,
      event: request.eventId,
      acceptedAt: request.acceptedAt,
      ordering: request.ordering,
      rateLimit: request.rateLimit,
      attempt: request.attemptKey,
      leaseMs: request.leaseMs,
      hasWaited: request.hasWaited,
      lane: request.lane === '' ? undefined : request.lane,
      windowMs: request.windowMs ?? 0,
    });
    return mapReply(step, answerOf);
  }

  /**
   * Give back everything that an attempt was admitted with, when it was broken off and says nothing of the
   * receiver.
   */
  async withdraw(
    endpointId: EndpointId,
    { attemptKey, isProbe }: { readonly attemptKey: string | undefined; readonly isProbe: boolean },
    { failures, openUntil }: BreakerState,
    now: number,
  ): Promise<void> {
    await withdrawAttempt({
      endpoint: endpointId,
      attempt: attemptKey,
      wasProbe: isProbe,
      failures,
      openUntil,
      now,
    })(this.redis);
  }

  /** @param mostReady how many are read of those that are first in their lanes. */
  async stand(endpointId: EndpointId, rateLimit: number | undefined, mostReady = 0): Promise<Standing> {
    const found = await stand({ endpoint: endpointId, rateLimit, mostReady })(this.redis);
    const { failures, openUntil, isProbing, free = Number.POSITIVE_INFINITY } = found;
    const { nextInMs, next, acceptedAt } = found;
    return {
      breaker: { failures, openUntil, ...(isProbing && { isProbing }) },
      rate: { free, nextInMs },
      next: next === undefined ? undefined : { eventId: next, acceptedAt, hasBegun: found.hasBegun },
      isEndAwaited: found.isEndAwaited,
      ready: found.ready,
      tokenPausedUntil: found.pausedUntil === 0 ? undefined : found.pausedUntil,
    };
  }

  /** The breaker, and since when it fails, for messages to the account. */
  async readBreaker(
    endpointId: EndpointId,
  ): Promise<BreakerState & { readonly failingSince: number | undefined }> {
    const stored = await this.redis.get(keys.breaker(endpointId));
    return { ...decodeBreaker(stored), failingSince: decodeFailingSince(stored) };
  }

  /** Let the next attempt through, whatever the breaker's state was. */
  async closeBreaker(endpointId: EndpointId): Promise<void> {
    await this.redis.del(keys.breaker(endpointId));
  }

  /** Put deliveries into their lanes. Those that are in one keep their position. */
  joinOrder(endpointId: EndpointId, deliveries: readonly OrderPlace[]): Step<void> {
    if (deliveries.length === 0) return async () => {};
    return joinOrder({
      endpoint: endpointId,
      events: deliveries.map(({ eventId }) => eventId),
      acceptedAt: deliveries.map(({ acceptedAt }) => acceptedAt),
      laneOfEach: deliveries.map(({ lane = '' }) => lane),
      areNew: deliveries.map(({ isNew = false }) => isNew),
    });
  }

  /** Some in the order of deliveries that have jobs of their own, from a position in it: of those that would be in a lane. */
  async listWithJobs(
    endpointId: EndpointId,
    lane: LaneName,
    from: number,
    most: number,
  ): Promise<readonly Ordered[]> {
    const order = keys.order(endpointId) + orderOfLane(endpointId, lane);
    const flat = await this.redis.zrange(order, String(from), String(from + most - 1), 'WITHSCORES');
    return flat.flatMap((eventId, i) =>
      i % 2 === 0 ? [{ eventId: eventId as EventId, acceptedAt: Number(flat[i + 1]) }] : [],
    );
  }

  /**
   * A delivery that has ended makes room for the next one.
   *
   * @returns whether others of its group may begin now.
   */
  leaveOrder(endpointId: EndpointId, eventId: EventId): Step<boolean> {
    return leaveOrder({ endpoint: endpointId, event: eventId });
  }

  /** A delivery is held. If no other one of its lane goes before it, it may go as soon as any may. */
  async markReady(endpointId: EndpointId, { eventId, acceptedAt }: Omit<OrderPlace, 'lane'>): Promise<void> {
    await markReady({ endpoint: endpointId, event: eventId, acceptedAt })(this.redis);
  }

  /**
   * Look at some lanes, each time at the next ones, and seldom: who may go in each is ready from then on.
   *
   * @returns these, and the events that have the turn in theirs: their deliveries should have jobs, or be held.
   */
  async lookAtLanes(endpointId: EndpointId): Promise<readonly EventId[]> {
    return await lookAtLanes({ endpoint: endpointId })(this.redis);
  }

  /** Other windows are in force now. */
  async clearCoalescing(endpointId: EndpointId): Promise<void> {
    await this.redis.unlink(keys.coalescing(endpointId));
  }

  /** No delivery waits for the rate limit any more: new ones need not queue behind others. */
  async endRateWait(endpointId: EndpointId): Promise<void> {
    await this.redis.del(keys.rateWaiting(endpointId));
  }

  /** Deliveries are held behind one that goes first in the strict order: its end is to wake the endpoint up. */
  async awaitEnd(endpointId: EndpointId): Promise<void> {
    await this.redis.set(keys.orderWaiting(endpointId), '1', 'PX', LIMITS_KEPT_MS);
  }

  /** Forget the order: other rules apply to the endpoint's deliveries now. */
  async clearOrder(endpointId: EndpointId): Promise<void> {
    const lanes = [...new Set(await this.redis.hvals(keys.lanes(endpointId)))];
    const ofLanes = lanes.flatMap((lane) => [keys.order(endpointId) + lane, keys.turn(endpointId) + lane]);
    for (const some of chunksOf(ofLanes, REMOVED_AT_ONCE)) await this.redis.unlink(...some);
    const { order, turn, lanes: laneOfEach, ready, coalescing, lanesLook } = keys;
    const whole = [order, turn, laneOfEach, ready, coalescing, lanesLook];
    await this.redis.unlink(...whole.map((keyOf) => keyOf(endpointId)));
  }

  /** Remove all keys of a deleted endpoint. */
  async remove(endpointId: EndpointId): Promise<void> {
    await this.clearOrder(endpointId);
    await this.redis.unlink(...keysOfLimits(endpointId), keys.accessToken(endpointId));
  }
}

function answerOf(reply: AdmitAttemptReply | undefined): AdmissionAnswer {
  if (reply === undefined) throw new TypeError('An attempt was neither admitted nor refused.');
  switch (reply.kind) {
    case 'admitted':
      return { kind: 'admitted', isProbe: reply.isProbe };
    case 'breaker_open':
      return { kind: 'breaker_open', openUntil: reply.waitUntil };
    case 'rate_limited':
      return { kind: 'rate_limited', nextInMs: reply.nextInMs };
    case 'coalescing':
      return { kind: 'coalescing', until: reply.waitUntil };
    case 'superseded':
      return { kind: 'superseded', by: reply.by as EventId };
    case 'ordering':
      return { kind: 'ordering', isSoon: reply.isSoon };
    case 'first':
      return { kind: 'first' };
  }
}
