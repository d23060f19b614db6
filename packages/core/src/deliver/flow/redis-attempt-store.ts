import { z } from 'zod';
import { type AttemptOutcome, isAboutReceiver } from '../../domain/attempt';
import {
  BREAKER_KEPT_MS,
  FAILURES_TO_OPEN,
  MAX_OPEN_MS,
  MIN_OPEN_MS,
  OPEN_SHARE,
} from '../../domain/breaker';
import type { DeliveryParts } from '../../domain/delivery';
import { type AttemptedFact, ERASED_LOG_START, encodeFact, withoutAnswer } from '../../domain/delivery-log';
import { keys } from '../../domain/keys';
import { keysOfLimits, RATE_WINDOW_MS } from '../../endpoints/flow/redis-admission-store';
import type { LogLength } from '../../events/redis-delivery-store';
import type { Retention } from '../../events/redis-event-index';
import { type RedisClient, throwStorageErrors } from '../../platform/redis-connect';
import { defineGuard, type ScriptTarget } from '../../platform/redis-script';

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
  /** Whether it says nothing of its receiver that the record of another attempt does not say. */
  readonly isAlong?: boolean;
  /** The key that counts it for the rate limit, if there is one. */
  readonly attemptKey: string | undefined;
  /** Whether the delivery has ended, and makes room for the next one in the order. */
  readonly hasEnded: boolean;
  /** Whether the account is told that its endpoint fails. */
  readonly tellsOfFailing: boolean;
  /** Whether a delivery without a log is recorded only if its endpoint's list has it. */
  readonly mustBeListed?: boolean;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
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
  /** When the trouble began that its account was told of and that this success has ended. */
  readonly recoveredFrom: number | undefined;
  /** Whether deliveries are held for the rate limit. */
  readonly isRateWaitedFor: boolean;
}

/**
 * This many bytes of receivers' responses are kept for an endpoint, and as many again in the course of the
 * retention: a thousand responses of 4 KiB, and from then on a few an hour. Otherwise an endpoint that fails
 * for days would fill the store with similar responses.
 */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

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
// A connection that breaks may lose the reply, and ioredis sends the script again: then the log ends with this
// very line, and the effects are read from what the first run has left. A breaker that is closed by then says
// no more since when it was open.
//
// KEYS: log, list, breaker, recent attempts, order, turn, waiting for the rate limit, bytes of responses.
// ARGV: length of the log, line, line without the response, how long to keep it, event, time of acceptance, 1
// for a success, 2 for an attempt that says nothing of its receiver, the worker's time, open-until at its
// admission, whether the account is told of a failure, attempt ('' if it is not counted), whether it has ended, 1 if one without a log must be in the list: one that
// has moved to the history has neither.
const RECORD = defineGuard(`
  local log, list, breaker, recent, order, turn, waiting, answers = unpack(KEYS)
  local event, now = ARGV[5], tonumber(ARGV[8])
  local is_new = ARGV[1] == '0'
  if is_new and ARGV[13] and not redis.call('ZSCORE', list, event) then return {0, 0, 0, 0, 0, 0, 0} end
  local is_unchanged = is_new or redis.call('STRLEN', log) == tonumber(ARGV[1])
  local line, answer_level = ARGV[2], nil
  if is_unchanged and #ARGV[2] > #ARGV[3] then
    local level, at = string.match(redis.call('GET', answers) or '0 0', '(%d+) (%d+)')
    local leaked = math.max(now - tonumber(at), 0) * ${MAX_ANSWER_BYTES} / tonumber(ARGV[4])
    answer_level = math.max(tonumber(level) - leaked, 0) + #ARGV[2] - #ARGV[3]
    local is_erased = not is_new and redis.call('GETRANGE', log, 0, ${ERASED_LOG_START.length - 1}) == '${ERASED_LOG_START}'
    if is_erased or answer_level > ${MAX_ANSWER_BYTES} then line, answer_level = ARGV[3], nil end
  end
  if is_new then
    is_unchanged = redis.call('SET', log, line, 'PX', ARGV[4], 'NX')
  elseif is_unchanged then
    redis.call('APPEND', log, line)
    redis.call('PEXPIRE', log, ARGV[4])
  end
  if not is_unchanged then
    local last = redis.call('GETRANGE', log, ARGV[1], -1)
    if last ~= ARGV[2] and last ~= ARGV[3] then return {0, 0, 0, 0, 0, 0, 0} end
    local is_waited_for = ARGV[11] ~= '' and redis.call('EXISTS', waiting) or 0
    if ARGV[7] == '2' then return {1, 0, 0, 0, 0, 0, is_waited_for} end
    if ARGV[7] == '1' then return {1, 0, 0, 0, ARGV[9] ~= '0' and 1 or 0, 0, is_waited_for} end
    local stored = redis.call('GET', breaker) or ''
    local failures, open_until, since = string.match(stored .. ' 0 0 0', '(%d+) (%d+) (%d+)')
    local opened = tonumber(open_until) > now and tonumber(open_until) or 0
    return {1, tonumber(failures), opened, tonumber(since), 0, 0, is_waited_for}
  end
  if answer_level then redis.call('SET', answers, string.format('%d %d', answer_level, now), 'PX', ARGV[4]) end
  if not redis.call('ZSCORE', list, event) and redis.call('EXISTS', list) == 1 then
    redis.call('ZADD', list, ARGV[6], event)
  end
  if ARGV[12] == '1' and redis.call('EXISTS', order, turn) > 0 then
    redis.call('ZREM', order, event)
    if redis.call('GET', turn) == event then redis.call('DEL', turn) end
  end
  local is_waited_for = 0
  if ARGV[11] ~= '' then
    local time = redis.call('TIME')
    local redis_now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
    redis.call('ZADD', recent, 'XX', string.format('%d', redis_now + ${RATE_WINDOW_MS}), ARGV[11])
    is_waited_for = redis.call('EXISTS', waiting)
  end

  local stored = redis.call('GET', breaker)
  if ARGV[7] == '2' then
    if stored and ARGV[9] ~= '0' then
      local count, rest = string.match(stored, '(%d+) %d+(.*)')
      redis.call('SET', breaker, count .. ' ' .. ARGV[9] .. rest, 'PX', ${BREAKER_KEPT_MS})
    end
    return {1, 0, 0, 0, 0, 0, is_waited_for}
  end
  if ARGV[7] == '1' then
    if not stored then return {1, 0, 0, 0, 0, 0, is_waited_for} end
    redis.call('DEL', breaker)
    local _, open_until, since, told = string.match(stored .. ' 0 0', '(%d+) (%d+) (%d+) (%d+)')
    return {1, 0, 0, 0, open_until ~= '0' and 1 or 0, told == '1' and tonumber(since) or 0, is_waited_for}
  end
  local record = (stored or '0 0') .. ' ' .. ARGV[8] .. ' 0'
  local failures, open_until, since, told = string.match(record, '(%d+) (%d+) (%d+) (%d+)')
  failures = tonumber(failures)
  local says_something, opened = tonumber(open_until) <= now or ARGV[9] ~= '0', 0
  if says_something then
    failures = failures + 1
    if failures >= ${FAILURES_TO_OPEN} then
      local share = (now - tonumber(since)) / ${OPEN_SHARE}
      opened = now + math.floor(math.min(math.max(share, ${MIN_OPEN_MS}), ${MAX_OPEN_MS}))
      open_until = string.format('%d', opened)
    end
  end
  if ARGV[10] == '1' then told = '1' end
  record = table.concat({string.format('%d', failures), open_until, since, told}, ' ')
  redis.call('SET', breaker, record, 'PX', ${BREAKER_KEPT_MS})
  return {1, failures, opened, tonumber(since), 0, 0, is_waited_for}`);

const replySchema = z.tuple([
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
    const scriptKeys = [
      keys.delivery(endpointId, eventId),
      keys.deliveries(endpointId),
      ...keysOfLimits(endpointId),
      keys.answerBytes(endpointId),
    ];
    const args = [
      logLength,
      encodeFact(fact),
      encodeFact(withoutAnswer(fact)),
      this.retention.ageMs,
      eventId,
      acceptedAt,
      attempt.isAlong ? SAYS_NOTHING : verdictOf(fact.attempt.outcome),
      now,
      openUntil,
      attempt.tellsOfFailing ? 1 : 0,
      attemptKey,
      attempt.hasEnded ? 1 : 0,
    ];
    if (attempt.mustBeListed) args.push(1);
    const [isRecorded, failures, openedUntil, failingSince, hasClosed, recoveredFrom, isWaitedFor] =
      replySchema.parse(await RECORD(target, scriptKeys, args));
    if (isRecorded === 0) return undefined;
    return {
      failures,
      openedUntil: openedUntil || undefined,
      failingSince: failingSince || undefined,
      hasClosed: hasClosed === 1,
      recoveredFrom: recoveredFrom || undefined,
      isRateWaitedFor: isWaitedFor === 1,
    };
  }
}

throwStorageErrors(AttemptStore);

const SAYS_NOTHING = 2;

function verdictOf(outcome: AttemptOutcome): number {
  if (!isAboutReceiver(outcome)) return SAYS_NOTHING;
  return outcome === 'delivered' ? 1 : 0;
}
