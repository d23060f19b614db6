import type { EndpointId } from '../endpoints/endpoint';
import { keys } from '../redis/keys';
import type { RedisClient } from '../redis/redis-connect';
import { withStorageErrors } from '../redis/redis-errors';
import { type BreakerState, CLOSED, FAILURES_TO_OPEN, FIRST_OPEN_MS, MAX_OPEN_MS, PROBE_MS } from './breaker';

export interface RecordedFailure extends BreakerState {
  /** When the first attempt since the last success failed. Milliseconds since the Unix epoch. */
  readonly failingSince: number;
  /** Whether it was this failure that opened the breaker, or kept it open. */
  readonly hasOpened: boolean;
}

/** What a success has put an end to. */
export interface ClosedBreaker {
  readonly wasOpen: boolean;
  /** When the trouble began of which the account was told. Milliseconds since the Unix epoch. */
  readonly toldFailingSince: number | undefined;
}

// Longer than any endpoint waits for its next attempt. An attempt that was under way when its endpoint was deleted writes one
// that nobody would ever take away.
const KEPT_MS = 30 * 86_400_000;

// The record: failures, open-until, failing since, and 1 if the account was told. Older ones have the first two only.

// KEYS: breaker. ARGV: now, failures to open, first open time, maximal open time, the open-until that the attempt was
// admitted with, whether the account is told. Gives failures, open-until, whether this failure opened it, and since when
// attempts fail.
const RECORD_FAILURE = `
  local stored = (redis.call('GET', KEYS[1]) or '0 0') .. ' ' .. ARGV[1] .. ' 0'
  local failures, open_until, since, told = string.match(stored, '(%d+) (%d+) (%d+) (%d+)')
  if ARGV[6] == '1' then told = '1' end
  local function save(count)
    local record = table.concat({string.format('%d', count), open_until, since, told}, ' ')
    redis.call('SET', KEYS[1], record, 'PX', ${KEPT_MS})
  end
  failures = tonumber(failures) + 1
  local now, threshold, is_probe = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[5] ~= '0'
  if tonumber(open_until) > now and not is_probe then
    save(failures - 1)
    return {failures - 1, tonumber(open_until), 0, tonumber(since)}
  end
  if failures >= threshold then
    local open_ms = math.min(tonumber(ARGV[3]) * 2 ^ math.min(failures - threshold, 30), tonumber(ARGV[4]))
    open_until = string.format('%d', now + open_ms)
  end
  save(failures)
  return {failures, tonumber(open_until), failures >= threshold and 1 or 0, tonumber(since)}`;

// KEYS: breaker. ARGV: now, how long the probe may take. The first to ask gets it; others see it open meanwhile.
const CLAIM_PROBE = `
  local failures, open_until, rest = string.match(redis.call('GET', KEYS[1]) or '0 0', '(%d+) (%d+)(.*)')
  if tonumber(open_until) > tonumber(ARGV[1]) then return 0 end
  open_until = string.format('%d', tonumber(ARGV[1]) + tonumber(ARGV[2]))
  redis.call('SET', KEYS[1], failures .. ' ' .. open_until .. rest, 'PX', ${KEPT_MS})
  return 1`;

// KEYS: breaker. Gives the record as it was: of all who close it at the same time, one gets it.
const CLOSE = `
  local stored = redis.call('GET', KEYS[1])
  redis.call('DEL', KEYS[1])
  return stored`;

// KEYS: breaker. ARGV: failures and open-until that the claim was made with, now.
const GIVE_PROBE_BACK = `
  local failures, open_until, rest = string.match(redis.call('GET', KEYS[1]) or '0 0', '(%d+) (%d+)(.*)')
  if failures ~= ARGV[1] or tonumber(open_until) <= tonumber(ARGV[3]) then return end
  redis.call('SET', KEYS[1], failures .. ' ' .. ARGV[2] .. rest, 'PX', ${KEPT_MS})`;

/** Endpoints' circuit breakers. One that is well has no record. */
export function createRedisBreakerStore(redis: RedisClient) {
  return withStorageErrors({
    async readBreaker(endpointId: EndpointId): Promise<BreakerState> {
      return decodeBreaker(await redis.get(keys.breaker(endpointId)));
    },

    /**
     * Counts a failed attempt; gives the state that follows from it. Attempts that were under way when the breaker
     * opened say nothing new, or a receiver that fails many at once would be left alone for the longest time at once.
     *
     * @param admittedWith the breaker as it was when the attempt was admitted.
     * @param telling whether the account is told that the endpoint fails.
     */
    async recordFailure(
      endpointId: EndpointId,
      admittedWith: BreakerState,
      now: number,
      { telling = false }: { readonly telling?: boolean } = {},
    ): Promise<RecordedFailure> {
      const limits = [now, FAILURES_TO_OPEN, FIRST_OPEN_MS, MAX_OPEN_MS, admittedWith.openUntil];
      const args = [...limits, telling ? 1 : 0].map(String);
      const reply = await redis.eval(RECORD_FAILURE, 1, keys.breaker(endpointId), ...args);
      const [failures = 0, openUntil = 0, hasOpened, failingSince = now] = reply as number[];
      return { failures, openUntil, hasOpened: hasOpened === 1, failingSince };
    },

    /** Gives what it has ended, to one of all who close it at the same time. */
    async closeBreaker(endpointId: EndpointId): Promise<ClosedBreaker> {
      const stored = (await redis.eval(CLOSE, 1, keys.breaker(endpointId))) as string | null;
      const [, openUntil = 0, failingSince = 0, told = 0] = (stored ?? '').split(' ').map(Number);
      return { wasOpen: openUntil > 0, toldFailingSince: told === 1 ? failingSince : undefined };
    },

    /** Whether the caller may send the one delivery that is let through while the breaker is half-open. */
    async claimProbe(endpointId: EndpointId, now: number): Promise<boolean> {
      return (
        (await redis.eval(CLAIM_PROBE, 1, keys.breaker(endpointId), String(now), String(PROBE_MS))) === 1
      );
    },

    /** Lets another one have the probe at once: nothing came of this one. `admittedWith` is as in `recordFailure`. */
    async giveProbeBack(endpointId: EndpointId, admittedWith: BreakerState, now: number): Promise<void> {
      const args = [admittedWith.failures, admittedWith.openUntil, now].map(String);
      await redis.eval(GIVE_PROBE_BACK, 1, keys.breaker(endpointId), ...args);
    },
  });
}

export type BreakerStore = ReturnType<typeof createRedisBreakerStore>;

export function decodeBreaker(stored: string | null | undefined): BreakerState {
  if (stored == null) return CLOSED;
  const [failures, openUntil] = stored.split(' ');
  return { failures: Number(failures), openUntil: Number(openUntil) };
}
