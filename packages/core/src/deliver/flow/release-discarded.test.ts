import type { EventId } from '../../domain/event';
import { oneShard } from '../../domain/queues';
import type { EndpointStore } from '../../endpoints/redis-endpoint-store';
import { HeldDeliveries } from '../../queue/bullmq-held-deliveries';
import { buildAdmission } from '../../testing/build-admission';
import { buildEndpoint } from '../../testing/build-endpoint';
import { createClosables } from '../../testing/closables';
import { readHeld } from '../../testing/read-held';
import { openTestRedis, type TestRedis } from '../../testing/test-redis';
import { uniqueEventId } from '../../testing/unique-ids';
import { takeFromWaiting } from '../../testing/waiting-jobs';
import { withMethods } from '../../testing/with-methods';
import { wakeUpEndpoint } from './releaser';

const NOW = 1_700_000_000_000;
const jobs = { toKey: (name: string) => `bull:deliveries:${name}` };

let redis: TestRedis;
const { willClose, closeAll } = createClosables();
beforeAll(async () => {
  redis = await openTestRedis();
});
afterEach(closeAll);
afterAll(() => redis.close());

/** Three deliveries that were held when the client has discarded what was held, and one that is held since. */
async function arrange(status: 'enabled' | 'disabled' = 'disabled') {
  const admission = willClose(buildAdmission({ redis: redis.client, clock: () => NOW }));
  const { endpointStore, deliveryQueue } = admission;
  const endpoint = buildEndpoint({ status });
  await endpointStore.create(endpoint);
  const address = { accountId: endpoint.accountId, endpointId: endpoint.id };
  const heldAt = async (since: number): Promise<EventId> => {
    const eventId = uniqueEventId();
    await deliveryQueue.addAll([{ ...address, eventId }]);
    const held = new HeldDeliveries(redis.client, oneShard('bull'), undefined, undefined, () => since);
    await held.enter(address, { eventId, acceptedAt: NOW - 1_000 }, NOW, 'disabled');
    return eventId;
  };
  const discarded = [await heldAt(NOW - 20), await heldAt(NOW - 10), await heldAt(NOW)];
  const later = await heldAt(NOW + 1);
  const discard = (at: number) =>
    endpointStore.update(endpoint.accountId, endpoint.id, (current) => ({
      ...current,
      heldDiscard: { at, isDone: false },
    }));
  await discard(NOW);
  return {
    ...admission,
    endpoint,
    address,
    discarded,
    later,
    discard,
    wakeUp: (parts = admission) => wakeUpEndpoint(parts, address, 0),
    stillHeld: () => readHeld(admission.heldDeliveries, endpoint.id),
    isDone: async () => (await endpointStore.find(endpoint.accountId, endpoint.id))?.heldDiscard?.isDone,
    /** As their workers do when they have entered them. */
    async putOff(eventIds: readonly EventId[]) {
      for (const eventId of eventIds) {
        const job = `${eventId}.${endpoint.id}`;
        await redis.client.zrem(jobs.toKey('prioritized'), job);
        await redis.client.zadd(jobs.toKey('delayed'), (NOW + 3_600_000) * 0x1000, job);
      }
    },
  };
}

it('releases what was held then, also of a disabled endpoint, and notes when none of it is left', async () => {
  const { wakeUp, putOff, discarded, later, stillHeld, isDone } = await arrange();
  await putOff([...discarded, later]);
  expect(await wakeUp()).toEqual({ left: 1, wakeUpAgainAt: NOW + 100 });
  expect(await stillHeld()).toEqual([later]);
  expect(await isDone()).toBe(false);
  expect(await wakeUp()).toMatchObject({ left: 1 });
  expect(await isDone()).toBe(true);
  expect(await stillHeld()).toEqual([later]);
});

it('goes on where a process died that had released some', async () => {
  const { wakeUp, putOff, discarded, later, stillHeld, heldDeliveries, address } = await arrange();
  await putOff([...discarded, later]);
  const only = discarded.slice(1, 2);
  const request = { most: 1, only, wakeUpWasDueAt: NOW, wakeUpAgainAt: NOW + 100, now: NOW };
  expect(await heldDeliveries.release(address, request)).toMatchObject({ released: 1, left: 3 });
  await wakeUp();
  expect(await stillHeld()).toEqual([later]);
});

it('is not done while a worker is about to put one of them off', async () => {
  const { wakeUp, putOff, discarded, stillHeld, later, endpoint, isDone } = await arrange('enabled');
  const [first = uniqueEventId(), ...others] = discarded;
  await putOff([...others, later]);
  const jobId = `${first}.${endpoint.id}`;
  await takeFromWaiting(redis.client, jobs, jobId);
  await redis.client.lpush(jobs.toKey('active'), jobId);
  await wakeUp();
  await wakeUp();
  expect(await stillHeld()).toContain(first);
  expect(await isDone()).toBe(false);
  await redis.client.lrem(jobs.toKey('active'), 1, jobId);
  await putOff([first]);
  await wakeUp();
  await wakeUp();
  expect(await stillHeld()).not.toContain(first);
  expect(await isDone()).toBe(true);
});

it('is not done when the client has discarded more in that moment', async () => {
  const { wakeUp, putOff, discarded, later, stillHeld, discard, isDone, ...admission } = await arrange();
  await putOff([...discarded, later]);
  await wakeUp();
  const { endpointStore } = admission;
  const overtaken = withMethods(endpointStore, {
    async update(...args: Parameters<EndpointStore['update']>) {
      await discard(NOW + 5);
      return await endpointStore.update(...args);
    },
  });
  await wakeUp({ ...admission, endpointStore: overtaken });
  expect(await isDone()).toBe(false);
  await wakeUp();
  expect(await stillHeld()).toEqual([]);
});
