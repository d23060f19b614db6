import type { EndpointId } from '../endpoints/endpoint';
import type { EventId } from '../events/event';
import { keys } from '../redis/keys';
import type { RedisClient } from '../redis/redis-connect';
import { withStorageErrors } from '../redis/redis-errors';
import { type BreakerState, CLOSED, FAILURES_TO_OPEN, FIRST_OPEN_MS, MAX_OPEN_MS, PROBE_MS } from './breaker';

/** A delivery that waits at its endpoint's gate. */
export interface Parked {
  readonly eventId: EventId;
  /** Which of a delivery's two job ids its release will use: the one that the parked job does not have. */
  readonly side: JobSide;
}

export type JobSide = 'first' | 'second';

export interface RecordedFailure extends BreakerState {
  /** Whether it was this failure that opened the breaker, or kept it open. */
  readonly hasOpened: boolean;
}

// KEYS: breaker. ARGV: now, failures to open, first open time, maximal open time, the open-until that the attempt was
// admitted with. Gives failures, open-until, and whether this failure opened it.
const RECORD_FAILURE = `
  local failures, open_until = string.match(redis.call('GET', KEYS[1]) or '0 0', '(%d+) (%d+)')
  failures = tonumber(failures) + 1
  local now, threshold, is_probe = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[5] ~= '0'
  if tonumber(open_until) > now and not is_probe then return {failures - 1, tonumber(open_until), 0} end
  if failures >= threshold then
    local open_ms = math.min(tonumber(ARGV[3]) * 2 ^ math.min(failures - threshold, 30), tonumber(ARGV[4]))
    open_until = string.format('%d', now + open_ms)
  end
  redis.call('SET', KEYS[1], string.format('%d', failures) .. ' ' .. open_until)
  return {failures, tonumber(open_until), failures >= threshold and 1 or 0}`;

// KEYS: breaker. ARGV: now, how long the probe may take. The first to ask gets it; others see it open meanwhile.
const CLAIM_PROBE = `
  local failures, open_until = string.match(redis.call('GET', KEYS[1]) or '0 0', '(%d+) (%d+)')
  if tonumber(open_until) > tonumber(ARGV[1]) then return 0 end
  redis.call('SET', KEYS[1], failures .. ' ' .. string.format('%d', tonumber(ARGV[1]) + tonumber(ARGV[2])))
  return 1`;

/** What is shared of an endpoint's gate: its breaker, and the deliveries that wait, in order of acceptance. */
export function createRedisGateStore(redis: RedisClient) {
  return withStorageErrors({
    async readBreaker(endpointId: EndpointId): Promise<BreakerState> {
      const stored = await redis.get(keys.breaker(endpointId));
      return stored === null ? CLOSED : decodeBreaker(stored);
    },

    /**
     * Counts a failed attempt; gives the state that follows from it. Attempts that were under way when the breaker
     * opened say nothing new, or a receiver that fails many at once would be left alone for the longest time at once.
     *
     * @param admittedWith the breaker as it was when the attempt was admitted.
     */
    async recordFailure(
      endpointId: EndpointId,
      admittedWith: BreakerState,
      now: number,
    ): Promise<RecordedFailure> {
      const limits = [now, FAILURES_TO_OPEN, FIRST_OPEN_MS, MAX_OPEN_MS, admittedWith.openUntil];
      const reply = await redis.eval(RECORD_FAILURE, 1, keys.breaker(endpointId), ...limits.map(String));
      const [failures = 0, openUntil = 0, hasOpened] = reply as number[];
      return { failures, openUntil, hasOpened: hasOpened === 1 };
    },

    async closeBreaker(endpointId: EndpointId): Promise<void> {
      await redis.del(keys.breaker(endpointId));
    },

    /** Whether the caller may send the one delivery that is let through while the breaker is half-open. */
    async claimProbe(endpointId: EndpointId, now: number): Promise<boolean> {
      return (
        (await redis.eval(CLAIM_PROBE, 1, keys.breaker(endpointId), String(now), String(PROBE_MS))) === 1
      );
    },

    /** Parking the same one again changes nothing. */
    async park(endpointId: EndpointId, parked: Parked, acceptedAt: number): Promise<void> {
      await redis.zadd(keys.parked(endpointId), 'NX', acceptedAt, encodeParked(parked));
    },

    /** The longest waiting first. They stay until `forget` is told that they are on the queue. */
    async listParked(endpointId: EndpointId, limit: number): Promise<Parked[]> {
      const members = await redis.zrange(keys.parked(endpointId), '0', String(limit - 1));
      return members.map(decodeParked);
    },

    async forget(endpointId: EndpointId, parked: readonly Parked[]): Promise<void> {
      if (parked.length === 0) return;
      await redis.zrem(keys.parked(endpointId), ...parked.map(encodeParked));
    },

    async countParked(endpointId: EndpointId): Promise<number> {
      return await redis.zcard(keys.parked(endpointId));
    },

    async isParked(endpointId: EndpointId, eventId: EventId): Promise<boolean> {
      const members = SIDES.map((side) => encodeParked({ eventId, side }));
      const scores = await redis.zmscore(keys.parked(endpointId), ...members);
      return scores.some((score) => score !== null);
    },

    /** Forgets all about a deleted endpoint. */
    async removeAll(endpointId: EndpointId): Promise<void> {
      await redis.unlink(keys.breaker(endpointId), keys.parked(endpointId));
    },
  });
}

export type GateStore = ReturnType<typeof createRedisGateStore>;

const SIDES: readonly JobSide[] = ['first', 'second'];
const SEPARATOR = ' ';

function encodeParked({ eventId, side }: Parked): string {
  return `${eventId}${SEPARATOR}${side}`;
}

function decodeParked(member: string): Parked {
  const [eventId = '', side] = member.split(SEPARATOR);
  return { eventId: eventId as EventId, side: side === 'second' ? 'second' : 'first' };
}

function decodeBreaker(stored: string): BreakerState {
  const [failures, openUntil] = stored.split(' ');
  return { failures: Number(failures), openUntil: Number(openUntil) };
}
