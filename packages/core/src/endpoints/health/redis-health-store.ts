import type { EndpointId } from '../../domain/endpoint';
import { keys } from '../../domain/keys';
import { type RedisClient, throwStorageErrors } from '../../platform/redis-connect';
import { defineScript } from '../../platform/redis-script';
import {
  type AttemptTally,
  decodeDurations,
  encodeDurations,
  firstHourKept,
  type HourOfAttempts,
} from './attempt-tally';

const LAST_SUCCESS = 'last-success';
const LAST_FAILURE = 'last-failure';
/** Workers' limits: `worker:limit:when` of each. */
const LIMITS = 'limits';

// Longer than any time-out, so that a worker that only waits for responses still counts.
const LIMIT_GOOD_FOR_MS = 75_000;

/** How many attempts a worker allows an endpoint to have running: a whole number. */
export interface WorkerLimit {
  readonly workerId: string;
  readonly limit: number;
}

/** The recorded health of an endpoint. */
export interface HealthRecord extends AttemptTally {
  /** How many attempts each worker that has tried it recently allows. */
  readonly limits: readonly number[];
}

/** The attempts at an endpoint within one hour of the clock. */
export type HourCounts = Pick<HourOfAttempts, 'hour' | 'successes' | 'failures'>;

// KEYS: health. ARGV: the oldest hour to keep, how long to keep the record, the last success and the last
// failure (0: none), the worker and its limit (0: not known), when that was and until when one is too old,
// then for each hour its number, successes, failures and durations. A later success of another worker stays.
const ADD = defineScript(`
  local function add_durations(field, added)
    local counts = {}
    for letter, count in string.gmatch((redis.call('HGET', KEYS[1], field) or '') .. added, '(%a)(%d+)') do
      counts[letter] = (counts[letter] or 0) + tonumber(count)
    end
    local parts = {}
    for letter, count in pairs(counts) do table.insert(parts, string.format('%s%d', letter, count)) end
    redis.call('HSET', KEYS[1], field, table.concat(parts))
  end
  if ARGV[6] ~= '0' then
    local limits = {table.concat({ARGV[5], ARGV[6], ARGV[7]}, ':')}
    for worker, limit, at in string.gmatch(redis.call('HGET', KEYS[1], '${LIMITS}') or '', '(%w+):(%d+):(%d+)') do
      if worker ~= ARGV[5] and tonumber(at) > tonumber(ARGV[8]) then
        table.insert(limits, table.concat({worker, limit, at}, ':'))
      end
    end
    redis.call('HSET', KEYS[1], '${LIMITS}', table.concat(limits, ' '))
  end
  for i = 9, #ARGV, 4 do
    redis.call('HINCRBY', KEYS[1], 's' .. ARGV[i], ARGV[i + 1])
    redis.call('HINCRBY', KEYS[1], 'f' .. ARGV[i], ARGV[i + 2])
    add_durations('d' .. ARGV[i], ARGV[i + 3])
  end
  for field, at in pairs({['${LAST_SUCCESS}'] = ARGV[3], ['${LAST_FAILURE}'] = ARGV[4]}) do
    local known = tonumber(redis.call('HGET', KEYS[1], field) or '0')
    if tonumber(at) > known then redis.call('HSET', KEYS[1], field, at) end
  end
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    local hour = string.match(field, '^[sfd](%d+)$')
    if hour and tonumber(hour) < tonumber(ARGV[1]) then redis.call('HDEL', KEYS[1], field) end
  end
  redis.call('PEXPIRE', KEYS[1], ARGV[2])`);

/**
 * The results of the attempts at each endpoint: counts and durations by the hour, the last success, the last
 * failure.
 */
export class HealthStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly retentionMs: number,
  ) {}

  /** @param said the limit of the worker that made the attempts; absent: unknown. */
  async add(endpointId: EndpointId, tally: AttemptTally, now: number, said?: WorkerLimit): Promise<void> {
    const { hours, lastSuccessAt = 0, lastFailureAt = 0 } = tally;
    const counts = hours.flatMap(({ hour, successes, failures, durations }) => [
      hour,
      successes,
      failures,
      encodeDurations(durations),
    ]);
    const values = [
      ...[firstHourKept(now), this.retentionMs, lastSuccessAt, lastFailureAt],
      ...[said?.workerId ?? '', said?.limit ?? 0, now, now - LIMIT_GOOD_FOR_MS],
      ...counts,
    ];
    await ADD(this.redis, [keys.health(endpointId)], values);
  }

  async read(endpointId: EndpointId, now: number): Promise<HealthRecord> {
    const stored = await this.redis.hgetall(keys.health(endpointId));
    return { ...decode(stored), limits: decodeLimits(stored[LIMITS], now - LIMIT_GOOD_FOR_MS) };
  }

  /** Milliseconds since the Unix epoch; `undefined` if none is recorded. */
  async readLastSuccess(endpointId: EndpointId): Promise<number | undefined> {
    return toTime(await this.redis.hget(keys.health(endpointId), LAST_SUCCESS));
  }

  /** @param hours since the Unix epoch; one without attempts has zeros. */
  async readCounts(endpointId: EndpointId, hours: readonly number[]): Promise<readonly HourCounts[]> {
    const fields = hours.flatMap((hour) => [`s${hour}`, `f${hour}`]);
    const values = await this.redis.hmget(keys.health(endpointId), ...fields);
    return hours.map((hour, index) => ({
      hour,
      successes: Number(values[2 * index] ?? 0),
      failures: Number(values[2 * index + 1] ?? 0),
    }));
  }

  /** A worker may write its sums again afterwards; that record expires. */
  async remove(endpointId: EndpointId): Promise<void> {
    await this.redis.unlink(keys.health(endpointId));
  }
}

throwStorageErrors(HealthStore);

function decode(stored: Readonly<Record<string, string>>): AttemptTally {
  const numbers = Object.keys(stored).filter((field) => /^s\d+$/.test(field));
  const hours = numbers.map(
    (field): HourOfAttempts => ({
      hour: Number(field.slice(1)),
      successes: Number(stored[field]),
      failures: Number(stored[`f${field.slice(1)}`] ?? 0),
      durations: decodeDurations(stored[`d${field.slice(1)}`] ?? ''),
    }),
  );
  return {
    hours,
    lastSuccessAt: toTime(stored[LAST_SUCCESS]),
    lastFailureAt: toTime(stored[LAST_FAILURE]),
  };
}

function decodeLimits(stored = '', tooOldAt: number): readonly number[] {
  const said = [...stored.matchAll(/\w+:(\d+):(\d+)/g)].map(([, limit, at]) => ({ limit, at }));
  return said.filter(({ at }) => Number(at) > tooOldAt).map(({ limit }) => Number(limit));
}

function toTime(stored: string | null | undefined): number | undefined {
  return stored === null || stored === undefined ? undefined : Number(stored);
}
