import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { CLOSED } from './breaker';
import { createRedisBreakerStore } from './redis-breaker-store';
import { createRedisParkedStore } from './redis-parked-store';
import { createRedisRemoveGate } from './redis-remove-gate';

const NOW = 1_700_000_000_000;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

it("forgets the endpoint's breaker and all that is parked, and nothing of others", async () => {
  const breakerStore = createRedisBreakerStore(redis.client);
  const parkedStore = createRedisParkedStore(redis.client);
  const [id, other] = [uniqueEndpointId(), uniqueEndpointId()];
  for (const each of [id, other]) {
    await parkedStore.park(each, { eventId: uniqueEventId(), side: 'second' }, NOW);
    await breakerStore.recordFailure(each, CLOSED, NOW);
  }
  await createRedisRemoveGate(redis.client)(id);
  expect(await breakerStore.readBreaker(id)).toEqual(CLOSED);
  expect(await parkedStore.countParked(id)).toBe(0);
  expect(await breakerStore.readBreaker(other)).toMatchObject({ failures: 1 });
  expect(await parkedStore.countParked(other)).toBe(1);
});
