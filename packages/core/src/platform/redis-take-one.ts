import type { RedisClient } from './redis-connect';
import { countOne } from './redis-take-one.script';

/** The field that counts for everyone. No id has such a name. */
export const ALL = '*';

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
  const counts = { counts: key, withinMs, names: Object.keys(most), most: Object.values(most) };
  return await countOne(counts)(redis);
}
