import { openTestRedis, type TestRedis } from '../../testing/test-redis';
import { uniqueAccountId } from '../../testing/unique-ids';
import { UNPROVEN_A_MINUTE, UnprovenRequests } from './redis-unproven-requests';

let redis: TestRedis;
let unprovenRequests: UnprovenRequests;
beforeAll(async () => {
  redis = await openTestRedis();
  unprovenRequests = new UnprovenRequests(redis.client);
});
afterEach(() => redis.client.flushdb());
afterAll(() => redis.close());

type Of = readonly [account: ReturnType<typeof uniqueAccountId>, host: string];
const takeMany = (of: (each: number) => Of) =>
  Promise.all(Array.from({ length: 100 }, (_, each) => unprovenRequests.take(...of(each))));
const granted = (waits: readonly number[]) => waits.filter((waitMs) => waitMs === 0).length;

it('are a few a minute to a host, whosever they are and however it is written', async () => {
  const waits = await takeMany((each) => [uniqueAccountId(), each % 2 ? 'a.example.com' : 'a.example.com.']);
  expect(granted(waits)).toBe(UNPROVEN_A_MINUTE.ofHost);
  expect(Math.max(...waits)).toBeGreaterThan(50_000);
  expect(Math.max(...waits)).toBeLessThanOrEqual(60_000);
  expect(await unprovenRequests.take(uniqueAccountId(), 'b.example.com')).toBe(0);
});

it('leave room for other accounts at a host of which one account takes all that it may', async () => {
  const one = uniqueAccountId();
  expect(granted(await takeMany(() => [one, 'a.example.com']))).toBe(UNPROVEN_A_MINUTE.ofAccountAtHost);
  expect(await unprovenRequests.take(uniqueAccountId(), 'a.example.com')).toBe(0);
});

it('are a few a minute of an account, however many names it has for a server', async () => {
  const accountId = uniqueAccountId();
  const waits = await takeMany((each) => [accountId, `${each}.example.com`]);
  expect(granted(waits)).toBe(UNPROVEN_A_MINUTE.ofAccount);
});

it('write no name of a host into Redis', async () => {
  await unprovenRequests.take(uniqueAccountId(), 'a.example.com');
  expect((await redis.client.keys('*')).join()).not.toContain('example');
});
