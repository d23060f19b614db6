import { deliveryIdOf } from '../domain/delivery';
import { oneShard } from '../domain/queues';
import { createRedisAdmissionStore } from '../endpoints/flow/redis-admission-store';
import { createRedisEndpointStore } from '../endpoints/redis-endpoint-store';
import { createRedisDeliveryStore } from '../events/redis-delivery-store';
import { createRedisEventStore } from '../events/redis-event-store';
import { systemClock } from '../platform/clock';
import { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { buildAcceptedAttempt, buildAttempt } from '../testing/build-attempt';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { createExplainHold } from './complete-deliveries';
import { COUNTS_SHOWN_FOR_MS, createReadDeliveries } from './read-deliveries';

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

/** An endpoint with a delivery that has arrived. */
async function arrange() {
  const stores = {
    endpointStore: createRedisEndpointStore(redis.client, testSealer),
    eventStore: createRedisEventStore(redis.client, testRetention),
    deliveryStore: createRedisDeliveryStore(redis.client, testRetention),
    heldDeliveries: new HeldDeliveries(redis.client, oneShard('bull')),
    explainHold: createExplainHold({
      admissionStore: createRedisAdmissionStore(redis.client),
      clock: systemClock,
    }),
  };
  const endpoint = buildEndpoint();
  const event = buildEvent({ accountId: endpoint.accountId });
  const parts = { endpointId: endpoint.id, eventId: event.id };
  const attempt = buildAcceptedAttempt();
  await stores.endpointStore.create(endpoint);
  await stores.eventStore.save(event);
  await stores.deliveryStore.enlist(event.id, [endpoint.id], event.acceptedAt);
  await stores.deliveryStore.append(parts, { kind: 'attempted', attempt, nextAttemptAt: undefined });
  const delivery = {
    id: deliveryIdOf(parts),
    ...parts,
    type: event.type,
    createdAt: event.acceptedAt,
    status: 'delivered',
    attemptCount: 1,
    lastOutcome: 'delivered',
    lastResponseStatus: attempt.responseStatus,
    hold: undefined,
    nextAttemptAt: undefined,
  };
  return { ...createReadDeliveries(stores), ...stores, endpoint, event, delivery, attempts: [attempt] };
}

describe('listOfEndpoint', () => {
  it("gives the endpoint's deliveries, each with its type", async () => {
    const { listOfEndpoint, endpoint, delivery } = await arrange();
    expect(await listOfEndpoint(endpoint.accountId, endpoint.id, {}, 10)).toEqual({
      deliveries: [delivery],
      nextCursor: undefined,
    });
  });

  it('tells the type of one that was tried without a look at its event', async () => {
    const { listOfEndpoint, endpoint, deliveryStore, eventStore } = await arrange();
    const { accountId, id: endpointId } = endpoint;
    const parts = { endpointId, eventId: uniqueEventId() };
    await deliveryStore.enlist(parts.eventId, [endpointId], 1);
    const attempt = buildAttempt();
    const failed = { kind: 'attempted', attempt, nextAttemptAt: 2 } as const;
    await deliveryStore.append(parts, { ...failed, eventType: 'brief.created' });
    await deliveryStore.append(parts, failed);
    const findHead = jest.spyOn(eventStore, 'findHead');
    const { deliveries } = await listOfEndpoint(accountId, endpointId, { eventType: 'brief.created' }, 10);
    expect(deliveries).toMatchObject([{ eventId: parts.eventId, type: 'brief.created', attemptCount: 2 }]);
    expect(findHead).not.toHaveBeenCalledWith(accountId, parts.eventId);
  });

  it('leaves out what was never tried and whose event is gone', async () => {
    const { listOfEndpoint, endpoint, delivery, deliveryStore } = await arrange();
    await deliveryStore.enlist(uniqueEventId(), [endpoint.id], delivery.createdAt + 1);
    expect((await listOfEndpoint(endpoint.accountId, endpoint.id, {}, 10)).deliveries).toEqual([delivery]);
  });

  it("refuses an endpoint that is not there, and another account's alike", async () => {
    const { listOfEndpoint, endpoint } = await arrange();
    const refusal = { code: 'not_found', message: 'There is no webhook with this id.' };
    await expect(listOfEndpoint(uniqueAccountId(), endpoint.id, {}, 10)).rejects.toMatchObject(refusal);
    await expect(listOfEndpoint(endpoint.accountId, uniqueEndpointId(), {}, 10)).rejects.toMatchObject(
      refusal,
    );
  });
});

describe('read', () => {
  it('gives a delivery with its attempts', async () => {
    const { read, endpoint, delivery, attempts } = await arrange();
    expect(await read(endpoint.accountId, delivery.id)).toEqual({ ...delivery, attempts });
  });

  it('shows a pending delivery as held while it is', async () => {
    const { read, listOfEndpoint, endpoint, deliveryStore, eventStore, heldDeliveries } = await arrange();
    const { accountId, id: endpointId } = endpoint;
    const event = buildEvent({ accountId });
    const parts = { endpointId, eventId: event.id };
    await eventStore.save(event);
    await deliveryStore.enlist(event.id, [endpointId], event.acceptedAt + 1);
    const failed = { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: 1 } as const;
    await deliveryStore.append(parts, failed);
    expect(await read(accountId, deliveryIdOf(parts))).toMatchObject({
      status: 'pending',
      nextAttemptAt: 1,
    });
    await heldDeliveries.enter(
      { accountId, endpointId },
      { eventId: event.id, acceptedAt: event.acceptedAt },
      0,
      'busy',
    );
    const held = { status: 'held', nextAttemptAt: undefined };
    expect(await read(accountId, deliveryIdOf(parts))).toMatchObject(held);
    const { deliveries } = await listOfEndpoint(accountId, endpointId, {}, 10);
    expect(deliveries).toMatchObject([held, { status: 'delivered' }]);
  });

  // Its job came back by itself, before anybody has looked.
  it('shows a delivery that has ended as it ended, also when it is among the held still', async () => {
    const { read, endpoint, event, delivery, heldDeliveries } = await arrange();
    const { accountId, id: endpointId } = endpoint;
    await heldDeliveries.enter(
      { accountId, endpointId },
      { eventId: event.id, acceptedAt: event.acceptedAt },
      0,
      'busy',
    );
    expect(await read(endpoint.accountId, delivery.id)).toMatchObject(delivery);
  });

  it("refuses what is not there, what is no id, and another account's alike", async () => {
    const { read, endpoint, event, delivery, endpointStore, deliveryStore } = await arrange();
    const refusal = { code: 'not_found', message: 'There is no delivery with this id.' };
    const { accountId, id: endpointId } = endpoint;
    const expired = uniqueEventId();
    await deliveryStore.enlist(expired, [endpointId], 1);
    for (const [account, id] of [
      [uniqueAccountId(), delivery.id],
      [accountId, deliveryIdOf({ eventId: uniqueEventId(), endpointId })],
      [accountId, deliveryIdOf({ eventId: event.id, endpointId: uniqueEndpointId() })],
      [accountId, deliveryIdOf({ eventId: expired, endpointId })],
      [accountId, 'no-delivery-id'],
    ] as const) {
      await expect(read(account, id)).rejects.toMatchObject(refusal);
    }
    await endpointStore.remove(accountId, endpointId);
    await expect(read(accountId, delivery.id)).rejects.toMatchObject(refusal);
  });
});

describe('countOfEvent', () => {
  /** An event that went to so many endpoints, to none of which anything was sent yet; `logsRead` counts reads of logs. */
  async function arrangeMany(receivers: number) {
    const { event, ...stores } = await arrange();
    let now = 0;
    let logsRead = 0;
    const endpointIds = Array.from({ length: receivers }, uniqueEndpointId);
    await stores.eventStore.addReceivers(event.accountId, event.id, endpointIds);
    const { countOfEvent } = createReadDeliveries({
      ...stores,
      deliveryStore: {
        ...stores.deliveryStore,
        async readSummary(endpointId, eventId) {
          logsRead += 1;
          return await stores.deliveryStore.readSummary(endpointId, eventId);
        },
      },
      now: () => now,
    });
    const [endpointId = uniqueEndpointId()] = endpointIds;
    return {
      count: () => countOfEvent(event.accountId, event.id),
      deliver: () =>
        stores.deliveryStore.append(
          { endpointId, eventId: event.id },
          { kind: 'attempted', attempt: buildAcceptedAttempt(), nextAttemptAt: undefined },
        ),
      logsRead: () => logsRead,
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
});
