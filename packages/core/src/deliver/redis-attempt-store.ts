import { z } from 'zod';
import { type AttemptOutcome, isAboutReceiver } from '../domain/attempt';
import { BREAKER_KEPT_MS, FAILURES_TO_OPEN, MAX_OPEN_MS, MIN_OPEN_MS, OPEN_SHARE } from '../domain/breaker';
import type { DeliveryParts } from '../domain/delivery';
import { type AttemptedFact, linesToAppend } from '../domain/delivery-log';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import { keysOfLimits, RATE_WINDOW_MS } from '../endpoints/flow/redis-admission-store';
import type { LogLength } from '../events/redis-delivery-store';
import type { Retention } from '../events/redis-event-index';
import type { RedisClient } from '../platform/redis-connect';
import { defineGuard, type ScriptTarget } from '../platform/redis-script';
import { LOG_LINES } from '../queue/libraries';

export interface AttemptRecord {
  readonly delivery: DeliveryParts;
  readonly fact: AttemptedFact;
  /** The length of the log when the attempt was prepared. */
  readonly logLength: LogLength;
  /**
   * When the event was accepted: the delivery's position in its endpoint's list. Milliseconds since the Unix
   * epoch.
   */
  readonly acceptedAt: number;
  /** Until when the breaker was open at the attempt's admission; 0 if it was closed. */
  readonly openUntil: number;
  /** Whether the record of another attempt, of the same request, already has the result for the receiver. */
  readonly isAlong?: boolean;
  /** The key that counts it for the rate limit, if there is one. */
  readonly attemptKey: string | undefined;
  /** Whether the delivery has ended in a strict order, and makes room for the next one. */
  readonly leavesOrder: boolean;
  /** Whether the account is told that its endpoint fails. */
  readonly tellsOfFailing: boolean;
  /** Whether a delivery without a log is recorded only if its endpoint's list has it. */
  readonly mustBeListed?: boolean;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
}

/** The result of one request for its other deliveries. The record of the first one has the result for the receiver. */
export interface RecordsAlong {
  readonly endpointId: EndpointId;
  readonly along: readonly RecordAlong[];
  /** The keys that count them for the rate limit, where that counts events. */
  readonly attemptKeys: readonly string[];
  /** As for a single one. */
  readonly mustBeListed: boolean;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
}

/** The same attempt of some deliveries. */
export interface RecordAlong extends Pick<AttemptRecord, 'fact' | 'logLength' | 'leavesOrder'> {
  readonly deliveries: readonly { readonly eventId: EventId; readonly acceptedAt: number }[];
}

/** The effect of a recorded attempt on its endpoint. */
export interface AttemptEffect {
  /** Failed attempts since the last success. */
  readonly failures: number;
  /** Whether this failure opened the breaker, or kept it open, and until when. */
  readonly openedUntil: number | undefined;
  /**
   * When the first attempt since the last success failed. Milliseconds since the Unix epoch; none after a
   * success.
   */
  readonly failingSince: number | undefined;
  /** Whether this success has closed a breaker that was open. */
  readonly hasClosed: boolean;
  /** When the failures began that this success ends, if the account got a message about them. */
  readonly recoveredFrom: number | undefined;
  /** Whether deliveries are held for the rate limit. */
  readonly isRateWaitedFor: boolean;
  /**
   * Whether its delivery has left the strict order, and others are held for their turn. It has to wake them up: no later
   * delivery is told of them.
   */
  readonly letsOthersGo: boolean;
}

/**
 * This many bytes of receivers' responses are kept for an endpoint, and as many again in the course of the
 * retention: a thousand responses of 4 KiB, and from then on a few an hour. Otherwise an endpoint that fails
 * for days would fill the store with similar responses.
 */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

// What an attempt says of its receiver.
const FAILURE = 0;
const SUCCESS = 1;
const SAYS_NOTHING = 2;

const UNRECORDED = '{0, 0, 0, 0, 0, 0, 0, 0}';

const EFFECTS = `
  -- How many bytes of responses an endpoint has left behind.
  local function answer_level_of(answers, kept_ms, now)
    local level, at = string.match(redis.call('GET', answers) or '0 0', '(%d+) (%d+)')
    local leaked = math.max(now - tonumber(at), 0) * ${MAX_ANSWER_BYTES} / tonumber(kept_ms)
    return math.max(tonumber(level) - leaked, 0)
  end

  -- Of strict order.
  local function leave_order(order, turn, events)
    redis.call('ZREM', order, unpack(events))
    local holder = redis.call('GET', turn)
    for _, event in ipairs(events) do
      if event == holder then redis.call('DEL', turn) end
    end
  end

  local function end_of_window()
    local time = redis.call('TIME')
    local redis_now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
    return string.format('%d', redis_now + ${RATE_WINDOW_MS})
  end`;

/*
 * Everything that an attempt leaves behind, in one step: a reader that finds it recorded finds all its
 * effects.
 *
 * The fan-out's process may have died before the delivery was listed, so this lists it as well. The list of
 * an endpoint that is gone does not come back.
 *
 * Nothing at all is written if the log has changed since the attempt was prepared: another worker has
 * continued the delivery. An attempt that sent nothing leaves the breaker as it was before it: if it was the
 * probe, the next one may be. Attempts that were running when the breaker opened say nothing new: otherwise a
 * receiver that fails many at once would get the longest pause at once.
 */
// A connection that breaks may lose the reply, and ioredis sends the script again: then the log has this very line where
// it was appended, and the effects are read from what the first run has left. A breaker that is closed by then says
// no more since when it was open.
//
// The keys after the breaker are given only if the attempt is counted (`attempt` is not '') or the delivery leaves the order.
// `waiting` tells of deliveries held for the rate limit, `order_waiting` of those held for the turn. `length` is the log's,
// `short_line` is without the response, `was_open_until` is the breaker's at the admission of the attempt, `time` the
// worker's. With `must_be_listed` a delivery without a log must be in the list: one of which nothing is left has neither.
const RECORD = defineGuard(
  `
  local log, list, answers, breaker, recent, order, turn, waiting, order_waiting = unpack(KEYS)
  local length, full_line, short_line, kept_ms, event, accepted_at, verdict, time, was_open_until, tells_of_failing,
    attempt, leaves_order, must_be_listed = unpack(ARGV)
  local now, is_new = tonumber(time), length == '0'
  local is_waited_for, are_held = 0, 0

  local function effect(failures, opened, since, has_closed, recovered_from)
    return {1, failures or 0, opened or 0, since or 0, has_closed or 0, recovered_from or 0, is_waited_for, are_held}
  end

  local is_listed = redis.call('ZSCORE', list, event)
  if is_new and must_be_listed and not is_listed then return ${UNRECORDED} end
  local line, answer_level = full_line, nil
  if #full_line > #short_line then
    answer_level = answer_level_of(answers, kept_ms, now) + #full_line - #short_line
    if answer_level > ${MAX_ANSWER_BYTES} then line = short_line end
  end
  local appended = append_line(log, length, line, short_line, kept_ms)
  if not appended then
    if not has_line_at(log, length, full_line, short_line) then return ${UNRECORDED} end
    if attempt ~= '' then is_waited_for = redis.call('EXISTS', waiting) end
    -- Whether the first run has found others is not known.
    if leaves_order == '1' then are_held = 1 end
    if verdict == '${SAYS_NOTHING}' then return effect() end
    if verdict == '${SUCCESS}' then return effect(0, 0, 0, was_open_until ~= '0' and 1 or 0) end
    local stored = redis.call('GET', breaker) or ''
    local failures, open_until, since = string.match(stored .. ' 0 0 0', '(%d+) (%d+) (%d+)')
    local opened = tonumber(open_until) > now and tonumber(open_until) or 0
    return effect(tonumber(failures), opened, tonumber(since))
  end
  if answer_level and appended == full_line then
    redis.call('SET', answers, string.format('%d %d', answer_level, now), 'PX', kept_ms)
  end
  if not is_listed and redis.call('EXISTS', list) == 1 then redis.call('ZADD', list, accepted_at, event) end
  if leaves_order == '1' then
    leave_order(order, turn, {event})
    are_held = redis.call('DEL', order_waiting)
  end
  if attempt ~= '' then
    redis.call('ZADD', recent, 'XX', end_of_window(), attempt)
    is_waited_for = redis.call('EXISTS', waiting)
  end

  local stored = redis.call('GET', breaker)
  if verdict == '${SAYS_NOTHING}' then
    if stored and was_open_until ~= '0' then
      local count, rest = string.match(stored, '(%d+) %d+(.*)')
      redis.call('SET', breaker, count .. ' ' .. was_open_until .. rest, 'PX', ${BREAKER_KEPT_MS})
    end
    return effect()
  end
  if verdict == '${SUCCESS}' then
    if not stored then return effect() end
    redis.call('DEL', breaker)
    local _, open_until, since, told = string.match(stored .. ' 0 0', '(%d+) (%d+) (%d+) (%d+)')
    return effect(0, 0, 0, open_until ~= '0' and 1 or 0, told == '1' and tonumber(since) or 0)
  end
  local record = (stored or '0 0') .. ' ' .. time .. ' 0'
  local failures, open_until, since, told = string.match(record, '(%d+) (%d+) (%d+) (%d+)')
  failures = tonumber(failures)
  local says_something, opened = tonumber(open_until) <= now or was_open_until ~= '0', 0
  if says_something then
    failures = failures + 1
    if failures >= ${FAILURES_TO_OPEN} then
      local share = (now - tonumber(since)) / ${OPEN_SHARE}
      opened = now + math.floor(math.min(math.max(share, ${MIN_OPEN_MS}), ${MAX_OPEN_MS}))
      open_until = string.format('%d', opened)
    end
  end
  if tells_of_failing == '1' then told = '1' end
  record = table.concat({string.format('%d', failures), open_until, since, told}, ' ')
  redis.call('SET', breaker, record, 'PX', ${BREAKER_KEPT_MS})
  return effect(failures, opened, tonumber(since))`,
  LOG_LINES,
  EFFECTS,
);

/*
 * Records the attempts of the other deliveries of a request: all of them, or none if the log of one has changed. The record
 * of the first delivery has the result for the receiver.
 */
// KEYS: list, recent attempts, order, turn, bytes of responses. ARGV: prefix of the logs' keys, how long to keep them, the
// worker's time, 1 if one without a log must be in the list, how many keys of attempts that are counted, these; then for
// each line: length of the logs, line, line without the response, 1 if its deliveries leave the order, how many there are, and
// event and time of acceptance of each. Gives 1; or 0 and the events whose logs have changed.
const RECORD_ALONG = defineGuard(
  `
  local list, recent, order, turn, answers = unpack(KEYS)
  local prefix, kept_ms, now, must_be_listed = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1'
  local lines, events, accepted, logs, new_logs, ended, at = {}, {}, {}, {}, {}, {}, 6 + ARGV[5]
  while at < #ARGV do
    local line = {length = ARGV[at], is_new = ARGV[at] == '0', text = ARGV[at + 1], short = ARGV[at + 2]}
    local leaves_order, last = ARGV[at + 3] == '1', at + 3 + 2 * ARGV[at + 4]
    for i = at + 5, last, 2 do
      local n = #events + 1
      lines[n], events[n], accepted[n], logs[n] = line, ARGV[i], ARGV[i + 1], prefix .. ARGV[i]
      if line.is_new then new_logs[#new_logs + 1] = logs[n] end
      if leaves_order then ended[#ended + 1] = ARGV[i] end
    end
    at = last + 2
  end

  local listed = redis.call('ZMSCORE', list, unpack(events))
  local are_all_new = #new_logs == #events and redis.call('EXISTS', unpack(new_logs)) == 0
  local changed, is_there = {0}, {}
  for i, event in ipairs(events) do
    local line, log = lines[i], logs[i]
    if line.is_new and must_be_listed and not listed[i] then
      changed[#changed + 1] = event
    elseif not are_all_new and redis.call('STRLEN', log) ~= tonumber(line.length) then
      is_there[i] = has_line_at(log, line.length, line.text, line.short)
      if not is_there[i] then changed[#changed + 1] = event end
    end
  end
  if #changed > 1 then return changed end

  local level
  for i, log in ipairs(logs) do
    local line = lines[i]
    local text, more = line.text, #line.text - #line.short
    if more > 0 and not is_there[i] then
      level = level or answer_level_of(answers, kept_ms, now)
      if level + more > ${MAX_ANSWER_BYTES} then text = line.short end
    end
    local appended = not is_there[i] and append_line(log, line.length, text, line.short, kept_ms)
    if more > 0 and appended == line.text then level = level + more end
  end
  if level then redis.call('SET', answers, string.format('%d %d', level, now), 'PX', kept_ms) end

  local missing = {}
  for i, event in ipairs(events) do
    if not listed[i] then
      missing[#missing + 1] = accepted[i]
      missing[#missing + 1] = event
    end
  end
  if #missing > 0 and redis.call('EXISTS', list) == 1 then redis.call('ZADD', list, unpack(missing)) end
  if #ended > 0 then leave_order(order, turn, ended) end
  local counted = {}
  for i = 6, 5 + ARGV[5] do
    counted[#counted + 1] = end_of_window()
    counted[#counted + 1] = ARGV[i]
  end
  if #counted > 0 then redis.call('ZADD', recent, 'XX', unpack(counted)) end
  return {1}`,
  LOG_LINES,
  EFFECTS,
);

const replySchema = z.tuple([
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.number(),
]);

/** Records attempts, with all their effects on the endpoint. */
export class AttemptStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly retention: Pick<Retention, 'ageMs'>,
  ) {}

  /**
   * `undefined`, and nothing is recorded, when the log has changed. A guard: what comes after it runs only if
   * the attempt is recorded.
   */
  async record(
    attempt: AttemptRecord,
    target: ScriptTarget = this.redis,
  ): Promise<AttemptEffect | undefined> {
    const { endpointId, eventId } = attempt.delivery;
    const { fact, logLength, acceptedAt, now, openUntil, attemptKey = '' } = attempt;
    const hasLimits = attemptKey !== '' || attempt.leavesOrder;
    const scriptKeys = [
      keys.delivery(endpointId, eventId),
      keys.deliveries(endpointId),
      keys.answerBytes(endpointId),
      ...(hasLimits ? keysOfLimits(endpointId) : [keys.breaker(endpointId)]),
    ];
    const args = [
      logLength,
      ...linesToAppend(fact),
      this.retention.ageMs,
      eventId,
      acceptedAt,
      attempt.isAlong ? SAYS_NOTHING : verdictOf(fact.attempt.outcome),
      now,
      openUntil,
      attempt.tellsOfFailing ? 1 : 0,
      attemptKey,
      attempt.leavesOrder ? 1 : 0,
    ];
    if (attempt.mustBeListed) args.push(1);
    const reply = replySchema.parse(await RECORD(target, scriptKeys, args));
    const [isRecorded, failures, openedUntil, failingSince, hasClosed, recoveredFrom, ...others] = reply;
    const [isWaitedFor, areHeld] = others;
    if (isRecorded === 0) return undefined;
    return {
      failures,
      openedUntil: openedUntil || undefined,
      failingSince: failingSince || undefined,
      hasClosed: hasClosed === 1,
      recoveredFrom: recoveredFrom || undefined,
      isRateWaitedFor: isWaitedFor === 1,
      letsOthersGo: areHeld === 1,
    };
  }

  /**
   * Record attempts by the request of another one, beside its record: all of them, or none. A guard.
   *
   * @returns the events whose logs have changed. `undefined`: all are recorded.
   */
  async recordAlong(
    { endpointId, along, attemptKeys, mustBeListed, now }: RecordsAlong,
    target: ScriptTarget = this.redis,
  ): Promise<readonly EventId[] | undefined> {
    const scriptKeys = [
      keys.deliveries(endpointId),
      keys.recentAttempts(endpointId),
      keys.order(endpointId),
      keys.turn(endpointId),
      keys.answerBytes(endpointId),
    ];
    const { ageMs } = this.retention;
    const prefix = keys.deliveryPrefix(endpointId);
    const args = [prefix, ageMs, now, mustBeListed ? 1 : 0, attemptKeys.length, ...attemptKeys];
    for (const { fact, logLength, leavesOrder, deliveries } of along) {
      args.push(logLength, ...linesToAppend(fact), leavesOrder ? 1 : 0, deliveries.length);
      for (const { eventId, acceptedAt } of deliveries) args.push(eventId, acceptedAt);
    }
    const [isRecorded, ...changed] = alongReplySchema.parse(await RECORD_ALONG(target, scriptKeys, args));
    return isRecorded === 0 ? (changed as EventId[]) : undefined;
  }
}

const alongReplySchema = z.tuple([z.number()]).rest(z.string());

function verdictOf(outcome: AttemptOutcome): number {
  if (!isAboutReceiver(outcome)) return SAYS_NOTHING;
  return outcome === 'delivered' ? SUCCESS : FAILURE;
}
