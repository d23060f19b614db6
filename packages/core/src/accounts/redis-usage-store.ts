import { z } from 'zod';
import type { AccountId } from '../domain/account';
import type { EndpointId } from '../domain/endpoint';
import { keys } from '../domain/keys';
import {
  type AccountUsage,
  API_KEY_BYTES,
  type UsageChange,
  type UsageKind,
  WEBHOOK_BYTES,
} from '../domain/usage';
import type { RedisClient } from '../platform/redis-connect';
import { defineScript, type ScriptTarget } from '../platform/redis-script';

/**
 * For scripts that store or remove data of an account: `count_usage(usage, used, field, bytes, kept_ms)`.
 * Both keys have the account's hash tag. What scripts count that run as one is written at their end, or by
 * `write_usage(usage)`.
 *
 * `usage` is a hash: `kind:time` → bytes that Redis drops by then. `used` is the sum of all, so that one
 * command reads it together with other keys. Lapsed parts are subtracted when an account is checked
 * (`redis-usage-store.ts`). Nothing is subtracted twice: data that is removed before its time is subtracted
 * from the part of that time, down to 0.
 */
export const COUNT_USAGE = `
  local function keep_for(key, ms)
    if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, string.format('%d', ms)) end
  end

  local function write_usage(usage)
    local counted, sum = once['usage ' .. usage], 0
    if next(counted.fields) == nil then return end
    for field, change in pairs(counted.fields) do
      redis.call('HINCRBY', usage, field, string.format('%d', change))
      sum = sum + change
    end
    counted.fields = {}
    if sum ~= 0 then redis.call('INCRBY', counted.used, string.format('%d', sum)) end
    keep_for(usage, counted.kept_ms)
    keep_for(counted.used, counted.kept_ms)
  end

  local function count_usage(usage, used, field, bytes, kept_ms)
    local counted = once['usage ' .. usage]
    if not counted then
      counted = {used = used, fields = {}, kept_ms = 0}
      once['usage ' .. usage] = counted
    end
    local change = bytes
    if bytes < 0 then
      local present = tonumber(redis.call('HGET', usage, field) or '0') + (counted.fields[field] or 0)
      change = -math.min(present, -bytes)
    end
    if change == 0 then return end
    counted.fields[field] = (counted.fields[field] or 0) + change
    counted.kept_ms = math.max(counted.kept_ms, kept_ms)
    at_end('write usage ' .. usage, function() write_usage(usage) end)
  end`;

/** The usage as read beside other keys, without subtracting lapsed parts: never less than the real usage. */
export interface Standing {
  readonly usedBytes: number;
  /** The operator's setting; `undefined`: not set. 0: unlimited. */
  readonly ownQuotaBytes: number | undefined;
}

// KEYS: usage, used bytes. ARGV: now, then of each change its kind, bytes and when it lapses.
const COUNT = defineScript(
  `
  local now = tonumber(ARGV[1])
  for i = 2, #ARGV, 3 do
    local kept_ms = tonumber(ARGV[i + 2]) - now
    if kept_ms > 0 then
      count_usage(KEYS[1], KEYS[2], ARGV[i] .. ':' .. ARGV[i + 2], tonumber(ARGV[i + 1]), kept_ms)
    end
  end`,
  COUNT_USAGE,
);

// Beside the ids of endpoints, of which none is as short.
const ALL_COUNTED = 'all';

// KEYS: usage, used bytes, quota, events, endpoints, ids of API keys, bytes of code. ARGV: now, bytes of a webhook,
// of an API key. Subtracts lapsed parts, and counts what does not lapse.
const LOOK = defineScript(`
  local now, total = tonumber(ARGV[1]), 0
  local sums = {events = 0, deliveries = 0, answers = 0, replays = 0, sessions = 0}
  local fields = redis.call('HGETALL', KEYS[1])
  for i = 1, #fields, 2 do
    local kind, lapses_at = string.match(fields[i], '^(%a+):(%d+)$')
    if not kind or not sums[kind] or tonumber(lapses_at) <= now then
      redis.call('HDEL', KEYS[1], fields[i])
    else
      sums[kind] = sums[kind] + tonumber(fields[i + 1])
      total = total + tonumber(fields[i + 1])
    end
  end
  local webhooks, api_keys = redis.call('HLEN', KEYS[5]), redis.call('ZCARD', KEYS[6])
  total = total + webhooks * tonumber(ARGV[2]) + api_keys * tonumber(ARGV[3])
  local code, is_all_counted = redis.call('HGETALL', KEYS[7]), webhooks == 0
  for i = 1, #code, 2 do
    if code[i] == '${ALL_COUNTED}' then
      is_all_counted = true
    elseif redis.call('HEXISTS', KEYS[5], code[i]) == 1 then
      total = total + tonumber(code[i + 1])
    else
      redis.call('HDEL', KEYS[7], code[i])
    end
  end
  local left = redis.call('PTTL', KEYS[1])
  if left > 0 then redis.call('SET', KEYS[2], string.format('%d', total), 'PX', left) else redis.call('DEL', KEYS[2]) end
  return {
    string.format('%d', total), redis.call('GET', KEYS[3]) or '',
    string.format('%d', sums.events), string.format('%d', sums.deliveries),
    string.format('%d', sums.answers), string.format('%d', sums.replays), string.format('%d', sums.sessions),
    redis.call('ZCARD', KEYS[4]), webhooks, api_keys, is_all_counted and 1 or 0
  }`);

// KEYS: versions of the code of an endpoint. Gives their bytes.
const CODE_BYTES = defineScript(`
  local bytes = 0
  for _, version in ipairs(redis.call('HVALS', KEYS[1])) do bytes = bytes + #version end
  return bytes`);

const count = z.coerce.number();
const lookSchema = z.tuple([
  count,
  z.string(),
  count,
  count,
  count,
  count,
  count,
  count,
  count,
  count,
  count,
]);

/** The counted usage of each account. */
export class UsageStore {
  constructor(private readonly redis: RedisClient) {}

  /** Not idempotent: a repetition counts twice. */
  async count(
    accountId: AccountId,
    changes: readonly UsageChange[],
    now: number,
    target: ScriptTarget = this.redis,
  ): Promise<void> {
    const args = changes.flatMap(({ kind, bytes, lapsesAt }) => [kind, bytes, lapsesAt]);
    await COUNT(target, [keys.usage(accountId), keys.usedBytes(accountId)], [now, ...args]);
  }

  /** Count the versions of an endpoint's code, after one was saved. */
  async countCode(accountId: AccountId, endpointId: EndpointId): Promise<void> {
    const bytes = await CODE_BYTES(this.redis, [keys.transformations(endpointId)], []);
    await this.redis.hset(keys.codeBytes(accountId), endpointId, String(bytes));
  }

  /** Once for each account: code may have been saved before any was counted. */
  async #countAllCode(accountId: AccountId): Promise<void> {
    const ids = await this.redis.hkeys(keys.endpoints(accountId));
    await Promise.all(ids.map((id) => this.countCode(accountId, id as EndpointId)));
    await this.redis.hset(keys.codeBytes(accountId), ALL_COUNTED, '0');
  }

  /** The exact usage at this moment. */
  async look(
    accountId: AccountId,
    now: number,
  ): Promise<Omit<AccountUsage, 'quotaBytes'> & Pick<Standing, 'ownQuotaBytes'>> {
    const { usage, usedBytes: used, quota, events: list, endpoints, apiKeyIds, codeBytes } = keys;
    const lookKeys = [usage, used, quota, list, endpoints, apiKeyIds, codeBytes];
    const reply = await LOOK(
      this.redis,
      lookKeys.map((keyOf) => keyOf(accountId)),
      [now, WEBHOOK_BYTES, API_KEY_BYTES],
    );
    const [usedBytes, own, ...counts] = lookSchema.parse(reply);
    const [eventBytes, deliveryBytes, answerBytes, replayBytes, sessionBytes, ...numbers] = counts;
    const [events, webhooks, apiKeys, isCodeCounted] = numbers;
    if (!isCodeCounted) {
      await this.#countAllCode(accountId);
      return await this.look(accountId, now);
    }
    const bytes: Record<UsageKind, number> = {
      events: eventBytes,
      deliveries: deliveryBytes,
      answers: answerBytes,
      replays: replayBytes,
      sessions: sessionBytes,
    };
    return { usedBytes, ownQuotaBytes: parseQuota(own), bytes, events, webhooks, apiKeys };
  }
}

/**
 * Parse the values of an account's `usedBytes` and `quota`, as any command that reads several keys gives
 * them.
 */
export function parseStanding(used: string | null | undefined, quota: string | null | undefined): Standing {
  return { usedBytes: Number(used ?? 0), ownQuotaBytes: parseQuota(quota ?? '') };
}

function parseQuota(text: string): number | undefined {
  return text === '' ? undefined : Number(text);
}
