import type { EndpointId } from '../../domain/endpoint';
import { keys } from '../../domain/keys';
import { type RedisClient, throwStorageErrors } from '../../platform/redis-connect';
import { createInOrder, defineScript, type InOrder } from '../../platform/redis-script';
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

const ADD_DURATIONS = `
  local function add_durations(known, added)
    for letter, count in string.gmatch(added, '(%a)(%d+)') do
      local before, its_count, after = string.match(known, '^(.*)' .. letter .. '(%d+)(.*)$')
      if its_count then
        known = before .. letter .. string.format('%d', its_count + count) .. after
      else
        known = known .. letter .. count
      end
    end
    return known
  end`;

// KEYS: health. ARGV: the oldest hour to keep, how long to keep the record, the last success and the last
// failure (0: none), the worker and its limit (0: not known), when that was and until when one is too old,
// then for each hour its number, successes, failures and durations. A later success of another worker stays. Old
// hours go when a new one begins. One command reads all that changes, and one writes it, since an event may have ten
// thousand receivers.
const ADD = defineScript(
  `
  local health, worker, said, said_at = KEYS[1], ARGV[5], ARGV[6], ARGV[7]
  local fields = {'${LIMITS}', '${LAST_SUCCESS}', '${LAST_FAILURE}'}
  for i = 9, #ARGV, 4 do
    local hour, n = ARGV[i], #fields
    fields[n + 1], fields[n + 2], fields[n + 3] = 's' .. hour, 'f' .. hour, 'd' .. hour
  end
  local known, begins_hour = redis.call('HMGET', health, unpack(fields)), false
  local changed = {}
  if said ~= '0' then
    local limits = worker .. ':' .. said .. ':' .. said_at
    for other, limit, at in string.gmatch(known[1] or '', '(%w+):(%d+):(%d+)') do
      if other ~= worker and tonumber(at) > tonumber(ARGV[8]) then
        limits = limits .. ' ' .. other .. ':' .. limit .. ':' .. at
      end
    end
    changed[1], changed[2] = fields[1], limits
  end
  for i = 2, 3 do
    local at, n = ARGV[1 + i], #changed
    if at ~= '0' and tonumber(at) > tonumber(known[i] or 0) then changed[n + 1], changed[n + 2] = fields[i], at end
  end
  for i = 9, #ARGV, 4 do
    local first, n, durations = 4 + (i - 9) / 4 * 3, #changed, ARGV[i + 3]
    local successes, failures = known[first], known[first + 1]
    begins_hour = begins_hour or not successes
    if known[first + 2] then durations = add_durations(known[first + 2], durations) end
    changed[n + 1], changed[n + 2] = fields[first], (tonumber(successes) or 0) + tonumber(ARGV[i + 1])
    changed[n + 3], changed[n + 4] = fields[first + 1], (tonumber(failures) or 0) + tonumber(ARGV[i + 2])
    changed[n + 5], changed[n + 6] = fields[first + 2], durations
  end
  if #changed > 0 then redis.call('HSET', health, unpack(changed)) end
  if begins_hour then
    for _, field in ipairs(redis.call('HKEYS', health)) do
      local hour = string.match(field, '^[sfd](%d+)$')
      if hour and tonumber(hour) < tonumber(ARGV[1]) then redis.call('HDEL', health, field) end
    end
  end
  redis.call('PEXPIRE', health, ARGV[2])`,
  ADD_DURATIONS,
);

/**
 * The results of the attempts at each endpoint: counts and durations by the hour, the last success, the last
 * failure.
 */
export class HealthStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly retentionMs: number,
    private readonly inOrder: InOrder = createInOrder(redis),
  ) {}

  /**
   * What is added to many endpoints in one turn of the event loop goes to Redis together.
   *
   * @param said the limit of the worker that made the attempts; absent: unknown.
   */
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
    await this.inOrder([(target) => ADD(target, [keys.health(endpointId)], values)]);
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
