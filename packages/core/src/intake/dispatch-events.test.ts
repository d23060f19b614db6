import { eventJobId } from '@hookferry/producer/contract';
import { Queue } from 'bullmq';
import { createRedisAdmissionStore } from '../admission/redis-admission-store';
import { createRedisEndpointStore } from '../endpoints/redis-endpoint-store';
import { createSubscriptions } from '../endpoints/subscriptions';
import { asOne } from '../kernel/redis-in-order';
import { deliveryIdOf } from '../model/delivery';
import type { Endpoint } from '../model/endpoint';
import type { AcceptedEvent } from '../model/event';
import { DELIVERIES_QUEUE, EVENTS_QUEUE } from '../model/queue-names';
import { BullmqDeliveryQueue } from '../queue/bullmq-delivery-queue';
import { BullmqEventQueue } from '../queue/bullmq-event-queue';
import { createRedisDeliveryStore } from '../record/redis-delivery-store';
import { createRedisEventStore } from '../record/redis-event-store';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { createClosables } from '../testing/closables';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId } from '../testing/unique-ids';
import { readWaitingIds } from '../testing/waiting-jobs';
import { createDispatchEvents } from './dispatch-events';
import { createFanOutEvent, type FanOutEventDeps } from './fan-out-event';
import { createRouteEvent } from './route-event';

const FEW = 32;

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

/** An account with so many endpoints that ask for everything, and the queues in an empty database. */
async function arrange(endpointCount: number, each: Partial<Endpoint> = {}) {
  const { client } = willClose(await openTestRedis());
  const connection = { redis: client, prefix: 'bull' };
  const accountId = uniqueAccountId();
  const endpoints = Array.from({ length: endpointCount }, () => buildEndpoint({ accountId, ...each }));
  const endpointStore = createRedisEndpointStore(client, testSealer);
  await Promise.all(endpoints.map((endpoint) => endpointStore.create(endpoint)));
  const endpointIds = endpoints.map(({ id }) => id);
  const eventStore = createRedisEventStore(client, testRetention);
  const deliveryStore = createRedisDeliveryStore(client, testRetention);
  const eventQueue = willClose(new BullmqEventQueue(connection));
  const signals = recordSignals();
  const deps: FanOutEventDeps = {
    eventStore,
    deliveryStore,
    admissionStore: createRedisAdmissionStore(client),
    deliveryQueue: willClose(new BullmqDeliveryQueue(connection)),
    inOrder: asOne(client),
    clock: () => 0,
    emit: signals.listen,
  };
  const subscriptions = createSubscriptions(endpointStore);
  const deliveries = willClose(new Queue(DELIVERIES_QUEUE, { connection: client }));
  const events = willClose(new Queue(EVENTS_QUEUE, { connection: client }));
  const dispatchWith = (change: Partial<FanOutEventDeps>) =>
    createDispatchEvents({
      subscriptions,
      routeEvent: createRouteEvent(),
      fanOutEvent: createFanOutEvent({ ...deps, ...change }),
      eventQueue,
      requireRoom: async () => {},
      clock: () => 0,
      emit: signals.listen,
    });
  return {
    accountId,
    endpointIds,
    eventStore,
    deliveryStore,
    signals,
    dispatch: dispatchWith({}),
    dispatchWith,
    publish: (change: Partial<AcceptedEvent> = {}) => buildEvent({ accountId, ...change }),
    deliveryJobs: () => readWaitingIds(client, deliveries),
    eventJobs: () => readWaitingIds(client, events),
    eventData: async ({ id }: AcceptedEvent) => (await events.getJob(eventJobId(accountId, id)))?.data,
    jobIdsOf: ({ id: eventId }: AcceptedEvent) =>
      endpointIds.map((endpointId) => deliveryIdOf({ eventId, endpointId })),
  };
}

describe('an event with few receivers', () => {
  it('has its deliveries, their jobs and its lists when this resolves, without a worker', async () => {
    const { dispatch, publish, deliveryJobs, eventJobs, jobIdsOf, ...all } = await arrange(FEW);
    const { accountId, endpointIds, eventStore, deliveryStore } = all;
    const event = publish();
    await dispatch([event]);
    expect((await deliveryJobs()).toSorted()).toEqual(jobIdsOf(event).toSorted());
    expect(await eventJobs()).toEqual([]);
    expect(await eventStore.find(accountId, event.id)).toEqual(event);
    for (const endpointId of endpointIds) {
      expect(await deliveryStore.isListed({ endpointId, eventId: event.id })).toBe(true);
    }
    expect((await eventStore.listReceivers(accountId, event.id, 100)).members).toHaveLength(FEW);
    expect((await eventStore.list(accountId, 10)).marks).toMatchObject([{ eventId: event.id }]);
  });

  it('is stored also when nobody asked for it', async () => {
    const { dispatch, publish, accountId, eventStore, deliveryJobs, eventJobs } = await arrange(0);
    const event = publish();
    await dispatch([event]);
    expect(await eventStore.find(accountId, event.id)).toEqual(event);
    expect([...(await deliveryJobs()), ...(await eventJobs())]).toEqual([]);
  });

  it("goes only where it is aimed, be its account's endpoints ever so many", async () => {
    const { dispatch, publish, endpointIds, deliveryJobs, eventJobs } = await arrange(FEW + 1);
    const [aimedAt] = endpointIds;
    if (aimedAt === undefined) throw new Error('arranged otherwise');
    const event = publish({ endpointIds: [aimedAt] });
    await dispatch([event]);
    expect(await deliveryJobs()).toEqual([deliveryIdOf({ eventId: event.id, endpointId: aimedAt })]);
    expect(await eventJobs()).toEqual([]);
  });

  it('gets no second job when it is dispatched again', async () => {
    const { dispatch, publish, deliveryJobs, jobIdsOf } = await arrange(2);
    const event = publish();
    await dispatch([event]);
    await dispatch([event]);
    await dispatch([event, event]);
    expect((await deliveryJobs()).toSorted()).toEqual(jobIdsOf(event).toSorted());
  });
});

describe('an event with more than 32 receivers', () => {
  it('goes onto the queue of events, as it is, for a worker to fan it out', async () => {
    const { dispatch, publish, accountId, deliveryJobs, eventJobs, eventData, eventStore } = await arrange(
      FEW + 1,
    );
    const event = publish();
    await dispatch([event]);
    expect(await deliveryJobs()).toEqual([]);
    expect(await eventJobs()).toEqual([eventJobId(accountId, event.id)]);
    expect(await eventData(event)).toMatchObject({ account_id: accountId, id: event.id, body: event.body });
    expect(await eventStore.find(accountId, event.id)).toBeUndefined();
  });

  it('is there once when it is dispatched again', async () => {
    const { dispatch, publish, eventJobs } = await arrange(FEW + 1);
    const event = publish();
    await dispatch([event]);
    await dispatch([event]);
    expect(await eventJobs()).toHaveLength(1);
  });
});

describe('an event that filters are asked for', () => {
  const nobody = '{"no":"such"}';
  const longest = JSON.stringify({ no: 'x'.repeat(4_080) });

  it('makes no delivery where it does not pass, and is stored all the same', async () => {
    const { dispatch, publish, accountId, ...all } = await arrange(FEW + 1, { filter: nobody });
    const event = publish();
    await dispatch([event]);
    expect([...(await all.deliveryJobs()), ...(await all.eventJobs())]).toEqual([]);
    expect(await all.eventStore.find(accountId, event.id)).toEqual(event);
    expect((await all.eventStore.listReceivers(accountId, event.id, 100)).members).toEqual([]);
    for (const endpointId of all.endpointIds) {
      expect(await all.deliveryStore.isListed({ endpointId, eventId: event.id })).toBe(false);
    }
  });

  it('goes onto the queue of events if that takes long, be it for the filters or for the data', async () => {
    const many = await arrange(FEW, { filter: longest });
    const event = many.publish();
    await many.dispatch([event]);
    expect(await many.eventJobs()).toEqual([eventJobId(many.accountId, event.id)]);
    const one = await arrange(1, { filter: nobody });
    const long = one.publish({ body: JSON.stringify({ type: event.type, data: 'x'.repeat(20_000) }) });
    await one.dispatch([long]);
    expect(await one.eventJobs()).toEqual([eventJobId(one.accountId, long.id)]);
  });
});

describe('events of one request', () => {
  it('are fanned out together, in the order in which they came', async () => {
    const { dispatch, publish, deliveryJobs, jobIdsOf } = await arrange(2);
    const events = [publish(), publish(), publish()];
    await dispatch(events);
    expect(await deliveryJobs()).toEqual(
      (await deliveryJobs()).toSorted((a, b) => indexOf(events, a) - indexOf(events, b)),
    );
    expect((await deliveryJobs()).toSorted()).toEqual(events.flatMap(jobIdsOf).toSorted());
  });

  it('go onto the queue of events from the first on that has many receivers, so that the order stays', async () => {
    const { dispatch, publish, accountId, endpointIds, deliveryJobs, eventJobs } = await arrange(FEW + 1);
    const [one] = endpointIds;
    if (one === undefined) throw new Error('arranged otherwise');
    const few = () => publish({ endpointIds: [one] });
    const events = [few(), few(), publish(), few(), publish()] as const;
    await dispatch(events);
    expect(await deliveryJobs()).toEqual(
      events.slice(0, 2).map(({ id }) => deliveryIdOf({ eventId: id, endpointId: one })),
    );
    expect(await eventJobs()).toEqual(events.slice(2).map(({ id }) => eventJobId(accountId, id)));
  });

  it('go there as well from the one on that makes them more than 1,000 deliveries', async () => {
    const { dispatch, publish, accountId, deliveryJobs, eventJobs } = await arrange(25);
    const events = Array.from({ length: 42 }, () => publish());
    await dispatch(events);
    expect(await deliveryJobs()).toHaveLength(1_000);
    expect(await eventJobs()).toEqual(events.slice(40).map(({ id }) => eventJobId(accountId, id)));
  });
});

function indexOf(events: readonly AcceptedEvent[], jobId: string): number {
  return events.findIndex(({ id }) => jobId.startsWith(id));
}

describe('a dispatch that breaks off', () => {
  const broken = async () => {
    throw new Error('killed');
  };

  it('leaves the jobs when the lists could not be written, and is completed by the same again', async () => {
    const { dispatch, dispatchWith, publish, deliveryJobs, jobIdsOf, deliveryStore, endpointIds } =
      await arrange(3);
    const event = publish();
    await expect(dispatchWith({ deliveryStore: { enlist: broken } })([event])).rejects.toThrow('killed');
    expect((await deliveryJobs()).toSorted()).toEqual(jobIdsOf(event).toSorted());
    const isListed = () =>
      Promise.all(endpointIds.map((endpointId) => deliveryStore.isListed({ endpointId, eventId: event.id })));
    expect(await isListed()).toEqual([false, false, false]);

    await dispatch([event]);
    expect((await deliveryJobs()).toSorted()).toEqual(jobIdsOf(event).toSorted());
    expect(await isListed()).toEqual([true, true, true]);
  });

  it('announces no event that is not complete', async () => {
    const { dispatch, dispatchWith, publish, signals } = await arrange(1);
    const event = publish();
    await expect(dispatchWith({ deliveryQueue: { addAll: broken } })([event])).rejects.toThrow('killed');
    expect(signals.named('event.fanned_out')).toEqual([]);
    await dispatch([event]);
    expect(signals.named('event.fanned_out')).toMatchObject([{ eventId: event.id, deliveries: 1 }]);
  });
});
