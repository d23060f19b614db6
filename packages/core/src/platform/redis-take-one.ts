import { z } from 'zod';
import type { RedisClient } from './redis-connect';
import { defineScript } from './redis-script';

// KEYS: counted. ARGV: how many, milliseconds. Gives how long to wait, 0 if not.
const TAKE_ONE = defineScript(`
  if tonumber(redis.call('GET', KEYS[1]) or '0') >= tonumber(ARGV[1]) then
    return math.max(redis.call('PTTL', KEYS[1]), 1)
  end
  if redis.call('INCR', KEYS[1]) == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
  return 0`);

/** Count one of so many within a time, in milliseconds. @returns how long to wait if it is one too many, else 0. */
export async function takeOne(
  redis: RedisClient,
  key: string,
  most: number,
  withinMs: number,
): Promise<number> {
  return z.number().parse(await TAKE_ONE(redis, [key], [most, withinMs]));
}
