import { CLUSTER_QUEUE_PREFIX } from '@hookferry/producer/contract';
import { Queue } from 'bullmq';
import { deliveryIdOf } from '../domain/delivery';
import type { EventId } from '../domain/event';
import { DELIVERIES_QUEUE, EVENTS_QUEUE, oneShard } from '../domain/queues';
import { atomicOneByOne } from '../platform/redis-atomic';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { DeliveryQueue } from './bullmq-delivery-queue';
import { DueDeliveries } from './bullmq-due-deliveries';
import { HeldDeliveries } from './bullmq-held-deliveries';
import { PushedEvents } from './bullmq-pushed-events';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);
afterEach(() => jest.restoreAllMocks());

const NOW = 1_700_000_000_000;

/** What a Redis Cluster hashes of a key: what stands between its first braces. */
const hashTagOf = (key: string) => /\{([^}]+)\}/.exec(key)?.[1] ?? key;

async function arrange() {
  const { client } = willClose(await openTestRedis());
  const connection = { redis: client, prefix: CLUSTER_QUEUE_PREFIX };
  const scripts = jest.spyOn(client, 'evalsha');
  const queueOf = (name: string) =>
    willClose(new Queue(name, { connection: client, prefix: CLUSTER_QUEUE_PREFIX }));
  const address = { accountId: uniqueAccountId(), endpointId: uniqueEndpointId() };
  return {
    client,
    connection,
    queueOf,
    address,
    deliveryQueue: new DeliveryQueue(connection.redis, oneShard(connection.prefix)),
    /** Of the keys of each script that ran, and of all that there is now. */
    async hashTags(): Promise<readonly string[]> {
      const ofScripts = scripts.mock.calls.flatMap(([, count, ...rest]) => rest.slice(0, Number(count)));
      expect(ofScripts.length).toBeGreaterThan(0);
      return [...ofScripts.map(String), ...(await client.keys('*'))].map(hashTagOf);
    },
  };
}

it.each<[string, (arranged: Awaited<ReturnType<typeof arrange>>) => Promise<unknown>]>([
  [
    'finds new deliveries their places',
    ({ deliveryQueue, address }) => deliveryQueue.addAll([{ ...address, eventId: uniqueEventId() }]),
  ],
  [
    'puts back deliveries that are due',
    async ({ connection, queueOf, address }) => {
      const jobId = deliveryIdOf({ ...address, eventId: uniqueEventId() });
      await queueOf(DELIVERIES_QUEUE).add('d', { account_id: address.accountId }, { jobId, delay: 1 });
      const due = new DueDeliveries({
        prefix: connection.prefix,
        atomic: atomicOneByOne(connection.redis),
        clock: () => Date.now() + 60_000,
        emit: () => {},
      });
      await due.runOnce();
    },
  ],
  [
    'releases deliveries that are held',
    async ({ connection, queueOf, address }) => {
      const eventId: EventId = uniqueEventId();
      const jobId = deliveryIdOf({ ...address, eventId });
      await queueOf(DELIVERIES_QUEUE).add('d', {}, { jobId, delay: 60_000 });
      const held = new HeldDeliveries(connection.redis, oneShard(connection.prefix));
      await held.enter(address, { eventId, acceptedAt: NOW }, NOW, 'busy');
      expect(
        await held.release(address, { most: 1, wakeUpWasDueAt: NOW, wakeUpAgainAt: NOW, now: NOW }),
      ).toMatchObject({ released: 1 });
    },
  ],
  [
    'sorts pushed events',
    async ({ connection, queueOf, address }) => {
      await queueOf(EVENTS_QUEUE).addBulk([{ name: 'e', data: { account_id: address.accountId } }]);
      await new PushedEvents(connection, 0).sort();
    },
  ],
])('all keys of the script that %s are on one node of a Redis Cluster', async (_what, act) => {
  const arranged = await arrange();
  await act(arranged);
  expect(await arranged.client.keys('fair-order:*')).toHaveLength(2);
  expect(new Set(await arranged.hashTags())).toEqual(new Set(['bull']));
});
