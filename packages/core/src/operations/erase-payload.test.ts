import { eventJobId } from '@hookferry/producer/contract';
import type { DeliveryParts } from '../domain/delivery';
import { readLog } from '../domain/delivery-log';
import type { AcceptedEvent } from '../domain/event';
import { keys } from '../domain/keys';
import { oneShard } from '../domain/queues';
import { DeliveryStore } from '../events/redis-delivery-store';
import { CACHED_FOR_MS, EventStore } from '../events/redis-event-store';
import type { PgDatabase } from '../history/database/pg-database';
import { EventClaimStore } from '../publish/redis-event-claim-store';
import { ScheduledEvents } from '../publish/scheduled-events';
import type { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import { EventQueue } from '../queue/bullmq-event-queue';
import { buildAcceptedAttempt, buildAttempt } from '../testing/build-attempt';
import { buildEvent } from '../testing/build-event';
import { fake } from '../testing/fake';
import { noOrder } from '../testing/no-order';
import { openPublishingParts } from '../testing/open-publishing-parts';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { PayloadErasure, type PayloadErasureParts } from './erase-payload';

const NOW = 1_700_000_060_000;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

const readState = async ({ endpointId, eventId }: DeliveryParts) =>
  readLog((await redis.client.get(keys.delivery(endpointId, eventId))) ?? '');

/** An event that nobody knows yet, what may know of it, and a clock that goes on when somebody waits. */
function arrange(change: Partial<AcceptedEvent> = {}) {
  let now = 0;
  const event = buildEvent(change);
  const { accountId, id } = event;
  const endpointId = uniqueEndpointId();
  const openEventStore = () => new EventStore(redis.client, testRetention, () => now);
  const eventStore = openEventStore();
  const deliveryStore = new DeliveryStore(redis.client, testRetention);
  const queue = { redis: redis.client, prefix: 'bull' };
  const signals = recordSignals();
  const publishingParts = openPublishingParts(redis.client);
  const parts = {
    ...noOrder,
    scheduledEvents: new ScheduledEvents({
      ...publishingParts,
      eventStore,
      clock: () => NOW,
      emit: signals.listen,
    }),
    eventStore,
    deliveryStore,
    eventQueue: new EventQueue(queue.redis, oneShard(queue.prefix)),
    wait: async (ms: number) => void (now += ms),
    clock: () => NOW,
    emit: signals.listen,
  };
  return {
    event,
    endpointId,
    eventStore,
    openEventStore,
    deliveryStore,
    eventQueue: new EventQueue(queue.redis, oneShard(queue.prefix)),
    queuedData: () => redis.client.hget(`bull:events:${eventJobId(accountId, id)}`, 'data'),
    log: () => redis.client.get(keys.delivery(endpointId, id)),
    delivery: { endpointId, eventId: id },
    signals,
    pass: (ms: number) => void (now += ms),
    erase: (given: Partial<PayloadErasureParts> = {}) =>
      new PayloadErasure(fake<PayloadErasureParts>({ ...parts, ...given })).erase(accountId, id),
  };
}

it('keeps the event recorded without its payload, for as long as it would have been', async () => {
  const { event, eventStore, erase, signals } = arrange();
  const { accountId, id, type, acceptedAt } = event;
  await eventStore.save(event)(redis.client);
  await redis.client.pexpire(keys.event(accountId, id), 5_000);
  await erase();
  const { body: _body, ...rest } = event;
  expect(await eventStore.find(accountId, id)).toEqual({ ...rest, erasedAt: NOW });
  expect(await eventStore.findHead(accountId, id)).toEqual({
    type,
    acceptedAt,
    isAimed: false,
    erasedAt: NOW,
  });
  expect(await redis.client.pttl(keys.event(accountId, id))).toBeLessThanOrEqual(5_000);
  expect(signals.named('event.payload_erased')).toMatchObject([{ accountId, eventId: id }]);
});

it('changes nothing when it is done again, and still knows the endpoints that the event was aimed at', async () => {
  const { event, endpointId, eventStore, erase } = arrange();
  await eventStore.save({ ...event, endpointIds: [endpointId] })(redis.client);
  await erase();
  const stored = await redis.client.get(keys.event(event.accountId, event.id));
  await erase();
  expect(await redis.client.get(keys.event(event.accountId, event.id))).toBe(stored);
  expect(await eventStore.findHead(event.accountId, event.id)).toMatchObject({ isAimed: true });
});

it("finds neither what is not there nor another account's event", async () => {
  const { event, eventStore, erase } = arrange();
  await expect(erase()).rejects.toMatchObject({ code: 'not_found' });
  await eventStore.save({ ...event, accountId: uniqueAccountId() })(redis.client);
  await expect(erase()).rejects.toMatchObject({ code: 'not_found' });
});

it('has waited until no process has the body in its memory any more', async () => {
  const { event, eventStore, openEventStore, erase } = arrange();
  const { accountId, id } = event;
  const other = openEventStore();
  await eventStore.save(event)(redis.client);
  await other.find(accountId, id);
  await erase();
  expect((await other.find(accountId, id))?.body).toBeUndefined();
});

it('is found from memory for a moment only', async () => {
  const { event, openEventStore, pass } = arrange();
  const { accountId, id } = event;
  const store = openEventStore();
  await store.save(event)(redis.client);
  await store.find(accountId, id);
  await redis.client.del(keys.event(accountId, id));
  pass(CACHED_FOR_MS - 1);
  expect(await store.find(accountId, id)).toEqual(event);
  pass(1);
  expect(await store.find(accountId, id)).toBeUndefined();
});

it('takes the digest of the payload away, and nobody else gets the id', async () => {
  const { event, eventStore, erase } = arrange();
  const { accountId, id } = event;
  const claims = new EventClaimStore(redis.client, testRetention.ageMs);
  await claims.claim({ accountId, id, acceptedAt: NOW }, 'digest')(redis.client);
  await eventStore.save(event)(redis.client);
  await erase();
  expect(await redis.client.exists(keys.eventClaim(accountId, id))).toBe(0);
  expect(await claims.claim({ accountId, id, acceptedAt: NOW }, 'digest')(redis.client)).toEqual({
    state: 'stored',
  });
});

describe('an event that is still on the queue', () => {
  it('loses its payload there, and is saved without it', async () => {
    const { event, eventStore, eventQueue, queuedData, erase } = arrange({ body: '{"data":"marker"}' });
    await eventQueue.add(event);
    await erase();
    expect(JSON.parse((await queuedData()) ?? '')).toEqual({
      account_id: event.accountId,
      id: event.id,
      body: '',
      accepted_at: event.acceptedAt,
      webhook_ids: [],
    });
    // By a worker that had taken it before.
    await eventStore.save(event)(redis.client);
    expect(await eventStore.find(event.accountId, event.id)).toMatchObject({ erasedAt: NOW });
  });

  it('is absent when a producer pushed what is no event of this account', async () => {
    const { event, eventQueue, queuedData, erase } = arrange();
    await eventQueue.add(event);
    const key = `bull:events:${eventJobId(event.accountId, event.id)}`;
    await redis.client.hset(key, 'data', JSON.stringify({ account_id: 'other', type: event.type, data: 1 }));
    await expect(erase()).rejects.toMatchObject({ code: 'not_found' });
    expect(await queuedData()).toContain('other');
  });
});

describe("receivers' answers", () => {
  const failed = buildAttempt({ responseBody: 'marker', responseHeaders: { 'x-echo': 'marker' } });

  it('are erased; what happened stays recorded', async () => {
    const { event, endpointId, eventStore, deliveryStore, delivery, log, erase } = arrange();
    await eventStore.save(event)(redis.client);
    await eventStore.addReceivers(event.accountId, event.id, [endpointId])(redis.client);
    await deliveryStore.append(delivery, { kind: 'attempted', attempt: failed, nextAttemptAt: 5 });
    const before = await readState({ endpointId, eventId: event.id });
    await erase();
    expect(await log()).not.toContain('marker');
    const { responseBody: _body, responseHeaders: _headers, ...rest } = failed;
    expect(await readState({ endpointId, eventId: event.id })).toEqual({ ...before, attempts: [rest] });
  });

  it('are not recorded any more by attempts that were under way, the first or a later one', async () => {
    const { event, endpointId, eventStore, deliveryStore, delivery, log, erase } = arrange();
    await eventStore.save(event)(redis.client);
    await eventStore.addReceivers(event.accountId, event.id, [endpointId])(redis.client);
    await erase();
    const attempts = [failed, { ...buildAcceptedAttempt(), number: 2, responseBody: 'marker' }];
    for (const attempt of attempts) {
      await deliveryStore.append(delivery, { kind: 'attempted', attempt, nextAttemptAt: undefined });
    }
    expect(await log()).not.toContain('marker');
    expect(await readState({ endpointId, eventId: event.id })).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1 }, { number: 2 }],
    });
  });

  it('are not recorded where a history has other deliveries, and this one, in no list any more, is sent first', async () => {
    const { event, endpointId, eventStore, deliveryStore, delivery, log, erase } = arrange();
    await eventStore.save(event)(redis.client);
    await eventStore.addReceivers(event.accountId, event.id, [endpointId])(redis.client);
    const deliveryQueue = fake<DeliveryQueue>({
      promote: async () => ({ running: new Set(), haveFailed: new Set() }),
      requestOf: async () => 'no_request',
    });
    const historyDatabase = fake<PgDatabase>({ transact: async () => false as never });
    await erase({ deliveryQueue, historyDatabase });
    await deliveryStore.append(delivery, { kind: 'attempted', attempt: failed, nextAttemptAt: 5 });
    expect(await log()).not.toContain('marker');
  });

  it('of other events stay', async () => {
    const { event, endpointId, eventStore, deliveryStore, erase } = arrange();
    const other = { endpointId, eventId: uniqueEventId() };
    await eventStore.save(event)(redis.client);
    await eventStore.addReceivers(event.accountId, event.id, [endpointId])(redis.client);
    for (const _ of [1, 2]) {
      await deliveryStore.append(other, { kind: 'attempted', attempt: failed, nextAttemptAt: undefined });
    }
    await erase();
    expect(await readState(other)).toMatchObject({
      attempts: [{ responseBody: 'marker' }, { responseBody: 'marker' }],
    });
  });
});
