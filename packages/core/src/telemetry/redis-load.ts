import type { RedisClient } from '../kernel/redis-connect';
import { mastersOf } from '../kernel/redis-masters';

/** How full and how busy one server is. Undefined: it does not say. */
export interface RedisLoad {
  readonly usedBytes: number | undefined;
  /** Undefined also if it may take as much as its machine has. */
  readonly maxBytes: number | undefined;
  /** Since it started. */
  readonly cpuSeconds: number | undefined;
  readonly evicts: boolean;
}

/** Of each server that holds keys, in the order of their addresses: the same for whoever asks. */
export async function readRedisLoads(redis: RedisClient): Promise<readonly RedisLoad[]> {
  const masters = [...mastersOf(redis)].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return await Promise.all(masters.map(async ([, master]) => loadIn(await master.info())));
}

/** @param info what Redis says of itself. */
export function loadIn(info: string): RedisLoad {
  const textOf = (field: string) => new RegExp(`^${field}:(\\S+)`, 'm').exec(info)?.[1];
  const numberOf = (field: string) => {
    const text = textOf(field);
    return text === undefined ? undefined : Number(text);
  };
  const policy = textOf('maxmemory_policy');
  const [system, user] = [numberOf('used_cpu_sys'), numberOf('used_cpu_user')];
  return {
    usedBytes: numberOf('used_memory'),
    maxBytes: numberOf('maxmemory') || undefined,
    cpuSeconds: system === undefined || user === undefined ? undefined : system + user,
    evicts: policy !== undefined && policy !== 'noeviction',
  };
}
