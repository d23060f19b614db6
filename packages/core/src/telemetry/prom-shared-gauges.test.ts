import { createClosables } from '../testing/closables';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { gauge } from './prom-gauges';
import { loadIn, ReadingsStore, readRedisLoads, SharedReadings } from './prom-shared-gauges';

describe('shared readings', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  /** A worker that reads one number: how often it was asked for it. */
  function startWorker(redis: TestRedis, workerId: string, more: readonly (() => Promise<never>)[] = []) {
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
    await redis.client.del('readings:{all}');
    expect(await startWorker(redis, 'second').readings.current()).toEqual([]);
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
    expect(loadIn(INFO)).toEqual({ usedBytes: 3_072, maxBytes: 4_096, cpuSeconds: 3.75, evicts: false });
  });

  it('has no limit without one, or a division by it would be one by zero', () => {
    expect(loadIn(INFO.replace('maxmemory:4096', 'maxmemory:0')).maxBytes).toBeUndefined();
  });

  it('says of a server with any policy but noeviction that it evicts', () => {
    expect(loadIn(INFO.replace('noeviction', 'volatile-ttl')).evicts).toBe(true);
  });

  it('leaves out what a server does not say', () => {
    expect(loadIn('# Memory\r\n')).toEqual({ evicts: false });
  });
});
