import { ReplyError } from 'ioredis';
import type { EndpointId } from '../../domain/endpoint';
import { keys } from '../../domain/keys';
import { type Atomic, createAtomic } from '../../platform/redis-atomic';
import type { RedisClient } from '../../platform/redis-connect';
import { defineScript, groupsByCommand } from '../../platform/redis-script';
import {
  type AttemptTally,
  decodeDurations,
  encodeDurations,
  firstHourKept,
  HOUR_MS,
  type HourOfAttempts,
} from './attempt-tally';

const LAST_SUCCESS = 'last-success';
const LAST_FAILURE = 'last-failure';
/** Workers' limits: `worker:limit:when` of each. */
const LIMITS = 'limits';

// Longer than any time-out, so that a worker that only waits for responses still counts.
const LIMIT_GOOD_FOR_MS = 75_000;

/** The attempts that a worker has made at an endpoint. */
export interface AddedTally {
  readonly endpointId: EndpointId;
  readonly tally: AttemptTally;
  /** How many attempts the worker allows it to have running: a whole number. Absent: not known. */
  readonly limit?: number | undefined;
}

export interface NotAdded {
  readonly added: AddedTally;
  readonly error: unknown;
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

// KEYS: health of each endpoint. ARGV: the oldest hour to keep, how long to keep the record, the worker, now, and when a
// limit is too old; then of each endpoint the last success and the last failure (0: none), the worker's limit (0: not
// known) and how many hours, and of each hour its number, successes, failures and durations. A later success of another
// worker stays. Old hours go when a new one begins, and the record is kept for longer. One command reads all that changes,
// and one writes it, since an event may have ten thousand receivers. Gives which endpoints have failed because of their
// data, each with the error.
const ADD = defineScript(
  `
  local first_kept, kept_ms, worker, now, too_old = unpack(ARGV, 1, 5)
  local function add(health, start, last)
    local fields = {'${LIMITS}', '${LAST_SUCCESS}', '${LAST_FAILURE}'}
    for i = start + 4, last, 4 do
      local hour, n = ARGV[i], #fields
      fields[n + 1], fields[n + 2], fields[n + 3] = 's' .. hour, 'f' .. hour, 'd' .. hour
    end
    local known, begins_hour = redis.call('HMGET', health, unpack(fields)), #fields == 3
    local changed, said = {}, ARGV[start + 2]
    if said ~= '0' then
      local limits = worker .. ':' .. said .. ':' .. now
      for other, limit, at in string.gmatch(known[1] or '', '(%w+):(%d+):(%d+)') do
        if other ~= worker and tonumber(at) > tonumber(too_old) then
          limits = limits .. ' ' .. other .. ':' .. limit .. ':' .. at
        end
      end
      changed[1], changed[2] = fields[1], limits
    end
    for i = 2, 3 do
      local at, n = ARGV[start + i - 2], #changed
      if at ~= '0' and tonumber(at) > tonumber(known[i] or 0) then changed[n + 1], changed[n + 2] = fields[i], at end
    end
    for i = start + 4, last, 4 do
      local first, n, durations = 4 + (i - start - 4) / 4 * 3, #changed, ARGV[i + 3]
      local successes, failures = known[first], known[first + 1]
      begins_hour = begins_hour or not successes
      if known[first + 2] then durations = add_durations(known[first + 2], durations) end
      changed[n + 1], changed[n + 2] = fields[first], (tonumber(successes) or 0) + tonumber(ARGV[i + 1])
      changed[n + 3], changed[n + 4] = fields[first + 1], (tonumber(failures) or 0) + tonumber(ARGV[i + 2])
      changed[n + 5], changed[n + 6] = fields[first + 2], durations
    end
    if #changed > 0 then redis.call('HSET', health, unpack(changed)) end
    if not begins_hour then return end
    for _, field in ipairs(redis.call('HKEYS', health)) do
      local hour = string.match(field, '^[sfd](%d+)$')
      if hour and tonumber(hour) < tonumber(first_kept) then redis.call('HDEL', health, field) end
    end
    redis.call('PEXPIRE', health, kept_ms)
  end

  local failed, start = {}, 6
  for i, health in ipairs(KEYS) do
    local last = start + 3 + 4 * ARGV[start + 3]
    local ok, err = pcall(add, health, start, last)
    if not ok then
      failed[#failed + 1] = i
      failed[#failed + 1] = type(err) == 'table' and err.err or tostring(err)
    end
    start = last + 1
  end
  return failed`,
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
    private readonly atomic: Atomic = createAtomic(redis),
  ) {}

  /** Add to the records of some endpoints. Gives those that nothing was added to. */
  async addAll(added: readonly AddedTally[], now: number, workerId = ''): Promise<readonly NotAdded[]> {
    const shared = [firstHourKept(now), this.retentionMs + HOUR_MS, workerId, now, now - LIMIT_GOOD_FOR_MS];
    const groups = groupsByCommand(this.redis, added);
    return (await Promise.all(groups.map((group) => this.#addGroup(group, shared)))).flat();
  }

  async #addGroup(
    group: readonly AddedTally[],
    shared: readonly (string | number)[],
  ): Promise<readonly NotAdded[]> {
    const healthKeys = group.map(({ endpointId }) => keys.health(endpointId));
    const args = [...shared, ...group.flatMap(argumentsOf)];
    try {
      const [reply] = await this.atomic([(target) => ADD(target, healthKeys, args)]);
      return notAddedIn(group, reply as readonly (string | number)[]);
    } catch (error) {
      return group.map((each) => ({ added: each, error }));
    }
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

function argumentsOf({ tally, limit = 0 }: AddedTally): readonly (string | number)[] {
  const { hours, lastSuccessAt = 0, lastFailureAt = 0 } = tally;
  const args: (string | number)[] = [lastSuccessAt, lastFailureAt, limit, hours.length];
  for (const { hour, successes, failures, durations } of hours) {
    args.push(hour, successes, failures, encodeDurations(durations));
  }
  return args;
}

function notAddedIn(group: readonly AddedTally[], failed: readonly (string | number)[]): readonly NotAdded[] {
  const notAdded: NotAdded[] = [];
  for (let i = 0; i + 1 < failed.length; i += 2) {
    const added = group[Number(failed[i]) - 1];
    if (added) notAdded.push({ added, error: new ReplyError(String(failed[i + 1])) });
  }
  return notAdded;
}

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
