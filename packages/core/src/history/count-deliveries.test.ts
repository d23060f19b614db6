import { oneShard } from '../domain/queues';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EventStore } from '../events/redis-event-store';
import { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { buildAcceptedAttempt } from '../testing/build-attempt';
import { buildEvent } from '../testing/build-event';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { uniqueEndpointId } from '../testing/unique-ids';
import { COUNTS_SHOWN_FOR_MS, DeliveryCounter } from './count-deliveries';

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

/**
 * An event that went to so many endpoints, to none of which anything was sent yet; `logsRead` counts reads of
 * logs.
 */
async function arrangeMany(receivers: number, acceptedAt = Date.now()) {
  const eventStore = new EventStore(redis.client, testRetention);
  const deliveryStore = new DeliveryStore(redis.client, testRetention);
  const heldDeliveries = new HeldDeliveries(redis.client, oneShard('bull'));
  const event = buildEvent({ acceptedAt });
  const { accountId, id: eventId } = event;
  const endpointIds = Array.from({ length: receivers }, uniqueEndpointId);
  await eventStore.save(event, endpointIds)(redis.client);
  const readListed = jest.spyOn(deliveryStore, 'readListed');
  let now = 0;
  const counter = new DeliveryCounter({ eventStore, deliveryStore, heldDeliveries, now: () => now });
  const [endpointId = uniqueEndpointId()] = endpointIds;
  return {
    count: () => counter.countOf(accountId, eventId),
    deliver: () =>
      deliveryStore.append(
        { endpointId, eventId },
        { kind: 'attempted', attempt: buildAcceptedAttempt(), nextAttemptAt: undefined },
      ),
    logsRead: () => readListed.mock.calls.length,
    pass: (ms: number) => void (now += ms),
  };
}

it('reads the logs of an event with many deliveries once in five seconds, however often it is asked', async () => {
  const { count, deliver, logsRead, pass } = await arrangeMany(60);
  await Promise.all([count(), count()]);
  await deliver();
  expect(await count()).toMatchObject({ total: 60, pending: 60 });
  expect(logsRead()).toBe(60);
  pass(COUNTS_SHOWN_FOR_MS);
  expect(await count()).toMatchObject({ total: 60, pending: 59, delivered: 1 });
});

it('counts an event with few deliveries as they are at that moment', async () => {
  const { count, deliver } = await arrangeMany(2);
  expect(await count()).toMatchObject({ total: 2, pending: 2 });
  await deliver();
  expect(await count()).toMatchObject({ pending: 1, delivered: 1 });
});

it('leaves out deliveries whose records are over, of an event that is kept for another one', async () => {
  const { count, deliver } = await arrangeMany(3, Date.now() - testRetention.ageMs - 1_000);
  await deliver();
  expect(await count()).toMatchObject({ total: 1, pending: 0, delivered: 1 });
});
