import { Queue } from 'bullmq';
import { createRedisEndpointStore, type EndpointStore } from '../endpoints/redis-endpoint-store';
import { createSubscriptions } from '../endpoints/subscriptions';
import type { AcceptedEvent } from '../events/event';
import { createRedisEventStore } from '../events/redis-event-store';
import { BullmqDeliveryQueue } from '../queue/bullmq-delivery-queue';
import { DELIVERIES_QUEUE } from '../queue/queue-names';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { buildGate } from '../testing/build-gate';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId } from '../testing/unique-ids';
import { deliveryIdOf } from './delivery-id';
import { createFanOutEvent } from './fan-out-event';
import { createRedisDeliveryStore } from './redis-delivery-store';

const NOW = 1_700_000_000_500;

let redis: TestRedis;
let endpointStore: EndpointStore;
let deliveryQueue: BullmqDeliveryQueue;
let jobs: Queue;
beforeAll(async () => {
  redis = await openTestRedis();
  endpointStore = createRedisEndpointStore(redis.client, testSealer);
  deliveryQueue = new BullmqDeliveryQueue({ redis: redis.client, prefix: 'bull' });
  jobs = new Queue(DELIVERIES_QUEUE, { connection: redis.client });
});
afterEach(() => jobs.drain());
afterAll(async () => {
  await Promise.all([deliveryQueue.close(), jobs.close()]);
  await redis.close();
});

function build() {
  const eventStore = createRedisEventStore(redis.client, testRetention);
  const deliveryStore = createRedisDeliveryStore(redis.client, testRetention);
  const signals = recordSignals();
  const gate = buildGate({ redis: redis.client, clock: () => NOW, signals });
  const fanOutEvent = createFanOutEvent({
    eventStore,
    subscriptions: createSubscriptions(endpointStore),
    deliveryStore,
    deliveryQueue,
    hold: gate.hold,
    isStuck: gate.isStuck,
    clock: () => NOW,
    emit: signals.listen,
  });
  return { fanOutEvent, eventStore, deliveryStore, signals, gate };
}

/** An event and, in its account, an endpoint for each of the lists of filters. */
async function arrange(...filters: string[][]) {
  const accountId = uniqueAccountId();
  const endpoints = filters.map((events) => buildEndpoint({ accountId, events }));
  await Promise.all(endpoints.map((endpoint) => endpointStore.create(endpoint)));
  return { event: buildEvent({ accountId }), endpointIds: endpoints.map(({ id }) => id) };
}

const idsFor = (event: AcceptedEvent, endpointIds: readonly (string | undefined)[]) =>
  endpointIds.map((endpointId) => `${event.id}.${endpointId}`).toSorted();

async function waitingIds(): Promise<(string | undefined)[]> {
  return (await jobs.getWaiting()).map(({ id }) => id).toSorted();
}

describe('fanOutEvent', () => {
  it('makes a delivery for each endpoint of the account that asked for the type', async () => {
    const { event, endpointIds } = await arrange(['*'], ['brief.created'], ['keyword.*']);
    await arrange(['*']);
    const { fanOutEvent, deliveryStore } = build();
    await fanOutEvent(event);

    const [all, briefs, keywords] = endpointIds;
    expect(await waitingIds()).toEqual(idsFor(event, [all, keywords]));
    const lists = await Promise.all(endpointIds.map((id) => deliveryStore.list(id, 10)));
    expect(lists.map(({ deliveries }) => deliveries.length)).toEqual([1, 0, 1]);
    expect(lists[0]?.deliveries).toMatchObject([
      { eventId: event.id, createdAt: event.acceptedAt, status: 'pending' },
    ]);
    expect(briefs).toBeDefined();
  });

  it('makes a delivery for each endpoint that the event is aimed at, whatever it asked for, and no other', async () => {
    const { event, endpointIds } = await arrange(['*'], ['brief.created'], ['*']);
    const foreign = await arrange(['*']);
    const [, aimedAt, removed] = endpointIds;
    if (!aimedAt || !removed) throw new Error('There are three.');
    await endpointStore.remove(event.accountId, removed);
    const named = [aimedAt, removed, aimedAt, ...foreign.endpointIds];
    await build().fanOutEvent({ ...event, endpointIds: named });
    expect(await waitingIds()).toEqual(idsFor(event, [aimedAt]));
  });

  it('puts neither the payload nor a secret into the jobs', async () => {
    const { event } = await arrange(['*']);
    await build().fanOutEvent(event);
    const [job] = await jobs.getWaiting();
    expect(job?.data).toEqual({ account_id: event.accountId });
  });

  it('stores the event, also when nobody asked for it', async () => {
    const { event } = await arrange(['brief.created']);
    const { fanOutEvent, eventStore } = build();
    await fanOutEvent(event);
    expect(await eventStore.find(event.accountId, event.id)).toEqual(event);
    expect(await waitingIds()).toEqual([]);
  });

  it('makes the same deliveries when it runs twice, in this process or in another one', async () => {
    const { event, endpointIds } = await arrange(['*'], ['*']);
    const first = build();
    await first.fanOutEvent(event);
    await first.fanOutEvent(event);
    await build().fanOutEvent(event);
    expect(await waitingIds()).toEqual(idsFor(event, endpointIds));
    for (const endpointId of endpointIds) {
      expect((await first.deliveryStore.list(endpointId, 10)).deliveries).toHaveLength(1);
    }
  });

  it('sends the deliveries of those who want them in order to their gates, to be let through there', async () => {
    const { event, endpointIds } = await arrange(['*']);
    const strict = buildEndpoint({ accountId: event.accountId, ordering: 'strict' });
    await endpointStore.create(strict);
    const { fanOutEvent, gate } = build();
    await fanOutEvent(event);
    expect(await waitingIds()).toEqual(idsFor(event, endpointIds));
    expect(gate.releases.released).toEqual([
      {
        accountId: event.accountId,
        endpointId: strict.id,
        parked: { eventId: event.id, side: 'first' },
      },
    ]);

    const next = buildEvent({ accountId: event.accountId });
    await fanOutEvent(next);
    expect(await gate.parkedStore.isParked(strict.id, next.id)).toBe(true);
  });

  it('lets wait at its gate at once what goes to a slow endpoint where others wait already', async () => {
    const { event, endpointIds } = await arrange(['*'], ['*']);
    const [stuck, quick] = endpointIds;
    if (!stuck || !quick) throw new Error('arranged otherwise');
    const { fanOutEvent, gate } = build();
    for (const id of endpointIds) gate.waitingHere.add(id);
    gate.lanes.learn(stuck, { outcome: 'response_timeout', durationMs: 15_000 });
    await fanOutEvent(event);
    expect(await waitingIds()).toEqual(idsFor(event, [quick]));
    expect(await gate.parkedStore.isParked(stuck, event.id)).toBe(true);
    expect(gate.wakes.asked).toMatchObject([{ endpointId: stuck, at: NOW + 10_000 }]);
  });

  it('makes every delivery of an event that goes to more endpoints than one chunk', async () => {
    const { event, endpointIds } = await arrange(...Array.from({ length: 501 }, () => ['*']));
    const { fanOutEvent, signals } = build();
    await fanOutEvent(event);
    expect(await waitingIds()).toEqual(idsFor(event, endpointIds));
    expect(signals.named('event.fanned_out')).toMatchObject([{ deliveries: 501 }]);
  });

  it('reaches an endpoint that was registered before the event, and none that was removed before it', async () => {
    const { event, endpointIds } = await arrange(['*']);
    const { fanOutEvent } = build();
    await fanOutEvent(event);
    const later = buildEndpoint({ accountId: event.accountId });
    await endpointStore.create(later);
    for (const id of endpointIds) await endpointStore.remove(event.accountId, id);

    await jobs.drain();
    const next = buildEvent({ accountId: event.accountId });
    await fanOutEvent(next);
    expect(await waitingIds()).toEqual([deliveryIdOf({ eventId: next.id, endpointId: later.id })]);
  });

  it('is announced once it is complete', async () => {
    const { event } = await arrange(['*']);
    const { fanOutEvent, signals } = build();
    await fanOutEvent(event);
    expect(signals.named('event.fanned_out')).toEqual([
      {
        name: 'event.fanned_out',
        accountId: event.accountId,
        eventId: event.id,
        type: event.type,
        deliveries: 1,
        durationMs: 0,
      },
    ]);
  });
});
