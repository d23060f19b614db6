import { Worker } from 'bullmq';
import type { AccountId } from '../domain/account';
import { deliveryIdOf } from '../domain/delivery';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { keys, queueKeysOf } from '../domain/keys';
import { oneShard } from '../domain/queues';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EventStore } from '../events/redis-event-store';
import { createNewId } from '../platform/ids';
import { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { buildAcceptedAttempt } from '../testing/build-attempt';
import { buildEvent } from '../testing/build-event';
import { buildNewDeliveries } from '../testing/build-new-deliveries';
import { createClosables } from '../testing/closables';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId } from '../testing/unique-ids';

const queueKeys = queueKeysOf('bull');

const NOW = 1_700_000_000_000;
const DAY = 86_400_000;
const COUNT = 200;

let redis: TestRedis;
const { willClose, closeAll } = createClosables();
beforeAll(async () => {
  redis = willClose(await openTestRedis());
});
afterAll(closeAll);

async function bytesOf(key: string): Promise<number> {
  return Number(await redis.client.call('MEMORY', 'USAGE', key, 'SAMPLES', '0'));
}

/** What one member of a sorted set takes up. */
async function shareOf(key: string): Promise<number> {
  return (await bytesOf(key)) / (await redis.client.zcard(key));
}

/**
 * Events to one endpoint, one after the other. Gives what each has of its own and its part of what all share.
 */
async function fanOut(dataLength: number) {
  const accountId: AccountId = uniqueAccountId();
  const endpointId: EndpointId = uniqueEndpointId();
  const events = new EventStore(redis.client, { ageMs: DAY, count: COUNT });
  const deliveries = new DeliveryStore(redis.client, { ageMs: DAY, count: COUNT });
  const newId = createNewId(() => NOW);
  const ids = Array.from({ length: COUNT }, () => newId('evt') as EventId);
  for (const [i, id] of ids.entries()) {
    const body = JSON.stringify({ type: 'keyword.quick_win', data: 'x'.repeat(dataLength) });
    await events.save(buildEvent({ id, accountId, body, acceptedAt: NOW + i }))(redis.client);
    await events.addReceivers(accountId, id, [endpointId])(redis.client);
    await deliveries.enlistAll(buildNewDeliveries(id, [endpointId], NOW + i))(redis.client);
  }
  const [eventId] = ids;
  if (eventId === undefined) throw new Error('arranged otherwise');
  const place = (await bytesOf(keys.deliveries(endpointId))) / COUNT;
  const receivers = await bytesOf(keys.receivers(accountId, eventId));
  return { accountId, endpointId, eventId, ids, deliveries, bytes: place + receivers };
}

// There are millions of them.
it('the history of a delivery that succeeds at once takes up at most 600 bytes', async () => {
  const { endpointId, eventId, deliveries, bytes } = await fanOut(10);
  const timings = { dnsMs: 12, connectMs: 100, tlsMs: 120, firstByteMs: 250 };
  const attempt = buildAcceptedAttempt({ timings, worker: 'f00d42', remoteAddress: '203.0.113.210' });
  const eventType = 'keyword.quick_win';
  const fact = { kind: 'attempted', attempt, nextAttemptAt: undefined, eventType } as const;
  await deliveries.append({ endpointId, eventId }, fact);
  const log = await bytesOf(keys.delivery(endpointId, eventId));
  expect(bytes + log).toBeLessThanOrEqual(600);
});

it.each([10, 100_000])(
  'a pending delivery of %d bytes takes up at most 1.2 KiB, its job and its place included',
  async (dataLength) => {
    const { accountId, endpointId, eventId, ids, bytes } = await fanOut(dataLength);
    const queue = new DeliveryQueue(redis.client, oneShard('bull'));
    for (const id of ids) await queue.addAll([{ accountId, eventId: id, endpointId }]);
    const job = await bytesOf(`bull:deliveries:${deliveryIdOf({ eventId, endpointId })}`);
    const line = await shareOf('bull:deliveries:prioritized');
    expect(bytes + job + line).toBeLessThanOrEqual(1_228);
  },
);

it.each([10, 100_000])(
  'a held delivery of %d bytes takes up at most 1.4 KiB, its job and its entry included',
  async (dataLength) => {
    const { accountId, endpointId, eventId, ids, bytes } = await fanOut(dataLength);
    const queues = { redis: redis.client, prefix: 'bull' };
    const queue = new DeliveryQueue(queues.redis, oneShard(queues.prefix));
    const held = new HeldDeliveries(queues.redis, oneShard(queues.prefix));
    const worker = willClose(new Worker('deliveries', null, { connection: redis.client }));
    await queue.addAll(ids.map((id) => ({ accountId, eventId: id, endpointId })));
    for (;;) {
      const job = await worker.getNextJob('token', { block: false });
      if (!job) break;
      await job.moveToDelayed(Date.now() + DAY, 'token');
    }
    for (const [i, id] of ids.entries()) {
      await held.enter({ accountId, endpointId }, { eventId: id, acceptedAt: NOW + i }, NOW + DAY, 'busy');
    }
    const job = await bytesOf(`bull:deliveries:${deliveryIdOf({ eventId, endpointId })}`);
    const line = await shareOf('bull:deliveries:delayed');
    const entry = await shareOf(queueKeys.held(endpointId));
    expect(bytes + job + line + entry).toBeLessThanOrEqual(1_434);
  },
);
