import { z } from 'zod';
import {
  BREAKER_KEPT_MS,
  type BreakerState,
  decodeBreaker,
  decodeFailingSince,
  PROBE_MS,
} from '../../domain/breaker';
import type { EndpointId } from '../../domain/endpoint';
import type { EventId } from '../../domain/event';
import { keys } from '../../domain/keys';
import { chunksOf } from '../../platform/batches';
import type { RedisClient } from '../../platform/redis-connect';
import { defineGuard, defineScript, type ScriptTarget } from '../../platform/redis-script';
import {
  ADD_READY,
  COALESCE,
  JOIN_ORDER,
  LEAVE_ORDER,
  LOOK_AT_LINES,
  MARK_READY,
  NOW,
  ORDER_KEPT_MS,
} from './redis-lines';

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
  /** The line in which it waits, if it does: see `lineOf`. */
  readonly line?: string | undefined;
  /** Only the newest of its line is sent, when the first has waited for so long. Milliseconds; 0: all are sent. */
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
  /** A newer one of its line is sent in place of it. */
  | { readonly kind: 'superseded'; readonly by: EventId }
  /** In the window of its line: a newer one may come until then. Milliseconds since the Unix epoch. */
  | { readonly kind: 'coalescing'; readonly until: number }
  /** For `look`: no delivery has begun, and this is the first one. */
  | { readonly kind: 'first' };

/** A delivery in the line that it waits in. */
export interface OrderPlace extends Pick<OrderedDelivery, 'eventId' | 'acceptedAt'> {
  /** Absent: that of the whole endpoint. */
  readonly line?: string;
  /** Whether it was accepted just now: then it goes behind all others of its line. */
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
  /** In the order within groups: held deliveries that are first in their lines, the oldest first. */
  readonly ready: readonly EventId[];
  /** While it has no access token: until when nobody asks for one. Milliseconds since the Unix epoch. */
  readonly tokenPausedUntil?: number | undefined;
}

export interface OrderedDelivery {
  readonly eventId: EventId;
  /** Milliseconds since the Unix epoch. */
  readonly acceptedAt: number;
  /** Whether it has begun. */
  readonly hasBegun: boolean;
}

/** The rate limit counts attempts in this time. */
export const RATE_WINDOW_MS = 1_000;
// An endpoint without attempts leaves no keys.
const KEPT_MS = 3_600_000;
const REMOVED_AT_ONCE = 500;

const DROP_EXPIRED = `redis.call('ZREMRANGEBYSCORE', recent, '-inf', '(' .. at(0))`;
const NEXT_IN = `
  local function next_in()
    local first = redis.call('ZRANGE', recent, 0, 0, 'WITHSCORES')
    return first[2] and math.max(tonumber(first[2]) + 1 - now, 0) or 0
  end`;

// A delivery that has begun keeps its turn as long as it is in the order. A turn without an entry in the
// order is void. In a line that coalesces, older ones are no obstacle: they are not sent. KEYS: breaker, recent
// attempts, order, turn, waiting for the rate limit, waiting for the turn; of an endpoint with the order within groups:
// lines, ready, coalescing. ARGV: the worker's time, event, time of acceptance, ordering, rate limit (0: none), attempt,
// lease, whether it has waited, its line, for how long that coalesces (0: not at all). Where one script looks and begins,
// nothing comes between. Gives 1 for the first one, which is to begin next, or else 0; and then the answer.
const ADMIT = defineGuard(
  `
  local breaker, recent, order, turn, waiting, order_waiting, lines, ready, coalescing = unpack(KEYS)
  local event, ordering, limit, line, window = ARGV[2], ARGV[4], tonumber(ARGV[5]), ARGV[9], tonumber(ARGV[10])
  local function refuse(answer)
    if lines then
      redis.call('ZREM', ready, event)
    else
      redis.call('SET', order_waiting, '1', 'PX', ${KEPT_MS})
    end
    return answer
  end
  if ordering ~= 'any' then order, turn = order .. line, turn .. line end
  -- Of its line: it may be later than the time of acceptance.
  local function place() return redis.call('ZSCORE', order, event) or ARGV[3] end
  local is_first_still = ordering == 'begin' and once['first in ' .. order] == event
  if ordering ~= 'any' and not is_first_still then
    redis.call('ZADD', order, 'NX', ARGV[3], event)
    redis.call('PEXPIRE', order, ${ORDER_KEPT_MS})
    if lines then
      redis.call('HSET', lines, event, line)
      redis.call('PEXPIRE', lines, ${ORDER_KEPT_MS})
    end
    local holder = redis.call('GET', turn)
    if holder ~= event then
      local why_not = window > 0 and coalesce(coalescing, ready, line, order, event, place(), window)
      if why_not and why_not[2] == 'superseded' then return refuse(why_not) end
      if holder and redis.call('ZSCORE', order, holder) then return refuse({0, 'ordering', 0}) end
      if why_not then return refuse(why_not) end
      local is_first = window > 0 or redis.call('ZRANGE', order, 0, 0)[1] == event
      if not is_first then return refuse({0, 'ordering', 0}) end
      if ordering == 'look' then
        once['first in ' .. order] = event
        return {1, 'first', 0}
      end
    end
  end
  local failures, open_until, rest = string.match(redis.call('GET', breaker) or '0 0', '(%d+) (%d+)(.*)')
  if tonumber(open_until) > tonumber(ARGV[1]) then return {0, 'breaker_open', tonumber(open_until)} end
  if limit > 0 then
    ${NOW}
    ${NEXT_IN}
    ${DROP_EXPIRED}
    local is_behind = ARGV[8] == '0' and redis.call('EXISTS', waiting) == 1
    if is_behind or redis.call('ZCARD', recent) >= limit then
      redis.call('SET', waiting, '1', 'PX', ${KEPT_MS})
      return {0, 'rate_limited', next_in()}
    end
    redis.call('ZADD', recent, at(tonumber(ARGV[7])), ARGV[6])
    redis.call('PEXPIRE', recent, tonumber(ARGV[7]) + ${KEPT_MS})
  end
  if ordering ~= 'any' then redis.call('SET', turn, event) end
  if lines then
    redis.call('PEXPIRE', turn, ${ORDER_KEPT_MS})
    redis.call('ZREM', ready, event)
    if window > 0 then
      redis.call('HDEL', coalescing, line)
      redis.call('HSET', coalescing, line .. ' sent', place() .. ' ' .. event)
    end
  end
  if open_until == '0' then return {0, 'admitted', 0} end
  local probe_until = string.format('%d', tonumber(ARGV[1]) + ${PROBE_MS})
  redis.call('SET', breaker, failures .. ' ' .. probe_until .. rest, 'PX', ${BREAKER_KEPT_MS})
  return {0, 'admitted', 1}`,
  ADD_READY,
  COALESCE,
);

// KEYS: breaker, recent attempts. ARGV: attempt ('' if it is not counted), whether it was the probe, the
// breaker's failures and open-until at admission, the worker's time.
const WITHDRAW = defineScript(`${NOW}
  if ARGV[1] ~= '' then redis.call('ZADD', KEYS[2], 'XX', at(${RATE_WINDOW_MS}), ARGV[1]) end
  if ARGV[2] == '0' then return end
  local failures, open_until, rest = string.match(redis.call('GET', KEYS[1]) or '0 0', '(%d+) (%d+)(.*)')
  if failures ~= ARGV[3] or tonumber(open_until) <= tonumber(ARGV[5]) then return end
  redis.call('SET', KEYS[1], failures .. ' ' .. ARGV[4] .. rest, 'PX', ${BREAKER_KEPT_MS})`);

// KEYS: breaker, recent attempts, order, turn, waiting for the turn, access token, ready. ARGV: rate limit (0: none), how
// many of those that are ready.
const STAND = defineScript(`${NOW}
  local breaker, recent, order, turn, order_waiting, access_token, ready = unpack(KEYS)
  ${NEXT_IN}
  local token = redis.call('HMGET', access_token, 'open_until', 'expires_at')
  local paused_until = tonumber(token[2] or 0) > now and '0' or token[1] or '0'
  local limit, free = tonumber(ARGV[1]), -1
  if limit > 0 then
    ${DROP_EXPIRED}
    free = math.max(limit - redis.call('ZCARD', recent), 0)
  end
  local next, has_begun = redis.call('GET', turn), 1
  local accepted_at = next and redis.call('ZSCORE', order, next)
  if not accepted_at then
    local first = redis.call('ZRANGE', order, 0, 0, 'WITHSCORES')
    next, accepted_at, has_begun = first[1], first[2], 0
  end
  local waiting = ARGV[2] == '0' and {} or redis.call('ZRANGE', ready, 0, ARGV[2] - 1)
  return {redis.call('GET', breaker) or '', free, next_in(), next or '', accepted_at or '0', has_begun, paused_until, waiting,
    redis.call('EXISTS', order_waiting)}`);

const answerSchema = z.tuple([
  z.number(),
  z.enum(['admitted', 'breaker_open', 'rate_limited', 'ordering', 'first', 'superseded', 'coalescing']),
  z.number(),
  z.string().optional(),
]);
const standingSchema = z.tuple([
  z.string(),
  z.number(),
  z.number(),
  z.string(),
  z.coerce.number(),
  z.number(),
  z.coerce.number(),
  z.array(z.string()),
  z.number(),
]);

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

/** Those of the order within groups, beside those of each line. */
function keysOfLines(endpointId: EndpointId): readonly string[] {
  return [keys.lines, keys.ready, keys.coalescing].map((keyOf) => keyOf(endpointId));
}

/** Of the scripts that look for who is next in a line. */
function keysOfOrder(endpointId: EndpointId): readonly string[] {
  return [keys.order(endpointId), keys.turn(endpointId), ...keysOfLines(endpointId)];
}

/**
 * Admits an attempt, in one step that takes everything or nothing: the circuit breaker's probe, a permit
 * within the rate limit, the turn of an endpoint with strict order, or of a group of events.
 *
 * An attempt counts for the rate limit until one second after its end. Since its request arrives before that
 * end, no second sees more arrivals than the limit, however long each request takes.
 */
export class AdmissionStore {
  constructor(private readonly redis: RedisClient) {}

  /** A guard: what comes after it runs only if it is the first one, and may begin. */
  async admit(
    endpointId: EndpointId,
    request: AdmissionRequest,
    now: number,
    target: ScriptTarget = this.redis,
  ): Promise<AdmissionAnswer> {
    const { eventId, acceptedAt, ordering, rateLimit = 0, attemptKey, leaseMs, hasWaited } = request;
    const { line = '', windowMs = 0 } = request;
    const waited = hasWaited ? 1 : 0;
    const args = [now, eventId, acceptedAt, ordering, rateLimit, attemptKey, leaseMs, waited, line, windowMs];
    const scriptKeys = [...keysOfLimits(endpointId), ...(line === '' ? [] : keysOfLines(endpointId))];
    const [, kind, value, by = ''] = answerSchema.parse(await ADMIT(target, scriptKeys, args));
    switch (kind) {
      case 'admitted':
        return { kind, isProbe: value === 1 };
      case 'breaker_open':
        return { kind, openUntil: value };
      case 'rate_limited':
        return { kind, nextInMs: value };
      case 'coalescing':
        return { kind, until: value };
      case 'superseded':
        return { kind, by: by as EventId };
      case 'ordering':
        return { kind, isSoon: value === 1 };
      case 'first':
        return { kind };
    }
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
    const args = [attemptKey ?? '', isProbe ? 1 : 0, failures, openUntil, now];
    await WITHDRAW(this.redis, keysOfLimits(endpointId).slice(0, 2), args);
  }

  /** @param mostReady how many are read of those that are first in their lines. */
  async stand(endpointId: EndpointId, rateLimit: number | undefined, mostReady = 0): Promise<Standing> {
    const own = [keys.orderWaiting, keys.accessToken, keys.ready].map((keyOf) => keyOf(endpointId));
    const scriptKeys = [...keysOfLimits(endpointId).slice(0, 4), ...own];
    const reply = await STAND(this.redis, scriptKeys, [rateLimit ?? 0, mostReady]);
    const [breaker, free, nextInMs, eventId, acceptedAt, hasBegun, pausedUntil, ready, isEndAwaited] =
      standingSchema.parse(reply);
    return {
      breaker: decodeBreaker(breaker === '' ? undefined : breaker),
      rate: { free: free < 0 ? Number.POSITIVE_INFINITY : free, nextInMs },
      next:
        eventId === '' ? undefined : { eventId: eventId as EventId, acceptedAt, hasBegun: hasBegun === 1 },
      isEndAwaited: isEndAwaited === 1,
      ready: ready as EventId[],
      tokenPausedUntil: pausedUntil === 0 ? undefined : pausedUntil,
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

  /** Put deliveries into their lines. Those that are in one keep their position. */
  async joinOrder(
    endpointId: EndpointId,
    deliveries: readonly OrderPlace[],
    target: ScriptTarget = this.redis,
  ): Promise<void> {
    if (deliveries.length === 0) return;
    const members = deliveries.flatMap(({ eventId, acceptedAt, line = '', isNew }) => {
      return [acceptedAt, eventId, line, isNew ? 1 : 0];
    });
    await JOIN_ORDER(target, [keys.order(endpointId), keys.lines(endpointId)], members);
  }

  /** The first ones in the strict order. */
  async firstInOrder(endpointId: EndpointId, most: number): Promise<readonly EventId[]> {
    return (await this.redis.zrange(keys.order(endpointId), '0', String(most - 1))) as EventId[];
  }

  /**
   * A delivery that has ended makes room for the next one.
   *
   * @returns whether others of its group may begin now.
   */
  async leaveOrder(
    endpointId: EndpointId,
    eventId: EventId,
    target: ScriptTarget = this.redis,
  ): Promise<boolean> {
    return (await LEAVE_ORDER(target, keysOfOrder(endpointId), [eventId])) === 1;
  }

  /** A delivery is held. If no other one of its line goes before it, it may go as soon as any may. */
  async markReady(endpointId: EndpointId, { eventId, acceptedAt }: Omit<OrderPlace, 'line'>): Promise<void> {
    await MARK_READY(this.redis, keysOfOrder(endpointId), [acceptedAt, eventId]);
  }

  /**
   * Look at some lines, each time at the next ones, and seldom: who may go in each is ready from then on.
   *
   * @returns these, and the events that have the turn in theirs: their deliveries should have jobs, or be held.
   */
  async lookAtLines(endpointId: EndpointId): Promise<readonly EventId[]> {
    const scriptKeys = [...keysOfOrder(endpointId), keys.linesLook(endpointId)];
    return z.array(z.string()).parse(await LOOK_AT_LINES(this.redis, scriptKeys, [])) as EventId[];
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
    await this.redis.set(keys.orderWaiting(endpointId), '1', 'PX', KEPT_MS);
  }

  /** Forget the order: other rules apply to the endpoint's deliveries now. */
  async clearOrder(endpointId: EndpointId): Promise<void> {
    const lines = [...new Set(await this.redis.hvals(keys.lines(endpointId)))];
    const ofLines = lines.flatMap((line) => [keys.order(endpointId) + line, keys.turn(endpointId) + line]);
    for (const some of chunksOf(ofLines, REMOVED_AT_ONCE)) await this.redis.unlink(...some);
    await this.redis.unlink(...keysOfOrder(endpointId), keys.linesLook(endpointId));
  }

  /** Remove all keys of a deleted endpoint. */
  async remove(endpointId: EndpointId): Promise<void> {
    await this.clearOrder(endpointId);
    await this.redis.unlink(...keysOfLimits(endpointId), keys.accessToken(endpointId));
  }
}
