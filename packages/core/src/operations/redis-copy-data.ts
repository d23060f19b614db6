import { mastersOf, queuePrefix, type RedisClient } from '../platform/redis-connect';

export interface CopySide {
  readonly redis: RedisClient;
  readonly url: string;
}

export type CopyResult =
  | { readonly kind: 'copied'; readonly keys: number }
  /** Processes of the service are connected there, and may write. */
  | { readonly kind: 'in_use'; readonly side: 'from' | 'to'; readonly processes: readonly string[] }
  /** It already holds data that no copy has left there. */
  | { readonly kind: 'not_empty' };

const AT_ONCE = 200;
/** This key exists while a copy is not complete: an interrupted copy can be repeated. */
const INCOMPLETE = 'copy-incomplete';
// As they tell Redis.
const PROCESSES: readonly string[] = ['api', 'worker'];

/**
 * Copy all data to another Redis. Either side may be a Cluster: the queues' keys are renamed accordingly.
 * Nothing may be written meanwhile.
 *
 * @param onProgress told how many keys have been copied so far.
 */
export async function copyData(
  from: CopySide,
  to: CopySide,
  onProgress: (keys: number) => void,
): Promise<CopyResult> {
  for (const [side, { redis }] of [['from', from] as const, ['to', to] as const]) {
    const processes = await processesAt(redis);
    if (processes.length > 0) return { kind: 'in_use', side, processes };
  }
  if (!(await isFreeFor(to.redis))) return { kind: 'not_empty' };
  await to.redis.set(INCOMPLETE, '1');
  const rename = renaming(`${queuePrefix(from.url)}:`, `${queuePrefix(to.url)}:`);
  let keys = 0;
  for (const master of mastersOf(from.redis).values()) {
    let cursor = '0';
    do {
      const [next, found] = await master.scan(cursor, 'COUNT', AT_ONCE);
      const copied = await Promise.all(found.map((key) => copyKey(from.redis, to.redis, key, rename(key))));
      keys += copied.filter(Boolean).length;
      onProgress(keys);
      cursor = next;
    } while (cursor !== '0');
  }
  await to.redis.del(INCOMPLETE);
  return { kind: 'copied', keys };
}

/** Gives whether the key still existed. */
async function copyKey(from: RedisClient, to: RedisClient, key: string, newKey: string): Promise<boolean> {
  const [value, ttlMs] = await Promise.all([from.dumpBuffer(key), from.pttl(key)]);
  if (value === null || ttlMs === -2) return false;
  await to.restore(newKey, Math.max(ttlMs, 0), value, 'REPLACE');
  return true;
}

function renaming(before: string, after: string): (key: string) => string {
  return (key) => (key.startsWith(before) ? after + key.slice(before.length) : key);
}

async function isFreeFor(redis: RedisClient): Promise<boolean> {
  if ((await redis.exists(INCOMPLETE)) === 1) return true;
  const sizes = await Promise.all([...mastersOf(redis).values()].map((master) => master.dbsize()));
  return sizes.every((size) => size === 0);
}

/** The processes that use the same database. */
async function processesAt(redis: RedisClient): Promise<readonly string[]> {
  const lists = await Promise.all(
    [...mastersOf(redis).values()].map(async (master) => {
      const clients = String(await master.client('LIST')).split('\n');
      return clients.filter((line) => line.includes(` db=${master.options.db ?? 0} `));
    }),
  );
  const names = lists.flat().flatMap((line) => / name=(\S+)/.exec(line)?.[1] ?? []);
  return [...new Set(names)].filter((name) => PROCESSES.includes(name));
}
