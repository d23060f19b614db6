import { Cluster } from 'ioredis';
import type { AccountId } from '../domain/account';
import {
  type DeliveryId,
  type DeliveryParts,
  type DeliveryTexts,
  DUE_WITHIN_MS,
  deliveryIdOf,
  type WantedMates,
} from '../domain/delivery';
import { type EndpointAddress, type EndpointId, encodeAddress } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { keys, queueKeysOf } from '../domain/keys';
import { DELIVERIES_QUEUE, type QueueShard } from '../domain/queues';
import { type Clock, steadyClock, systemClock } from '../platform/clock';
import type { RedisClient } from '../platform/redis-connect';
import { defineScript, inLua, type ScriptTarget, ScriptUnit, type Step } from '../platform/redis-script';
import { createJobKeys, DELAYED_SCORE, jobFields } from './bullmq-layout';
import { READ_ALONG, textIn } from './bullmq-running-jobs';
import { COUNT_HELD } from './libraries';

// This many waiting jobs are looked at, page by page, as long as half of a page are the endpoint's.
const PAGE = 50;

/*
 * The deliveries that go together are recorded in their jobs: each has the event of the first one, and the job of that
 * has all of them. So they go when their jobs do. A set whose first one has ended is none any more, and what has
 * been tied again is of that set alone.
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
 * then from the front of the queue; none of them is tied to others. They are tied at once if all are taken: then nothing
 * is left to do before they are sent. Taking one does what `TAKE` does.
 */
// KEYS: held, counts, counted endpoints, prioritized, delayed, active, wait. ARGV: prefix of the jobs' keys, event, suffix
// of the ids of the endpoint's jobs, the most to take, endpoint, now, token, how long the lock holds, 1 to read along what
// the jobs need, the most bytes of their events, 1 to take held ones only, 1 to tie those that are new. Gives what the
// first one was tied to; those that run of the tied ones, or of the held ones: they may be on their way to that; breaker
// and endpoint; and of each that is taken, what `MateReply` has.
const TAKE_MATES = defineScript(
  `
  local held, counts, counted, prioritized, delayed, active, wait = unpack(KEYS)
  local base, first, suffix, most, now = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[6])
  local reads_along, room, soon = ARGV[9] == '1', tonumber(ARGV[10]), (now + ${DUE_WITHIN_MS}) * ${DELAYED_SCORE}
  local endpoint, account = string.sub(suffix, 2), nil
  local taken, jobs, events, logs, leaving, is_full = {}, {}, {}, {}, {}, false

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

  -- Gives false if it is not to be taken, and nil if it can't be. Those in front of the queue leave it in the end.
  local function take(event, is_in_front)
    if event == first or #jobs >= most or is_full then return false end
    local job = event .. suffix
    local started, stalled, data, with, holds = unpack(redis.call('HMGET', base .. job, '${jobFields.attemptsStarted}', '${jobFields.stalledCount}', '${jobFields.data}', '${jobFields.firstMate}', '${jobFields.holds}'))
    account = account or data and string.match(data, '"account_id":"([%w_-]+)"')
    if not data or not account then return end
    if with and not tied and tied_to(base, event, suffix) then return false end
    local text = reads_along and redis.call('GET', ${inLua(keys.event('<account>' as AccountId, '<event>' as EventId))})
    if text and #text > room and not tied then
      is_full = true
      return false
    end
    if is_in_front then leaving[#leaving + 1] = job elseif not remove(job, event) then return end
    room = room - (text and #text or 0)
    jobs[#jobs + 1], events[#events + 1] = job, event
    logs[#logs + 1] = ${inLua(keys.delivery('<endpoint>' as EndpointId, '<event>' as EventId))}
    taken[#taken + 1] = {event, (tonumber(started) or 0) + 1, tonumber(stalled) or 0, data, false, text, holds}
    return true
  end

  local busy = {}
  local function take_or_note(event)
    if take(event) == nil and redis.call('LPOS', active, event .. suffix) then busy[#busy + 1] = event end
  end
  if tied then
    for event in string.gmatch(tied, '%S+') do
      if event ~= first and redis.call('HGET', base .. event .. suffix, '${jobFields.firstMate}') == leader then
        take_or_note(event)
      end
    end
  else
    for _, event in ipairs(redis.call('ZRANGE', held, 0, 2 * most + 19)) do
      if #jobs >= most or is_full then break end
      take_or_note(event)
    end
    local seen, enough = 0, ARGV[11] == '1'
    while not enough and #jobs < most and not is_full do
      local page, own = redis.call('ZRANGE', prioritized, seen, seen + ${PAGE - 1}), 0
      for _, job in ipairs(page) do
        if string.sub(job, -#suffix) == suffix then
          own = own + 1
          take(string.sub(job, 1, -#suffix - 1), true)
        end
      end
      seen = seen + #page
      enough = #page < ${PAGE} or own * 2 < #page
    end
  end

  local breaker, stored = false, false
  if #jobs > 0 then
    if #leaving > 0 then redis.call('ZREM', prioritized, unpack(leaving)) end
    redis.call('ZREM', held, unpack(events))
    redis.call('LPUSH', active, unpack(jobs))
    for i, job in ipairs(jobs) do
      redis.call('SET', base .. job .. ':lock', ARGV[7], 'PX', ARGV[8])
      redis.call('HSET', base .. job, 'processedOn', ARGV[6], '${jobFields.attemptsStarted}', taken[i][2], '${jobFields.firstMate}', tied and leader or first)
    end
    if reads_along then
      for i, log in ipairs(redis.call('MGET', unpack(logs))) do taken[i][5] = log end
      breaker = redis.call('GET', ${inLua(keys.breaker('<endpoint>' as EndpointId))})
      stored = read_once('HGET', ${inLua(keys.endpoints('<account>' as AccountId))}, endpoint)
    end
  end
  local job = base .. first .. suffix
  if ARGV[12] == '1' and not tied and #busy == 0 and redis.call('EXISTS', job) == 1 then
    redis.call('HSET', job, '${jobFields.firstMate}', first, '${jobFields.mates}', table.concat({first, unpack(events)}, ' '))
  end
  count_held(counts, counted, ARGV[5], redis.call('ZCARD', held))
  return {tied or '', busy, breaker, stored, taken}`,
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

// KEYS: the job of the first one.
const UNTIE = defineScript(`redis.call('HDEL', KEYS[1], '${jobFields.firstMate}', '${jobFields.mates}')`);

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
  busy: readonly string[],
  breaker: string | null,
  endpoint: number | null,
  taken: readonly MateReply[],
];

type MateReply = readonly [
  event: EventId,
  attemptsStarted: number,
  stalledCounter: number,
  data: string,
  log: string | null,
  storedEvent: string | null,
  holds: string | null,
];

/** A job that was taken along with another one, as far as a worker needs it. */
export interface TakenMate extends DeliveryParts {
  readonly id: DeliveryId;
  /** What it is locked with. */
  readonly token: string;
  readonly attemptsStarted: number;
  readonly stalledCounter: number;
  /** Milliseconds since the Unix epoch. */
  readonly processedOn: number;
  /** As JSON. */
  readonly data: string;
  /** As its field has them. Absent: it was not held. */
  readonly holds: string | undefined;
  /** Absent in a Cluster, where they are on other nodes. */
  readonly texts: DeliveryTexts | undefined;
}

export interface MatesToTake extends WantedMates {
  /** Whether those that the first one was not tied to are tied to it, unless one of them is busy. */
  readonly ties: boolean;
}

export interface TakenMates {
  /** Those that the first one was to go with, itself included; none: it was tied to nothing. */
  readonly tied: readonly string[];
  readonly jobs: readonly TakenMate[];
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
    private readonly clock: Clock = systemClock,
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
    { most, maxBytes, isInOrder, ties }: MatesToTake,
  ): Promise<TakenMates> {
    const readsAlong = this.#readsAlong && target instanceof ScriptUnit;
    const read = { readAt: steadyClock(), processedOn: this.clock(), readsAlong, target, token };
    const { base, prioritized, delayed, active, wait } = this.#keys;
    const { held, heldCounts, countedAsHeld } = this.#queueKeys;
    const { endpointId } = address;
    const scriptKeys = [held(endpointId), heldCounts, countedAsHeld, prioritized, delayed, active, wait];
    const what = [base, first, suffixOf(endpointId), most, encodeAddress(address)];
    const how = [read.processedOn, token, this.lockDurationMs, readsAlong ? 1 : 0, maxBytes];
    const args = [...what, ...how, isInOrder ? 1 : 0, ties ? 1 : 0];
    const reply = (await TAKE_MATES(target, scriptKeys, args)) as MatesReply;
    const [tied, busy] = reply;
    return { tied: tied === '' ? [] : tied.split(' '), busy, jobs: matesOf(reply, endpointId, read) };
  }

  /** Whether a delivery is tied to others, and goes when the first one of them takes it. */
  async follows(target: ScriptTarget, endpointId: EndpointId, event: EventId): Promise<boolean> {
    const { base, prioritized, delayed, active, wait } = this.#keys;
    const scriptKeys = [prioritized, delayed, active, wait];
    return (await FOLLOWS(target, scriptKeys, [base, suffixOf(endpointId), event, this.clock()])) === 1;
  }

  tie(endpointId: EndpointId, events: readonly EventId[]): Step {
    const suffix = suffixOf(endpointId);
    const { base, job } = this.#keys;
    return (target) => TIE(target, [job((events[0] ?? '') + suffix)], [base, suffix, ...events]);
  }

  /** Let those that a delivery is the first of go apart. */
  untie(endpointId: EndpointId, first: EventId): Step {
    return (target) => UNTIE(target, [this.#keys.job(first + suffixOf(endpointId))], []);
  }
}

interface MatesRead {
  readonly target: ScriptTarget;
  readonly token: string;
  readonly readsAlong: boolean;
  readonly readAt: number;
  readonly processedOn: number;
}

function matesOf(
  [, , breaker, endpoint, taken]: MatesReply,
  endpointId: EndpointId,
  { target, token, readsAlong, readAt, processedOn }: MatesRead,
): readonly TakenMate[] {
  const stored = textIn(target, endpoint);
  return taken.map(([eventId, attemptsStarted, stalledCounter, data, log, event, holds]) => ({
    eventId,
    endpointId,
    id: deliveryIdOf({ eventId, endpointId }),
    token,
    attemptsStarted,
    stalledCounter,
    processedOn,
    data,
    holds: holds ?? undefined,
    texts: readsAlong ? { log, breaker, endpoint: stored, event, readAt } : undefined,
  }));
}

function suffixOf(endpointId: EndpointId): string {
  return deliveryIdOf({ eventId: '' as EventId, endpointId });
}
