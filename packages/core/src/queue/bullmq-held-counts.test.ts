import { QUEUE_PREFIX } from '@hookferry/producer/contract';
import { deliveryIdOf, type HoldReason } from '../domain/delivery';
import { queueKeysOf } from '../domain/keys';
import { createQueueLayout, DELIVERIES_QUEUE, oneShard, shardsAmong } from '../domain/queues';
import { RemainsStore } from '../operations/redis-remains-store';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { HeldDeliveries } from './bullmq-held-deliveries';
import { createJobKeys } from './bullmq-layout';
import { HeldCounts } from './redis-held-counts';

const NOW = 1_700_000_000_000;
const NONE = {
  disabled: 0,
  breaker_open: 0,
  busy: 0,
  rate_limited: 0,
  ordering: 0,
  no_token: 0,
  batching: 0,
  unverified: 0,
};

const keys = queueKeysOf(QUEUE_PREFIX);
const shards = oneShard(QUEUE_PREFIX);

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

async function arrange() {
  const { client } = willClose(await openTestRedis());
  const held = new HeldDeliveries(client, oneShard(QUEUE_PREFIX));
  const address = { accountId: uniqueAccountId(), endpointId: uniqueEndpointId() };
  const hold = async (count: number, reason: HoldReason, at = address) => {
    for (let i = 0; i < count; i += 1) {
      await held.enter(at, { eventId: uniqueEventId(), acceptedAt: NOW + i }, NOW, reason);
    }
  };
  const release = async (most: number) =>
    await held.release(address, { most, wakeUpWasDueAt: NOW, wakeUpAgainAt: NOW, now: NOW });
  return { client, held, address, hold, release, counts: new HeldCounts(client, shards) };
}

it('says how many are held, by reason, of all endpoints', async () => {
  const { hold, counts } = await arrange();
  expect(await counts.read()).toEqual(NONE);
  await hold(2, 'busy');
  await hold(3, 'disabled', { accountId: uniqueAccountId(), endpointId: uniqueEndpointId() });
  expect(await counts.read()).toEqual({ ...NONE, busy: 2, disabled: 3 });
});

it("counts all of an endpoint's for the reason of the last one", async () => {
  const { hold, counts } = await arrange();
  await hold(2, 'busy');
  await hold(1, 'breaker_open');
  expect(await counts.read()).toEqual({ ...NONE, breaker_open: 3 });
});

it('counts one that is entered twice once', async () => {
  const { held, address, counts } = await arrange();
  const delivery = { eventId: uniqueEventId(), acceptedAt: NOW };
  await held.enter(address, delivery, NOW, 'busy');
  await held.enter(address, delivery, NOW, 'busy');
  expect(await counts.read()).toEqual({ ...NONE, busy: 1 });
});

it('stops counting released ones, and leaves nothing behind of an endpoint without any', async () => {
  const { hold, release, counts, client } = await arrange();
  await hold(3, 'busy');
  // They have no jobs: each goes as it is looked at.
  await release(1);
  expect(await client.hlen(keys.countedAsHeld)).toBe(0);
  expect(await counts.read()).toEqual(NONE);
});

it('keeps counting the remaining ones, for the same reason', async () => {
  const { client, held, address, release, counts } = await arrange();
  const jobKeys = createJobKeys(QUEUE_PREFIX, DELIVERIES_QUEUE);
  for (let i = 0; i < 3; i += 1) {
    const eventId = uniqueEventId();
    const job = deliveryIdOf({ eventId, endpointId: address.endpointId });
    await client.hset(jobKeys.job(job), 'name', 'd');
    await client.zadd(jobKeys.delayed, NOW, job);
    await held.enter(address, { eventId, acceptedAt: NOW + i }, NOW, 'rate_limited');
  }
  await release(1);
  expect(await client.zcard(jobKeys.prioritized)).toBe(1);
  expect(await counts.read()).toEqual({ ...NONE, rate_limited: 2 });
});

it('is right again after a version that counts nothing has held and released', async () => {
  const { hold, client, address, counts } = await arrange();
  await hold(2, 'busy');
  await client.zadd(keys.held(address.endpointId), NOW, uniqueEventId());
  expect(await counts.read()).toEqual({ ...NONE, busy: 3 });
  await client.del(keys.held(address.endpointId));
  expect(await counts.read()).toEqual(NONE);
  expect(await client.hlen(keys.countedAsHeld)).toBe(0);
});

it('counts nothing of an endpoint that is erased', async () => {
  const { hold, client, address, counts } = await arrange();
  await hold(2, 'busy');
  await new RemainsStore(client, shards).removeEndpoint(address.accountId, address.endpointId);
  expect(await counts.read()).toEqual(NONE);
});

it('adds up what is held in all shards', async () => {
  const { client } = willClose(await openTestRedis());
  const split = shardsAmong(createQueueLayout(3, QUEUE_PREFIX), []);
  for (const [i, { prefix }] of split.all().entries()) {
    const held = new HeldDeliveries(client, oneShard(prefix));
    const address = { accountId: uniqueAccountId(), endpointId: uniqueEndpointId() };
    const delivery = { eventId: uniqueEventId(), acceptedAt: NOW };
    await held.enter(address, delivery, NOW, i === 0 ? 'disabled' : 'busy');
  }
  const counts = new HeldCounts(client, split);
  expect(await counts.read()).toEqual({ ...NONE, disabled: 1, busy: 2 });
});
