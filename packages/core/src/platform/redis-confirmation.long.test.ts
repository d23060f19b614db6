import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { keys } from '../domain/keys';
import { createClosables } from '../testing/closables';
import { findClosedPort } from '../testing/local-server';
import { formRedisCluster } from '../testing/redis-cluster';
import { startRedisServer } from '../testing/redis-server';
import { RedisConfirmation, type RedisWaitedSignal } from './redis-confirmation';
import { connectRedis } from './redis-connect';
import { RedisProbe } from './redis-probe';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

async function startServer(options: readonly string[] = []) {
  const server = willClose(await startRedisServer(options));
  const client = new Redis(server.url, { maxRetriesPerRequest: null });
  client.on('error', () => {});
  willClose({ close: () => client.disconnect() });
  return { ...server, client, port: Number(new URL(server.url).port) };
}

type Server = Awaited<ReturnType<typeof startServer>>;

async function untilFollowing(replica: Server): Promise<void> {
  while (!(await replica.client.info('replication')).includes('link_status:up'));
}

async function startPair() {
  const master = await startServer();
  const replica = await startServer(['--replicaof', `127.0.0.1 ${master.port}`]);
  await untilFollowing(replica);
  return { master, replica };
}

interface Setting {
  readonly url: string;
  /** Where replicas are waited for, if that is another server. */
  readonly waitAt?: string;
  readonly replicas?: number;
}

async function open({ url, waitAt = url, replicas = 1 }: Setting) {
  const waits: RedisWaitedSignal[] = [];
  const connection = { url, role: 'answering', name: 'test', emit: () => {} } as const;
  const redis = connectRedis(connection);
  willClose({ close: () => redis.disconnect() });
  const confirmation = willClose(
    new RedisConfirmation({
      redis,
      connection: { ...connection, url: waitAt },
      replicas,
      keyOf: keys.writeCheck,
      emit: (signal) => waits.push(signal),
    }),
  );
  while (redis.status !== 'ready') await new Promise((resolve) => redis.once('ready', resolve));
  return { redis, confirmation, waits };
}

/** At first its own connection may not be there yet. */
async function untilConfirmed(confirmation: RedisConfirmation): Promise<void> {
  while ((await confirmation.lookFor(confirmation.mark())) !== undefined);
}

const unconfirmed = (message: unknown) => ({
  code: 'storage_unavailable',
  cause: expect.objectContaining({ message }),
});

it('a write that was confirmed is there when the master dies in the next moment', async () => {
  const { master, replica } = await startPair();
  const { redis, confirmation } = await open(master);
  await untilConfirmed(confirmation);
  for (let i = 0; i < 50; i += 1) {
    const mark = confirmation.mark();
    await redis.set(`key-${i}`, 'x'.repeat(10_000));
    await confirmation.confirm(mark);
  }
  await master.close();
  expect(await replica.client.dbsize()).toBeGreaterThanOrEqual(50);
});

it('nothing is confirmed while fewer replicas have it, and it is again when they are back', async () => {
  const { master, replica } = await startPair();
  const { confirmation, waits } = await open(master);
  await untilConfirmed(confirmation);
  await replica.client.replicaof('NO', 'ONE');
  await expect(confirmation.confirm(confirmation.mark())).rejects.toMatchObject(
    unconfirmed('REDIS_CONFIRMED_BY is 1, and 0 replicas confirmed a write within 1000 ms.'),
  );
  expect(waits.at(-1)).toMatchObject({ result: 'too_few', replicas: 0 });
  await replica.client.replicaof('127.0.0.1', String(master.port));
  await untilConfirmed(confirmation);
  expect(waits.at(-1)).toMatchObject({ result: 'confirmed', replicas: 1 });
});

it('one replica is not two', async () => {
  const { master } = await startPair();
  const { confirmation } = await open({ ...master, replicas: 2 });
  await expect(confirmation.confirm(confirmation.mark())).rejects.toMatchObject({
    code: 'storage_unavailable',
  });
});

// The write may have gone to a former master, and what comes after the break to the next one.
it('what was written before the connection broke is not confirmed, also if replicas have all that the server has', async () => {
  const { master } = await startPair();
  const { redis, confirmation } = await open(master);
  await untilConfirmed(confirmation);
  const mark = confirmation.mark();
  await redis.set('key', 'value');
  redis.disconnect(true);
  await new Promise((resolve) => redis.once('ready', resolve));
  await expect(confirmation.confirm(mark)).rejects.toMatchObject(
    unconfirmed('The connection to Redis broke meanwhile.'),
  );
  await untilConfirmed(confirmation);
});

// As behind one address whose server was replaced.
it('the replicas of another server confirm nothing', async () => {
  const former = await startServer();
  const { master } = await startPair();
  const { redis, confirmation } = await open({ url: former.url, waitAt: master.url });
  const mark = confirmation.mark();
  await redis.set('key', 'value');
  // Until its two connections are there, it says so.
  const whyNot = async () => (await confirmation.lookFor(mark))?.cause;
  while (!/replaced/.test(String(await whyNot())));
  await expect(confirmation.confirm(mark)).rejects.toMatchObject({ code: 'storage_unavailable' });
});

it('all that is written in one turn of the event loop, and while a wait is under way, waits once', async () => {
  const { master } = await startPair();
  const { redis, confirmation } = await open(master);
  await untilConfirmed(confirmation);
  const waits = async () => {
    const stats = await master.client.info('commandstats');
    return Number(/cmdstat_wait:calls=(\d+)/.exec(stats)?.[1]);
  };
  const before = await waits();
  const mark = confirmation.mark();
  const writeAndConfirm = async (i: number) => {
    await redis.set(`key-${i}`, 'value');
    await confirmation.confirm(mark);
  };
  await Promise.all(Array.from({ length: 200 }, (_, i) => writeAndConfirm(i)));
  expect((await waits()) - before).toBeLessThanOrEqual(20);
});

it('a process is not ready while no replica confirms', async () => {
  const { master, replica } = await startPair();
  const { redis, confirmation } = await open(master);
  let now = 0;
  const probe = new RedisProbe({ redis, keyOf: keys.writeCheck, confirmation, steady: () => (now += 2_000) });
  const until = async (kind: string) => {
    for (;;) {
      const standing = await probe.look();
      if (standing.kind === kind) return standing;
    }
  };
  await until('takes_writes');
  await replica.client.replicaof('NO', 'ONE');
  expect(await until('refuses_writes')).toMatchObject({ detail: expect.stringContaining('confirm') });
  await replica.client.replicaof('127.0.0.1', String(master.port));
  await until('takes_writes');
});

it('in a Cluster the replicas of each master confirm', async () => {
  const servers = await Promise.all(
    [0, 1, 2, 3].map(async () => {
      const busPort = await findClosedPort();
      const folder = await mkdtemp(join(tmpdir(), 'redis-'));
      willClose({ close: () => rm(folder, { recursive: true, force: true }) });
      const own = ['--cluster-port', String(busPort), '--dir', folder];
      return { ...(await startServer(['--cluster-enabled', 'yes', ...own])), busPort };
    }),
  );
  await formRedisCluster(
    servers.map(({ port }) => port),
    servers.map(({ busPort }) => busPort),
    2,
  );
  const [first, second, ...replicas] = servers;
  for (const [i, replica] of replicas.entries()) {
    const master = i === 0 ? first : second;
    await replica.client.call('CLUSTER', 'REPLICATE', String(await master?.client.call('CLUSTER', 'MYID')));
    await untilFollowing(replica);
  }
  const nodes = servers.map(({ port }) => `127.0.0.1:${port}`).join(',');
  const { redis, confirmation } = await open({ url: `redis+cluster://${nodes}` });
  await untilConfirmed(confirmation);
  const mark = confirmation.mark();
  for (let i = 0; i < 20; i += 1) await redis.set(`key-${i}`, 'value');
  await confirmation.confirm(mark);
  await replicas[1]?.close();
  await expect(confirmation.confirm(confirmation.mark())).rejects.toMatchObject({
    code: 'storage_unavailable',
  });
});
