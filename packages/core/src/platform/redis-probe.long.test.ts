import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as immediate } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { keys } from '../domain/keys';
import { createClosables } from '../testing/closables';
import { findClosedPort, startTcpServer } from '../testing/local-server';
import { formRedisCluster } from '../testing/redis-cluster';
import { startRedisProxy } from '../testing/redis-proxy';
import { startRedisServer } from '../testing/redis-server';
import { openTestRedis } from '../testing/test-redis';
import type { Clock } from './clock';
import { type ConnectionRole, connectRedis } from './redis-connect';
import { RedisProbe, type RedisStanding, untilRedisAnswers } from './redis-probe';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

function openProbe(url: string, role: ConnectionRole = 'working', steady?: Clock) {
  const redis = connectRedis({ url, role, name: 'test', emit: () => {} });
  willClose({ close: () => redis.disconnect() });
  return new RedisProbe({ redis, keyOf: keys.writeCheck, steady });
}

/** What was found last holds for two seconds. A turn of the event loop in between: without a connection it tells at once. */
async function untilSaid(probe: RedisProbe, kind: RedisStanding['kind']): Promise<RedisStanding> {
  for (;;) {
    const standing = await probe.look();
    if (standing.kind === kind) return standing;
    await immediate();
  }
}

async function startServer(options: readonly string[] = []) {
  const server = willClose(await startRedisServer(options));
  const client = new Redis(server.url);
  willClose({ close: () => client.disconnect() });
  return { server, client };
}

it('says that Redis takes writes, and leaves nothing behind', async () => {
  const { url, client } = willClose(await openTestRedis());
  expect(await untilSaid(openProbe(url), 'takes_writes')).toEqual({ kind: 'takes_writes' });
  while ((await client.dbsize()) > 0);
});

// A connection for background work waits for Redis endlessly; a readiness check must not.
it.each(['answering', 'working'] as const)(
  'says no when a connection of the kind "%s" finds no Redis',
  async (role) => {
    const probe = openProbe(`redis://127.0.0.1:${await findClosedPort()}`, role);
    expect(await probe.look()).toMatchObject({ kind: 'unavailable' });
  },
);

it('says in words of its own that there is no connection', async () => {
  const { server } = await startServer();
  const probe = openProbe(server.url, 'answering');
  await untilSaid(probe, 'takes_writes');
  await server.close();
  expect(await untilSaid(probe, 'unavailable')).toEqual({
    kind: 'unavailable',
    detail: expect.stringMatching(/^There is no connection to Redis: redis\.error/),
  });
});

it('says no when Redis does not answer', async () => {
  const silent = willClose(await startTcpServer(() => {}));
  expect(await openProbe(`redis://127.0.0.1:${silent.port}`).look()).toEqual({
    kind: 'unavailable',
    detail: 'Redis did not reply within 800 ms.',
  });
});

it('writes every two seconds at most, however often and by however many it is asked', async () => {
  const { server, client } = await startServer();
  let now = 0;
  const probe = openProbe(server.url, 'working', () => now);
  const writes = async () => {
    const stats = await client.info('commandstats');
    return Number(/cmdstat_set:calls=(\d+)/.exec(stats)?.[1]);
  };
  await untilSaid(probe, 'takes_writes');
  const first = await writes();
  now += 1_999;
  for (let round = 0; round < 10; round += 1) await Promise.all([probe.look(), probe.look(), probe.look()]);
  expect(await writes()).toBe(first);
  now += 1;
  await Promise.all([probe.look(), probe.look(), probe.look()]);
  while ((await writes()) === first);
  expect(await writes()).toBe(first + 1);
});

describe.each(['answering', 'working'] as const)('over a connection of the kind "%s" it says why', (role) => {
  it('a Redis that is full takes no writes, and when it takes them again', async () => {
    const { server } = await startServer();
    const probe = openProbe(server.url, role);
    await untilSaid(probe, 'takes_writes');
    await server.fillUp();
    const detail = expect.stringContaining('OOM command not allowed');
    expect(await untilSaid(probe, 'refuses_writes')).toEqual({ kind: 'refuses_writes', detail });
    await server.makeRoom();
    await untilSaid(probe, 'takes_writes');
  });

  it('a master without enough replicas takes none', async () => {
    const { server, client } = await startServer(['--min-replicas-to-write', '1']);
    const probe = openProbe(server.url, role);
    const detail = expect.stringContaining('NOREPLICAS');
    expect(await untilSaid(probe, 'refuses_writes')).toEqual({ kind: 'refuses_writes', detail });
    await client.config('SET', 'min-replicas-to-write', '0');
    await untilSaid(probe, 'takes_writes');
  });

  it('a Redis whose disk fails takes none', async () => {
    const dir = await makeFolder();
    const { server, client } = await startServer(['--dir', dir, '--save', '3600 1']);
    const probe = openProbe(server.url, role);
    await untilSaid(probe, 'takes_writes');
    await rm(dir, { recursive: true });
    await client.bgsave();
    while (!(await client.info('persistence')).includes('rdb_last_bgsave_status:err'));
    const detail = expect.stringContaining('MISCONF');
    expect(await untilSaid(probe, 'refuses_writes')).toEqual({ kind: 'refuses_writes', detail });
    await client.config('SET', 'stop-writes-on-bgsave-error', 'no');
    await untilSaid(probe, 'takes_writes');
  });

  // A balancer sends nothing to a process that is not ready: no request of a client would lead it to the present master.
  it('a master that has become a replica takes none, and the probe connects again', async () => {
    const { server, client } = await startServer();
    const probe = openProbe(server.url, role);
    await untilSaid(probe, 'takes_writes');
    const connections = async () => {
      const clients = String(await client.client('LIST'));
      return /id=(\d+)[^\n]* name=test /.exec(clients)?.[1];
    };
    const before = await connections();
    await client.replicaof('127.0.0.1', String(await findClosedPort()));
    const detail = expect.stringContaining('READONLY');
    expect(await untilSaid(probe, 'refuses_writes')).toEqual({ kind: 'refuses_writes', detail });
    await client.replicaof('NO', 'ONE');
    await untilSaid(probe, 'takes_writes');
    expect(await connections()).not.toBe(before);
  });
});

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'redis-'));
  willClose({ close: () => rm(folder, { recursive: true, force: true }) });
  return folder;
}

it('looks at each master of a Cluster, and says which one takes no writes', async () => {
  const servers = await Promise.all(
    [0, 1, 2].map(async () => {
      const busPort = await findClosedPort();
      const own = ['--cluster-port', String(busPort), '--dir', await makeFolder()];
      const started = await startServer(['--cluster-enabled', 'yes', ...own]);
      return { ...started, busPort, port: Number(new URL(started.server.url).port) };
    }),
  );
  await formRedisCluster(
    servers.map(({ port }) => port),
    servers.map(({ busPort }) => busPort),
  );
  const nodes = servers.map(({ port }) => `127.0.0.1:${port}`).join(',');
  const probe = openProbe(`redis+cluster://${nodes}`, 'answering');
  await untilSaid(probe, 'takes_writes');
  for (const { server, port } of servers) {
    await server.fillUp();
    const detail = expect.stringMatching(new RegExp(`^127\\.0\\.0\\.1:${port}: .*OOM`));
    expect(await untilSaid(probe, 'refuses_writes')).toEqual({ kind: 'refuses_writes', detail });
    await server.makeRoom();
    await untilSaid(probe, 'takes_writes');
  }
});

it('untilRedisAnswers waits for a Redis that is silent, and goes on once it answers', async () => {
  const proxy = willClose(await startRedisProxy(willClose(await openTestRedis()).url));
  const probe = openProbe(proxy.url, 'answering');
  proxy.freeze();
  const kinds: string[] = [];
  await untilRedisAnswers({
    async look() {
      const standing = await probe.look();
      kinds.push(standing.kind);
      if (kinds.length === 1) proxy.thaw();
      return standing;
    },
  });
  expect(kinds[0]).toBe('unavailable');
  expect(kinds.at(-1)).toBe('takes_writes');
});
