import { Redis } from 'ioredis';
import { RedisServer } from '../../support/redis-server';
import type { RedisDeployment } from './redis-deployment';
import { mountSmallDisk } from './small-disk';

// Redis writes its log before it answers, unless it is asked to sync it every second: while such a sync is under
// way it answers first, for up to two seconds. A kill would then lose what was acknowledged, and the service could
// do nothing about it. `no` leaves the syncing to the kernel, which outlives a killed process.
const REDIS_OPTIONS = ['--appendfsync', 'no', '--maxmemory-policy', 'noeviction'];

/**
 * One server with an append-only file, on a disk of its own where one can be had.
 * @param options more of its command line.
 */
export async function startSingleRedis(options: readonly string[] = []): Promise<RedisDeployment> {
  const disk = await mountSmallDisk();
  const server = await RedisServer.start([...REDIS_OPTIONS, ...options], disk?.folder);
  return {
    url: server.url,
    prefix: 'bull',
    server,
    connect: (connection) => new Redis(server.port, '127.0.0.1', connection),
    async remove() {
      await server.remove();
      await disk?.remove();
    },
  };
}
