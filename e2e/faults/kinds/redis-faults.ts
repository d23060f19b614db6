import { setTimeout as wait } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { RedisServer } from '../../support/redis-server';
import { until } from '../../support/until';
import { fillDisk, isOnSmallDisk } from '../redis/small-disk';
import { tearLastWrite } from '../redis/torn-write';
import { during, type FaultKind, type Strike } from './fault-kind';

const stops = [
  { seconds: 2, usualCount: 10 },
  { seconds: 10, usualCount: 2 },
  { seconds: 60, usualCount: 1 },
] as const;
const outages = [
  { seconds: 1, usualCount: 12 },
  { seconds: 7, usualCount: 4 },
  { seconds: 20, usualCount: 2 },
  { seconds: 60, usualCount: 1 },
] as const;

const CLIENT_KILLS = 3;
const SCRIPT_FLUSHES = 16;

/** What befalls Redis itself. */
export const redisFaults: readonly FaultKind[] = [
  ...stops.map(
    ({ seconds, usualCount }): FaultKind => ({
      name: `redis-stop-${seconds}s`,
      what: `SIGSTOP of Redis for ${seconds} s, then SIGCONT`,
      mayRepeat: true,
      usualCount,
      isLong: seconds > 2,
      inject: async ({ service: { redis } }) =>
        await during('Redis', async () => {
          redis.freeze();
          await wait(seconds * 1_000);
          redis.thaw();
        }),
    }),
  ),
  ...outages.map(
    ({ seconds, usualCount }): FaultKind => ({
      name: `redis-outage-${seconds}s`,
      what: `kill -9 of Redis, which starts from its append-only file ${seconds} s later`,
      mayRepeat: true,
      usualCount,
      isLong: seconds > 7,
      inject: async ({ service: { redis } }) => await killAndStart(redis, () => wait(seconds * 1_000)),
    }),
  ),
  {
    name: 'redis-torn-file',
    what: 'kill -9 of Redis in the middle of a write: half of a command is the end of its append-only file',
    mayRepeat: true,
    usualCount: 8,
    inject: async ({ service: { redis } }) => await killAndStart(redis, () => tearLastWrite(redis.folder)),
  },
  {
    name: 'redis-out-of-memory',
    what: 'Redis takes no writes for four to nine seconds (maxmemory, noeviction)',
    mayRepeat: true,
    usualCount: 10,
    inject: async ({ service: { redis }, random }) =>
      await during('Redis', () => withholdMemory(redis.port, random.between(4_000, 9_000))),
  },
  {
    name: 'redis-client-kill',
    what: 'CLIENT KILL of every connection to Redis, three times within a second',
    mayRepeat: true,
    usualCount: 10,
    inject: async ({ service: { redis }, random }) =>
      await during('Redis', async () => {
        for (let time = 0; time < CLIENT_KILLS; time += 1) {
          await administer(redis.port, async (client) => {
            await client.call('CLIENT', 'KILL', 'TYPE', 'normal');
          });
          await wait(random.between(100, 400));
        }
      }),
  },
  {
    name: 'redis-client-pause',
    what: 'CLIENT PAUSE: Redis replies to no write, or to nothing at all, for two to six seconds',
    mayRepeat: true,
    usualCount: 10,
    inject: async ({ service: { redis }, random }) =>
      await during('Redis', async () => {
        const [forMs, what] = [random.between(2_000, 6_000), random.pick(['WRITE', 'ALL'])];
        await administer(redis.port, async (client) => {
          await client.call('CLIENT', 'PAUSE', forMs, what);
        });
        await wait(forMs);
      }),
  },
  {
    name: 'redis-script-flush',
    what: 'SCRIPT FLUSH, again and again for two seconds: Redis forgets every script',
    mayRepeat: false,
    usualCount: 10,
    inject: async ({ service: { redis }, random }) =>
      await during('Redis', async () => {
        for (let time = 0; time < SCRIPT_FLUSHES; time += 1) {
          await administer(redis.port, async (client) => {
            await client.script('FLUSH');
          });
          await wait(random.between(50, 200));
        }
      }),
  },
  {
    name: 'redis-disk-full',
    what: "the disk of Redis' append-only file is full for four to nine seconds; then BGREWRITEAOF, as operators are told to",
    mayRepeat: true,
    usualCount: 6,
    obstacle: async () =>
      (await isOnSmallDisk()) ? undefined : 'a small tmpfs cannot be mounted here: it takes root',
    inject: async ({ service: { redis }, random }) =>
      await during('Redis', async () => {
        const giveBack = await fillDisk(redis.folder);
        await wait(random.between(4_000, 9_000));
        await giveBack();
        await writeFileAnew(redis.port);
      }),
  },
];

async function killAndStart(redis: RedisServer, meanwhile: () => Promise<unknown>): Promise<Strike> {
  return await during('Redis', async () => {
    await redis.kill();
    await meanwhile();
    await redis.start();
  });
}

/**
 * Redis 7.0 does not open the file that a rewrite begins for appending. When the disk is full it cuts off what was written of a
 * command, and goes on behind that: it leaves a hole, and will not start with such a file.
 */
async function writeFileAnew(redisPort: number): Promise<void> {
  const redis = new Redis(redisPort, '127.0.0.1');
  try {
    await until(async () => {
      const info = await redis.info('persistence');
      return info.includes('aof_rewrite_in_progress:0') ? true : undefined;
    });
    await redis.bgrewriteaof();
    await until(async () => {
      const info = await redis.info('persistence');
      const isDone = ['in_progress:0', 'scheduled:0'].every((state) => info.includes(`aof_rewrite_${state}`));
      return isDone && info.includes('aof_last_bgrewrite_status:ok') ? true : undefined;
    });
  } finally {
    redis.disconnect();
  }
}

/** Past all proxies. It waits for a server that is being started, and asks again where the connection broke. */
async function administer(redisPort: number, ask: (redis: Redis) => Promise<void>): Promise<void> {
  const redis = new Redis(redisPort, '127.0.0.1', { maxRetriesPerRequest: null, retryStrategy: () => 100 });
  redis.on('error', () => {});
  try {
    await ask(redis);
  } finally {
    redis.disconnect();
  }
}

async function withholdMemory(redisPort: number, forMs: number): Promise<void> {
  await administer(redisPort, async (redis) => {
    const used = /used_memory:(\d+)/.exec(await redis.info('memory'))?.[1] ?? '1';
    await redis.config('SET', 'maxmemory', used);
    await wait(forMs);
    await redis.config('SET', 'maxmemory', '0');
  });
}
