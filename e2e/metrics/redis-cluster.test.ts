import { readRedisLoads } from '@hookferry/core/telemetry/prom-shared-gauges';
import { Cluster } from 'ioredis';
import { RedisCluster } from '../support/redis-cluster';

let cluster: RedisCluster;
let client: Cluster;
beforeAll(async () => {
  cluster = await RedisCluster.start();
  client = new Cluster(
    cluster.url
      .slice('redis+cluster://'.length)
      .split(',')
      .map((address) => `redis://${address}`),
  );
});
afterAll(async () => {
  client.disconnect();
  await cluster.remove();
});

it('is told of each node, in the order of their addresses', async () => {
  await client.ping();
  const masters = client
    .nodes('master')
    .toSorted((one, other) => Number(one.options.port) - Number(other.options.port));
  await Promise.all(masters.map((master, index) => master.config('SET', 'maxmemory', `${index + 1}gb`)));
  const loads = await readRedisLoads(client);
  expect(loads.map(({ maxBytes }) => (maxBytes ?? 0) / 2 ** 30)).toEqual(
    masters.map((_, index) => index + 1),
  );
  expect(loads.every(({ usedBytes = 0, cpuSeconds = 0 }) => usedBytes > 0 && cpuSeconds > 0)).toBe(true);
  expect(loads.length).toBeGreaterThan(1);
});
