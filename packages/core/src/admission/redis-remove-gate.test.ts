import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { CLOSED } from './breaker';
import { createRedisBreakerStore } from './redis-breaker-store';
import { createRedisParkedStore } from './redis-parked-store';
import { createRedisPermitStore } from './redis-permit-store';
import { createRedisRemoveGate } from './redis-remove-gate';
import { createRedisTurnStore } from './redis-turn-store';

const NOW = 1_700_000_000_000;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

it('forgets all of an endpoint, and nothing of others', async () => {
  const breakerStore = createRedisBreakerStore(redis.client);
  const parkedStore = createRedisParkedStore(redis.client, { retentionMs: 60_000, clock: () => NOW });
  const permitStore = createRedisPermitStore(redis.client);
  const turnStore = createRedisTurnStore(redis.client);
  const [id, other] = [uniqueEndpointId(), uniqueEndpointId()];
  const parked = { eventId: uniqueEventId(), side: 'second' } as const;
  for (const each of [id, other]) {
    await parkedStore.park(each, parked, NOW);
    await turnStore.give(each, parked);
    await breakerStore.recordFailure(each, CLOSED, NOW);
    await permitStore.take(each, { permit: 'a', limit: 1, leaseMs: 60_000, hasWaited: true });
  }
  const look = async (endpointId: typeof id) => [
    (await breakerStore.readBreaker(endpointId)).failures,
    await parkedStore.countParked(endpointId),
    (await permitStore.countFree(endpointId, 1)).free,
    (await turnStore.findNext(endpointId)).kind,
  ];

  await createRedisRemoveGate(redis.client)(id);
  expect(await look(id)).toEqual([0, 0, 1, 'nobody']);
  expect(await look(other)).toEqual([1, 1, 0, 'parked']);
  expect(await redis.client.keys(`*${id}*`)).toEqual([]);
});
