import { Cluster } from 'ioredis';
import type { AccountId } from '../domain/account';
import { DUE_WITHIN_MS, deliveryIdOf, type WantedMates } from '../domain/delivery';
import { type EndpointAddress, type EndpointId, encodeAddress } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { keys, queueKeysOf } from '../domain/keys';
import { DELIVERIES_QUEUE, type QueueShard } from '../domain/queues';
import { steadyClock, systemClock } from '../platform/clock';
import type { RedisClient } from '../platform/redis-connect';
import { defineScript, type ScriptTarget, ScriptUnit, type Step } from '../platform/redis-script';
import { createJobKeys, DELAYED_SCORE, jobFields } from './bullmq-layout';
import {
  JOB_FIELDS,
  jobOf,
  READ_ALONG,
  type StoredFields,
  type StoredTexts,
  type TakenJob,
  textsOf,
} from './bullmq-running-jobs';
import { COUNT_HELD } from './redis-held-counts';

// This many waiting jobs are looked at, page by page, as long as half of a page are the endpoint's.
const PAGE = 50;

const eventKey = keys.event('<account>' as AccountId, '<event>' as EventId).split(/<(?:account|event)>/);

/*
 * The deliveries that go together are on record in their jobs: each has the event of the first one, and the job of that
 * has all of them. So they go when their jobs do. A set whose first one has ended is none any more, and what has
 * been tied anew is of that set alone.
 */
// Gives the set of an event, and the first one's event.
const TIED = `
  local function tied_to(base, event, suffix)
    local first = redis.call('HGET', base .. event .. suffix, '${jobFields.firstMate}')
    local set = first and redis.call('HGET', base .. first .. suffix, '${jobFields.mates}')
    if set and string.find(' ' .. set .. ' ', ' ' .. event .. ' ', 1, true) then return set, first end
  end`;

/*
 * Those that were tied are taken wherever they wait, unless they are due later. Others are taken as they are held, and
 * then from the front of the queue; none of them is tied to others. Taking one does what `TAKE` does.
 */
// KEYS: held, counts, counted endpoints, prioritized, delayed, active, wait. ARGV: prefix of the jobs' keys, event, suffix
// of the ids of the endpoint's jobs, the most to take, endpoint, now, token, how long the lock holds, 1 to read along what
// the jobs need, the most bytes of their events, 1 to take held ones only. Gives what the first
// one was tied to, then each, and those that run of the tied ones, or of the held ones: they may be on their way to that.
const TAKE_MATES = defineScript(
  `
  local held, counts, counted, prioritized, delayed, active, wait = unpack(KEYS)
  local base, first, suffix, most, now = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[6])
  local reads_along, room, soon = ARGV[9] == '1', tonumber(ARGV[10]), (now + ${DUE_WITHIN_MS}) * ${DELAYED_SCORE}
  local taken, is_full = {}, false

  local tied, leader = tied_to(base, first, suffix)

  -- From where it waits. The entry of one that is held stays while a worker is at it.
  local function remove(job, event)
    local score = redis.call('ZSCORE', delayed, job)
    if score then
      local may_go = redis.call('ZSCORE', held, event) or tonumber(score) <= soon
      if not may_go then return false end
      redis.call('ZREM', delayed, job)
    elseif redis.call('ZREM', prioritized, job) == 0 and redis.call('LREM', wait, 1, job) == 0 then
      return false
    end
    redis.call('ZREM', held, event)
    return true
  end

  local function take(event)
    local job = event .. suffix
    local fields = redis.call('HMGET', base .. job, '${JOB_FIELDS.join("', '")}')
    local account = string.match(fields[4] or '', '"account_id":"([%w_-]+)"')
    if not account or event == first or #taken >= most or is_full then return end
    local size = reads_along and redis.call('STRLEN', '${eventKey[0]}' .. account .. '${eventKey[1]}' .. event .. '${eventKey[2]}') or 0
    if size > room and not tied then
      is_full = true
      return
    end
    if not remove(job, event) then return end
    room = room - size
    redis.call('LPUSH', active, job)
    redis.call('SET', base .. job .. ':lock', ARGV[7], 'PX', ARGV[8])
    fields[1], fields[2] = ARGV[6], (tonumber(fields[2]) or 0) + 1
    redis.call('HSET', base .. job, 'processedOn', ARGV[6], '${jobFields.attemptsStarted}', fields[2])
    taken[#taken + 1] = {job, fields, reads_along and read_along(job, fields[4], '')}
    return true
  end

  local busy = {}
  if tied then
    for event in string.gmatch(tied, '%S+') do
      if event ~= first and redis.call('HGET', base .. event .. suffix, '${jobFields.firstMate}') == leader then
        if not take(event) and redis.call('LPOS', active, event .. suffix) then busy[#busy + 1] = event end
      end
    end
  else
    for _, event in ipairs(redis.call('ZRANGE', held, 0, 2 * most + 19)) do
      if #taken >= most or is_full then break end
      if event ~= first and not tied_to(base, event, suffix) then
        if not take(event) and redis.call('LPOS', active, event .. suffix) then busy[#busy + 1] = event end
      end
    end
    local waiting, seen, enough = {}, 0, ARGV[11] == '1'
    while not enough and #waiting + #taken < most do
      local page = redis.call('ZRANGE', prioritized, seen, seen + ${PAGE - 1})
      local before = #waiting
      for _, job in ipairs(page) do
        local event = string.sub(job, 1, -#suffix - 1)
        if string.sub(job, -#suffix) == suffix and not tied_to(base, event, suffix) then table.insert(waiting, event) end
      end
      seen = seen + #page
      enough = #page < ${PAGE} or (#waiting - before) * 2 < #page
    end
    for _, event in ipairs(waiting) do take(event) end
  end
  count_held(counts, counted, ARGV[5], redis.call('ZCARD', held))
  return {tied or '', taken, busy}`,
  READ_ALONG,
  COUNT_HELD,
  TIED,
);

// KEYS: the job of the first one. ARGV: prefix of the jobs' keys, suffix, events.
const TIE = defineScript(`
  local base, suffix, first = ARGV[1], ARGV[2], ARGV[3]
  for i = 3, #ARGV do
    local job = base .. ARGV[i] .. suffix
    if redis.call('EXISTS', job) == 1 then
      redis.call('HSET', job, '${jobFields.firstMate}', first)
      if i > 3 then
        redis.call('HDEL', job, '${jobFields.mates}')
      else
        redis.call('HSET', job, '${jobFields.mates}', table.concat(ARGV, ' ', 3))
      end
    end
  end`);

// One that is held goes as soon as any of its set does: then that takes it. KEYS: prioritized, delayed, active, wait.
// ARGV: prefix of the jobs' keys, suffix, event, now. Gives 1 if the first one of those that it is tied to is another
// one, which runs or is about to.
const FOLLOWS = defineScript(
  `
  local prioritized, delayed, active, wait = unpack(KEYS)
  local _, first = tied_to(ARGV[1], ARGV[3], ARGV[2])
  if not first or first == ARGV[3] then return 0 end
  local job = first .. ARGV[2]
  local score = redis.call('ZSCORE', delayed, job)
  local is_soon = score and tonumber(score) <= (tonumber(ARGV[4]) + ${DUE_WITHIN_MS}) * ${DELAYED_SCORE}
  local is_near = is_soon or redis.call('ZSCORE', prioritized, job)
  return (is_near or redis.call('LPOS', active, job) or redis.call('LPOS', wait, job)) and 1 or 0`,
  TIED,
);

type MatesReply = readonly [
  tied: string,
  taken: readonly (readonly [jobId: string, fields: StoredFields, texts: StoredTexts | null])[],
  busy: readonly string[],
];

export interface TakenMates {
  /** Those that the first one was to go with, itself included; none: it was tied to nothing. */
  readonly tied: readonly string[];
  readonly jobs: readonly TakenJob[];
  /** The events of those that run: of the tied ones, or else of those that are held. */
  readonly busy: readonly string[];
}

/** Deliveries of one endpoint that are sent in one request: how a worker takes them, and ties them to each other. */
export class MateJobs {
  readonly #keys;
  readonly #queueKeys;
  readonly #readsAlong: boolean;

  constructor(
    redis: RedisClient,
    { prefix }: QueueShard,
    private readonly lockDurationMs: number,
  ) {
    this.#keys = createJobKeys(prefix, DELIVERIES_QUEUE);
    this.#queueKeys = queueKeysOf(prefix);
    this.#readsAlong = !(redis instanceof Cluster);
  }

  /** Take some that can go with the delivery of an event, and lock them. */
  async take(
    target: ScriptTarget,
    address: EndpointAddress,
    first: EventId,
    token: string,
    { most, maxBytes, isInOrder }: WantedMates,
  ): Promise<TakenMates> {
    const readAt = steadyClock();
    const readsAlong = this.#readsAlong && target instanceof ScriptUnit ? 1 : 0;
    const { base, prioritized, delayed, active, wait } = this.#keys;
    const { held, heldCounts, countedAsHeld } = this.#queueKeys;
    const scriptKeys = [
      held(address.endpointId),
      heldCounts,
      countedAsHeld,
      prioritized,
      delayed,
      active,
      wait,
    ];
    const what = [base, first, suffixOf(address.endpointId), most, encodeAddress(address)];
    const how = [systemClock(), token, this.lockDurationMs, readsAlong, maxBytes, isInOrder ? 1 : 0];
    const [tied, taken, busy] = (await TAKE_MATES(target, scriptKeys, [...what, ...how])) as MatesReply;
    return {
      tied: tied === '' ? [] : tied.split(' '),
      busy,
      jobs: taken.map(([jobId, fields, texts]) => ({
        jobId,
        token,
        json: jobOf(jobId, fields),
        texts: texts ? textsOf(texts, target, readAt) : undefined,
      })),
    };
  }

  /** Whether a delivery is tied to others, and goes when the first one of them takes it. */
  async follows(target: ScriptTarget, endpointId: EndpointId, event: EventId): Promise<boolean> {
    const { base, prioritized, delayed, active, wait } = this.#keys;
    const scriptKeys = [prioritized, delayed, active, wait];
    return (await FOLLOWS(target, scriptKeys, [base, suffixOf(endpointId), event, systemClock()])) === 1;
  }

  tie(endpointId: EndpointId, events: readonly EventId[]): Step {
    const suffix = suffixOf(endpointId);
    const { base, job } = this.#keys;
    return (target) => TIE(target, [job((events[0] ?? '') + suffix)], [base, suffix, ...events]);
  }
}

function suffixOf(endpointId: EndpointId): string {
  return deliveryIdOf({ eventId: '' as EventId, endpointId });
}
