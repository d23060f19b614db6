import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { connectRedis } from '../platform/redis-connect';
import { fieldOf } from '../platform/redis-safety';
import { createClosables } from '../testing/closables';
import { startRedisServer } from '../testing/redis-server';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { gauge, samplesOf } from './prom-gauges';
import {
  loadIn,
  ReadingsStore,
  readRedisLoads,
  SharedReadings,
  type SharedSources,
  sharedGauges,
} from './prom-shared-gauges';

describe('shared readings', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  /** A worker that reads one number: how often it was asked for it. */
  function startWorker(
    redis: Pick<TestRedis, 'client'>,
    workerId: string,
    more: readonly (() => Promise<never>)[] = [],
  ) {
    const source = { reads: 0 };
    const reads = gauge({
      name: 'reads',
      help: 'How often it was read.',
      read: () => [{ labels: { worker: workerId }, value: (source.reads += 1) }],
    });
    const others = more.map((read, index) => gauge({ name: `other_${index}`, help: 'Another one.', read }));
    const store = new ReadingsStore(redis.client, workerId);
    return { source, store, readings: new SharedReadings(store, [reads, ...others], undefined) };
  }

  const readingOf = (worker: string, value: number) => [{ name: 'reads', labels: { worker }, value }];

  /** The turn ends by time; so that no test waits for that. */
  const endTurn = async (redis: TestRedis) => await redis.client.del('readings-turn:{all}');

  it('is read by one worker for all, once, however often they are asked', async () => {
    const redis = willClose(await openTestRedis());
    const [first, second] = [startWorker(redis, 'first'), startWorker(redis, 'second')];
    expect(await first.readings.current()).toEqual(readingOf('first', 1));
    expect(await second.readings.current()).toEqual(readingOf('first', 1));
    expect(await first.readings.current()).toEqual(readingOf('first', 1));
    expect([first.source.reads, second.source.reads]).toEqual([1, 0]);
  });

  it('is one reading for all gauges of a scrape', async () => {
    const redis = willClose(await openTestRedis());
    const { readings, source } = startWorker(redis, 'first');
    await Promise.all([readings.current(), readings.current(), readings.current()]);
    expect(source.reads).toBe(1);
  });

  it('is read again by the first worker that is asked after its time', async () => {
    const redis = willClose(await openTestRedis());
    const [first, second] = [startWorker(redis, 'first'), startWorker(redis, 'second')];
    await first.readings.current();
    await endTurn(redis);
    expect(await second.readings.current()).toEqual(readingOf('second', 1));
    expect(await first.readings.current()).toEqual(readingOf('second', 1));
  });

  it('shows the last reading while the worker with the turn reads, or is dead', async () => {
    const redis = willClose(await openTestRedis());
    const [first, second] = [startWorker(redis, 'first'), startWorker(redis, 'second')];
    await first.readings.current();
    await endTurn(redis);
    await new ReadingsStore(redis.client, 'dies').takeTurn();
    expect(await second.readings.current()).toEqual(readingOf('first', 1));
    expect(second.source.reads).toBe(0);
  });

  it('ends by time what a turn takes, and what was read, so that nothing stands still', async () => {
    const redis = willClose(await openTestRedis());
    await startWorker(redis, 'first').readings.current();
    const left = await Promise.all([
      redis.client.pttl('readings-turn:{all}'),
      redis.client.pttl('readings:{all}'),
    ]);
    expect(left.map((ms) => Math.ceil(ms / 5_000))).toEqual([1, 3]);
  });

  it('is read by a worker for itself while the one with the turn is late with its first reading', async () => {
    const redis = willClose(await openTestRedis());
    await new ReadingsStore(redis.client, 'late').takeTurn();
    const worker = startWorker(redis, 'second');
    expect(await worker.readings.current()).toEqual(readingOf('second', 1));
    expect(await worker.readings.current()).toEqual(readingOf('second', 2));
  });

  it('is not shared in part', async () => {
    const redis = willClose(await openTestRedis());
    const broken = () => Promise.reject(new Error('gone'));
    await startWorker(redis, 'first', [broken]).readings.current();
    expect(await startWorker(redis, 'second').readings.current()).toEqual(readingOf('second', 1));
  });

  it('does not put an old reading over a newer one', async () => {
    const redis = willClose(await openTestRedis());
    const slow = startWorker(redis, 'slow');
    await slow.store.takeTurn();
    await endTurn(redis);
    const quick = startWorker(redis, 'quick');
    await quick.readings.current();
    await slow.store.save(readingOf('slow', 7));
    expect(await startWorker(redis, 'third').readings.current()).toEqual(readingOf('quick', 1));
  });

  it('goes on while Redis takes no writes: each worker reads for itself', async () => {
    const server = willClose(await startRedisServer());
    const client = new Redis(server.url);
    willClose({ close: async () => client.disconnect() });
    const redis = { client };
    const [first, second] = [startWorker(redis, 'first'), startWorker(redis, 'second')];
    await first.readings.current();
    await server.fillUp();
    expect(await second.readings.current()).toEqual(readingOf('second', 1));
    expect(await first.readings.current()).toEqual(readingOf('first', 2));
    await server.makeRoom();
    expect(await first.readings.current()).toEqual(readingOf('first', 1));
  });

  it('leaves out what can not be read, and that alone', async () => {
    const redis = willClose(await openTestRedis());
    const broken = () => Promise.reject(new Error('gone'));
    const silent = () => new Promise<never>(() => {});
    const { readings } = startWorker(redis, 'first', [broken, silent]);
    expect(await readings.current()).toEqual(readingOf('first', 1));
  });
});

describe('redis load', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  it('is what a server says of its memory and its CPU', async () => {
    const redis = willClose(await openTestRedis());
    const [load, ...more] = await readRedisLoads(redis.client);
    expect(more).toEqual([]);
    expect(load?.usedBytes).toBeGreaterThan(100_000);
    expect(load?.cpuSeconds).toBeGreaterThan(0);
    expect(load?.evicts).toBe(false);
  });

  const INFO = [
    '# Memory',
    'used_memory:3072',
    'used_memory_rss:9999',
    'maxmemory:4096',
    'maxmemory_human:4.00K',
    'maxmemory_policy:noeviction',
    '# CPU',
    'used_cpu_sys:1.25',
    'used_cpu_user:2.5',
    'used_cpu_sys_children:7',
  ].join('\r\n');

  it('is of the server itself, not of what it has forked', () => {
    expect(loadIn(INFO)).toMatchObject({
      usedBytes: 3_072,
      maxBytes: 4_096,
      cpuSeconds: 3.75,
      evicts: false,
    });
  });

  it('has no limit without one, or a division by it would be one by zero', () => {
    expect(loadIn(INFO.replace('maxmemory:4096', 'maxmemory:0')).maxBytes).toBeUndefined();
  });

  it('says of a server with any policy but noeviction that it evicts', () => {
    expect(loadIn(INFO.replace('noeviction', 'volatile-ttl')).evicts).toBe(true);
  });

  it('leaves out what a server does not say', () => {
    expect(loadIn('# Memory\r\n')).toEqual({ evicts: false, diskFailed: {} });
  });

  it('counts the replicas that have its data, and says how far the last of them is behind', () => {
    const info = [
      'role:master',
      'connected_slaves:4',
      'slave0:ip=10.0.0.2,port=6379,state=online,offset=900,lag=1',
      'slave1:ip=fd00::7,port=6379,state=wait_bgsave,offset=0,lag=0',
      'slave2:ip=redis-2.internal,port=6379,state=online,offset=400,lag=14,type=replica',
      // A backup that only copies.
      'slave3:ip=10.0.0.9,port=0,state=online,offset=0,lag=1',
      'master_repl_offset:1000',
    ].join('\r\n');
    expect(loadIn(info).replicas).toEqual([
      { silentS: 1, behindBytes: 100 },
      { silentS: 14, behindBytes: 600 },
    ]);
    expect(loadIn('connected_slaves:0\r\n').replicas).toEqual([]);
  });

  it('says which writes to its disk failed', () => {
    const info = [
      'rdb_last_bgsave_status:ok',
      'aof_last_bgrewrite_status:err',
      'aof_last_write_status:ok',
    ].join('\r\n');
    expect(loadIn(info).diskFailed).toEqual({ append: false, rewrite: true, snapshot: false });
  });
});

describe('the gauges of replication and of the disk', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  const open = (url: string) => {
    const client = connectRedis({ url, role: 'working', name: 'test', emit: () => {} });
    willClose({ close: () => client.disconnect() });
    return client as Redis;
  };

  /** What the gauges of this name show. */
  async function show(master: Redis, name: string) {
    const shown = sharedGauges.find((each) => each.name === name);
    const sources = { readRedisLoads: () => readRedisLoads(master) } as SharedSources;
    return samplesOf((await shown?.read(sources)) ?? []);
  }

  it('change when a replica comes, stands still, and is killed', async () => {
    const master = open(willClose(await startRedisServer()).url);
    const replicas = async () => await show(master, 'webhooks_redis_replicas');
    expect(await replicas()).toEqual([{ labels: { node: '0' }, value: 0 }]);
    expect(await show(master, 'webhooks_redis_replica_behind_bytes')).toEqual([]);
    const server = await startRedisServer();
    const replica = open(server.url);
    const { host = '', port = 0 } = master.options;
    await replica.replicaof(host, port);
    while ((await replicas())[0]?.value !== 1) await replica.ping();
    await master.set('a', 'b'.repeat(10_000));
    const behind = async () => (await show(master, 'webhooks_redis_replica_behind_bytes'))[0]?.value;
    // It confirms each second.
    while ((await behind()) !== 0) await replica.ping();
    process.kill(Number(fieldOf(await replica.info(), 'process_id')), 'SIGSTOP');
    await master.set('a', 'c'.repeat(10_000));
    while (((await behind()) ?? 0) < 10_000) await master.ping();
    const silent = async () => (await show(master, 'webhooks_redis_replica_silent_seconds'))[0]?.value;
    while (((await silent()) ?? 0) < 2) await master.ping();
    await server.close();
    while ((await replicas())[0]?.value !== 0) await master.ping();
    expect(await show(master, 'webhooks_redis_replica_silent_seconds')).toEqual([]);
  });

  it('say that a snapshot failed, and that the next one did not', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hookferry-disk-'));
    willClose({ close: async () => rmSync(folder, { recursive: true }) });
    const master = open(willClose(await startRedisServer(['--dir', folder])).url);
    const failed = async () =>
      (await show(master, 'webhooks_redis_disk_failed')).find(({ labels }) => labels['write'] === 'snapshot')
        ?.value;
    expect(await failed()).toBe(0);
    // A folder with its name is in the way of the file.
    mkdirSync(join(folder, 'dump.rdb'));
    await master.bgsave();
    while ((await failed()) !== 1) await master.ping();
    rmSync(join(folder, 'dump.rdb'), { recursive: true });
    await master.bgsave();
    while ((await failed()) !== 0) await master.ping();
  });
});
