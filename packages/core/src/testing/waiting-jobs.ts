import type { RedisClient } from '../platform/redis-connect';

/** Where the jobs of a queue wait: as they came, and in the fair order. */
export const WAITING = ['wait', 'prioritized'] as const;

/** The states of a waiting job, in the fair order or not. */
export const WAITS = /^(waiting|prioritized)$/;

/** The facts that lead to a queue's keys. */
interface KeyedQueue {
  toKey(name: string): string;
}

/** Ids of the jobs that wait, in the order in which workers take them. */
export async function readWaitingIds(redis: RedisClient, queue: KeyedQueue): Promise<readonly string[]> {
  const asTheyCame = await redis.lrange(queue.toKey('wait'), 0, -1);
  return [...asTheyCame.toReversed(), ...(await redis.zrange(queue.toKey('prioritized'), '0', '-1'))];
}

/** Takes a job from where it waits. The test puts it where it is to be. */
export async function takeFromWaiting(redis: RedisClient, queue: KeyedQueue, jobId: string): Promise<void> {
  const counts = [
    await redis.lrem(queue.toKey('wait'), 1, jobId),
    await redis.zrem(queue.toKey('prioritized'), jobId),
  ];
  if (!counts.includes(1)) throw new Error(`${jobId} does not wait.`);
}
