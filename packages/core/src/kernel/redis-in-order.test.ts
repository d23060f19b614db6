import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Cluster, Redis } from 'ioredis';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { createInOrder, oneByOne, together } from './redis-in-order';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const NAMES = ['first', 'second', 'third', 'fourth'];

/** Lets so many bytes through to Redis once it is told to count, and then breaks the connection. */
async function startCuttingProxy(redisUrl: string) {
  const { hostname, port } = new URL(redisUrl);
  let left = Number.POSITIVE_INFINITY;
  const server = createServer((client) => {
    const upstream: Socket = connect(Number(port), hostname);
    for (const socket of [client, upstream]) socket.on('error', () => {});
    upstream.pipe(client);
    client.on('data', (chunk) => {
      const passed = chunk.subarray(0, left);
      left -= passed.length;
      upstream.write(passed, () => {
        if (left <= 0) for (const socket of [client, upstream]) socket.destroy();
      });
    });
    client.on('close', () => upstream.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  willClose({ close: () => void server.close() });
  return {
    port: (server.address() as AddressInfo).port,
    cutAfter(bytes: number) {
      left = bytes;
    },
  };
}

it('takes effect up to a point, wherever a connection breaks', async () => {
  const { url, client } = willClose(await openTestRedis());
  const proxy = await startCuttingProxy(url);
  const seen = new Set<number>();
  for (let bytes = 1; bytes < 160; bytes += 6) {
    const redis = new Redis({
      port: proxy.port,
      host: '127.0.0.1',
      db: client.options.db,
      maxRetriesPerRequest: 0,
      retryStrategy: () => null,
    });
    redis.on('error', () => {});
    willClose({ close: () => redis.disconnect() });
    await once(redis, 'ready');
    await client.flushdb();
    proxy.cutAfter(bytes);
    const steps = NAMES.map((name) => () => redis.set(name, '1'));
    await createInOrder(redis)(steps).catch(() => {});
    proxy.cutAfter(Number.POSITIVE_INFINITY);
    // What had been sent may still be on its way.
    await client.ping();
    const done = await Promise.all(NAMES.map((name) => client.exists(name)));
    expect(done).toEqual(done.toSorted((a, b) => b - a));
    seen.add(done.filter((one) => one === 1).length);
  }
  // It was cut between any two of them.
  expect([...seen].toSorted()).toEqual([0, 1, 2, 3, 4]);
});

it('is one round trip over one connection: no step waits for those before', async () => {
  const { client } = willClose(await openTestRedis());
  const order: string[] = [];
  const step = (name: string) => async () => {
    order.push(`${name} sent`);
    await client.ping();
    order.push(`${name} answered`);
  };
  await createInOrder(client)([step('a'), step('b')]);
  expect(order).toEqual(['a sent', 'b sent', 'a answered', 'b answered']);
});

it('waits for each step in a Cluster, whose nodes know nothing of each other', async () => {
  const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
  expect(createInOrder(cluster)).toBe(oneByOne);
  const order: string[] = [];
  const step = (name: string) => async () => {
    order.push(`${name} begun`);
    await new Promise(setImmediate);
    order.push(`${name} done`);
  };
  await oneByOne([step('a'), step('b')]);
  expect(order).toEqual(['a begun', 'a done', 'b begun', 'b done']);
});

it.each([
  ['together', together],
  ['one by one', oneByOne],
])('fails with the step that fails, %s', async (_how, inOrder) => {
  const failing = async () => {
    throw new Error('refused');
  };
  await expect(inOrder([async () => {}, failing])).rejects.toThrow('refused');
});
