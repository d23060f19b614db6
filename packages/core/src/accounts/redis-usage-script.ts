/**
 * For scripts that store something of an account, or let go of it: `count_usage(usage, used, field, bytes, kept_ms)`. Both
 * keys have the account's hash tag.
 *
 * `usage` is a hash: `kind:time` → bytes that Redis lets go of by then. `used` is the sum of all, so that one command reads
 * it together with other things; what has lapsed is taken off it when somebody looks (`redis-usage-store.ts`). Nothing is
 * taken off twice: what is gone before its time is taken from what is counted for that time, down to 0.
 */
export const COUNT_USAGE = `
  local function keep_for(key, ms)
    if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, string.format('%d', ms)) end
  end

  local function count_usage(usage, used, field, bytes, kept_ms)
    local change = bytes
    if bytes < 0 then change = -math.min(tonumber(redis.call('HGET', usage, field) or '0'), -bytes) end
    if change == 0 then return end
    change = string.format('%d', change)
    redis.call('HINCRBY', usage, field, change)
    redis.call('INCRBY', used, change)
    keep_for(usage, kept_ms)
    keep_for(used, kept_ms)
  end`;
