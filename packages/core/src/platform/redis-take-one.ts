import { z } from 'zod';
import type { RedisClient } from './redis-connect';
import { defineScript } from './redis-script';

/** The field that counts for everyone. No id has such a name. */
export const ALL = '*';

// The window begins with the first one that is counted, and ends by the server's clock. KEYS: counts. ARGV: milliseconds,
// then for each count its name and how many. Gives how long to wait, 0 if not.
const TAKE_ONE = defineScript(`
  for i = 2, #ARGV, 2 do
    if tonumber(redis.call('HGET', KEYS[1], ARGV[i]) or '0') >= tonumber(ARGV[i + 1]) then
      return math.max(redis.call('PTTL', KEYS[1]), 1)
    end
  end
  for i = 2, #ARGV, 2 do redis.call('HINCRBY', KEYS[1], ARGV[i], 1) end
  if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
  return 0`);

/**
 * Count one of so many within a time: in each of these counts, or in none if one of them is full.
 *
 * @param most how many each count may have, by its name: such as `ALL`, and one account's share of it.
 * @param withinMs milliseconds.
 * @returns how long to wait if it is one too many, in milliseconds, else 0.
 */
export async function takeOne(
  redis: RedisClient,
  key: string,
  most: Readonly<Record<string, number>>,
  withinMs: number,
): Promise<number> {
  return z.number().parse(await TAKE_ONE(redis, [key], [withinMs, ...Object.entries(most).flat()]));
}
