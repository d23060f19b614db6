import { Queue } from 'bullmq';
import type { RedisClient } from '../kernel/redis-connect';

/** The end of a queue where jobs are added and counted. */
export function openQueue<Data>(name: string, { redis, prefix }: QueueConnection): Queue<Data> {
  const queue = new Queue<Data>(name, { connection: redis, prefix });
  queue.on('error', ignore);
  return queue;
}

// The connection's own listener announces its errors; without one here, BullMQ's copy would end the process.
function ignore(): void {}

/** What every queue needs to know of Redis. */
export interface QueueConnection {
  readonly redis: RedisClient;
  readonly prefix: string;
}
