import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { loadIn, readRedisLoads } from './redis-load';

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

it('has no limit where there is none, or a division by it would be one by zero', () => {
  expect(loadIn(INFO.replace('maxmemory:4096', 'maxmemory:0')).maxBytes).toBeUndefined();
});

it('says of a server with any policy but noeviction that it evicts', () => {
  expect(loadIn(INFO.replace('noeviction', 'volatile-ttl')).evicts).toBe(true);
});

it('leaves out what a server does not say', () => {
  expect(loadIn('# Memory\r\n')).toEqual({ evicts: false });
});
