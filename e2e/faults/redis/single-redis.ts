import { Redis } from 'ioredis';
import { RedisServer } from '../../support/redis-server';
import type { RedisDeployment } from './redis-deployment';
import { mountSmallDisk } from './small-disk';

// Redis writes its log before it replies, unless it is asked to sync it every second: while such a sync is under
// way it replies first, for up to two seconds. A kill would then lose what was acknowledged, and the service could
// do nothing about it. `no` leaves the syncing to the kernel, which outlives a killed process.
const REDIS_OPTIONS = ['--appendfsync', 'no', '--maxmemory-policy', 'noeviction'];
// A replica that comes back copies everything at once, and not five seconds later, in which nothing would be accepted.
const AT_ONCE = ['--repl-diskless-sync-delay', '0'];

/** One server with an append-only file, on a disk of its own where one can be had. */
export async function startSingleRedis(): Promise<RedisDeployment> {
  const disk = await mountSmallDisk();
  const deployment = deploymentOf(await RedisServer.start([...REDIS_OPTIONS, ...AT_ONCE], disk?.folder));
  return {
    ...deployment,
    async remove() {
      await deployment.remove();
      await disk?.remove();
    },
  };
}

/** The same where this machine keeps its files, which is what syncing costs something for. */
export async function startRedisOnDisk(): Promise<RedisDeployment> {
  return deploymentOf(await RedisServer.start(REDIS_OPTIONS));
}

/** The same with a replica, which nothing breaks. */
export async function withReplica(deployment: RedisDeployment): Promise<RedisDeployment> {
  const replica = await RedisServer.start([
    ...REDIS_OPTIONS,
    ...['--replicaof', `127.0.0.1 ${deployment.server?.port}`],
  ]);
  return {
    ...deployment,
    async remove() {
      await replica.remove();
      await deployment.remove();
    },
  };
}

function deploymentOf(server: RedisServer): RedisDeployment {
  return {
    url: server.url,
    prefix: 'bull',
    server,
    connect: (connection) => new Redis(server.port, '127.0.0.1', connection),
    remove: () => server.remove(),
  };
}
