import { startRedisServer } from '../testing/redis-server';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { askForEach, type RowStep, rowsAsOne, rowsOneByOne } from './redis-rows';
import { defineGuard, defineScript } from './redis-script';

const READ = defineScript(`return redis.call('GET', KEYS[1])`);
const BELOW = defineGuard(`return tonumber(redis.call('GET', KEYS[1]) or 0) < tonumber(ARGV[1]) and 1 or 0`);
const ADD = defineGuard(`return {1, redis.call('INCRBY', KEYS[1], ARGV[1])}`);
const NOTE = defineScript(`redis.call('RPUSH', KEYS[1], ARGV[1], ARGV[2])`);

interface Row {
  readonly key: string;
  readonly most: number;
}

const guard: RowStep<Row> = (rows, target) =>
  target.call(
    BELOW,
    rows,
    ({ key }) => [key],
    ({ most }) => [most],
  );
const note: RowStep<Row> = (rows, target) =>
  target.call(
    NOTE,
    rows,
    ({ key }) => [`noted ${key}`],
    ({ key, most }) => [key, most],
  );

let redis: TestRedis;
beforeEach(async () => {
  redis = await openTestRedis();
});
afterEach(() => redis.close());

const ways = { 'as one': rowsAsOne, 'one by one': rowsOneByOne };

describe.each(Object.entries(ways))('steps for many rows, %s', (_name, atomic) => {
  /** Adds 1 to each row's number unless it is at its most, and notes those that it has added to. */
  async function addToEach(rows: readonly Row[]) {
    const sums = new Map<string, unknown>();
    const ends = await atomic(redis.client)(rows, [
      guard,
      async (left, target) => {
        const replies = await target.call(
          ADD,
          left,
          ({ key }) => [key],
          () => [1],
        );
        for (const [i, { key }] of left.entries()) sums.set(key, replies[i]);
      },
      note,
    ]);
    return { ends, sums };
  }

  it('run in order for each, as far as its guard lets them', async () => {
    await redis.client.mset('a', 1, 'b', 5);
    const rows = [
      { key: 'a', most: 5 },
      { key: 'b', most: 5 },
      { key: 'c', most: 5 },
    ];
    const { ends, sums } = await addToEach(rows);
    expect(ends).toEqual(['ran', 'stopped', 'ran']);
    expect(['a', 'c'].map((key) => sums.get(key))).toEqual([
      [1, 2],
      [1, 1],
    ]);
    expect(sums.get('b')).toBeUndefined();
    expect(await redis.client.mget('a', 'b', 'c')).toEqual(['2', '5', '1']);
    expect(await redis.client.lrange('noted a', 0, -1)).toEqual(['a', '5']);
    expect(await redis.client.exists('noted b')).toBe(0);
  });

  it('end with the error of a row whose data is wrong, and go on with the others', async () => {
    await redis.client.rpush('a', 'no number');
    await redis.client.set('noted b', 'no list');
    const { ends } = await addToEach(['a', 'b', 'c'].map((key) => ({ key, most: 5 })));
    expect(ends).toEqual([
      expect.objectContaining({ message: expect.stringContaining('WRONGTYPE') }),
      expect.objectContaining({ message: expect.stringContaining('WRONGTYPE') }),
      'ran',
    ]);
    expect(await redis.client.mget('b', 'c')).toEqual(['1', '1']);
  });

  it('say that a guard has stopped a row at the last step', async () => {
    const rows = [
      { key: 'a', most: 0 },
      { key: 'b', most: 1 },
    ];
    expect(await atomic(redis.client)(rows, [guard])).toEqual(['stopped', 'ran']);
  });

  it('run for thousands of rows, in their order', async () => {
    const rows = Array.from({ length: 3_000 }, (_, i) => ({ key: `k${i}`, most: i }));
    await redis.client.mset(rows.flatMap(({ key, most }) => [key, most]));
    const read = await askForEach(atomic(redis.client), rows, (all, target) =>
      target.call(
        READ,
        all,
        ({ key }) => [key],
        () => [],
      ),
    );
    expect(read).toEqual(rows.map(({ most }) => String(most)));
  });

  it('do nothing for no row', async () => {
    expect(await atomic(redis.client)([], [guard, note])).toEqual([]);
  });

  it('fail as a whole when Redis takes no writes', async () => {
    const server = await startRedisServer();
    const full = await openTestRedis(server.url);
    try {
      await server.fillUp();
      await expect(atomic(full.client)([{ key: 'a', most: 1 }], [guard, note])).rejects.toThrow('OOM');
      await server.makeRoom();
      expect(await full.client.dbsize()).toBe(0);
    } finally {
      await full.close();
      await server.close();
    }
  });
});
