import type { AccountId } from '../domain/account';
import { deliveryIdOf } from '../domain/delivery';
import type { EndpointId, EndpointRef } from '../domain/endpoint';
import type { AcceptedEvent } from '../domain/event';
import { oneShard } from '../domain/queues';
import { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import { BesideLanes } from '../endpoints/admission/redis-beside-lanes';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EventStore } from '../events/redis-event-store';
import type { MovedStore } from '../events/redis-moved';
import { systemClock } from '../platform/clock';
import { DeliveryHolds } from '../queue/bullmq-delivery-holds';
import { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { buildAcceptedAttempt, buildAttempt } from '../testing/build-attempt';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { buildMovedDelivery, buildMovedEvent } from '../testing/build-moved-event';
import { buildNewDeliveries } from '../testing/build-new-deliveries';
import { buildVerification } from '../testing/build-verification';
import { fake } from '../testing/fake';
import { createSeededRandom } from '../testing/seeded-random';
import { openTestHistory, type TestHistory } from '../testing/test-history';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { Deliveries, type HoldExplanation, type ListScope } from './deliveries';
import type { DeliveryFilter } from './delivery-standings';
import type { ListMark } from './history-source';
import { Recent } from './redis-recent';
import { WholeHistory } from './whole-history';

const NOW = 1_700_000_000_000;
const BUSY: HoldExplanation = { reason: 'busy', until: undefined };

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

function openStores() {
  const stores = {
    endpointStore: new EndpointStore(redis.client, testSealer),
    eventStore: new EventStore(redis.client, testRetention),
    deliveryStore: new DeliveryStore(redis.client, testRetention),
    heldDeliveries: new HeldDeliveries(redis.client, oneShard('bull')),
    deliveryHolds: new DeliveryHolds(redis.client, oneShard('bull')),
    admissionStore: new AdmissionStore(redis.client),
    besideLanes: new BesideLanes(redis.client),
    ...buildVerification(redis.client),
    clock: systemClock,
  };
  const history = new WholeHistory(new Recent(stores));
  return { ...stores, deliveries: new Deliveries({ ...stores, history }) };
}

type Ending = 'delivered' | 'exhausted' | 'pending' | 'held';

/** An account with endpoints, and ways to put deliveries on its record. */
async function arrange({ endpoints: count = 3 } = {}) {
  const accountId = uniqueAccountId();
  const stores = openStores();
  const endpointIds: EndpointId[] = [];
  for (let i = 0; i < count; i += 1) {
    const endpoint = buildEndpoint({ accountId });
    await stores.endpointStore.create(endpoint);
    endpointIds.push(endpoint.id);
  }
  const list = (scope: ListScope, filter: DeliveryFilter, limit: number, before?: ListMark) =>
    stores.deliveries.list(accountId, scope, filter, limit, before);

  /** In the order in which lists have them: of one event those to the endpoints registered last first. */
  async function publish(
    receivers: readonly EndpointId[],
    { ending = 'delivered', ...change }: Partial<AcceptedEvent> & { readonly ending?: Ending } = {},
  ): Promise<readonly string[]> {
    const event = buildEvent({ accountId, acceptedAt: NOW, ...change });
    await stores.eventStore.save(event, receivers)(redis.client);
    await stores.eventStore.enlistAll([{ event, deliveries: receivers.length }])(redis.client);
    await stores.deliveryStore.enlistAll(buildNewDeliveries(event.id, receivers, event.acceptedAt))(
      redis.client,
    );
    for (const endpointId of receivers) await end(event, endpointId, ending);
    return receivers
      .toSorted()
      .toReversed()
      .map((endpointId) => deliveryIdOf({ eventId: event.id, endpointId }));
  }

  async function end(event: AcceptedEvent, endpointId: EndpointId, ending: Ending): Promise<void> {
    const parts = { eventId: event.id, endpointId };
    if (ending === 'held') {
      const held = { eventId: event.id, acceptedAt: event.acceptedAt };
      await stores.heldDeliveries.enter({ accountId, endpointId }, held, NOW, 'busy');
    }
    if (ending === 'held' || ending === 'pending') return;
    const attempt = ending === 'delivered' ? buildAcceptedAttempt() : buildAttempt({ responseStatus: 503 });
    const fact = { kind: 'attempted', attempt, nextAttemptAt: undefined, eventType: event.type } as const;
    await stores.deliveryStore.append(parts, fact);
  }

  /** The ids of all pages, and what happens after each of them. */
  async function readAll(
    limit: number,
    filter: DeliveryFilter = {},
    scope: ListScope = {},
    afterEach: () => Promise<unknown> = async () => {},
  ): Promise<readonly string[]> {
    const ids: string[] = [];
    let before: ListMark | undefined;
    do {
      const page = await list(scope, filter, limit, before);
      expect(page.deliveries.length).toBeLessThanOrEqual(limit);
      ids.push(...page.deliveries.map(({ id }) => id));
      before = page.nextCursor;
      await afterEach();
    } while (before !== undefined);
    return ids;
  }

  return { ...stores, accountId, endpointIds, list, publish, readAll };
}

describe('a page of those with a status', () => {
  let test: TestHistory;
  beforeAll(async () => {
    test = await openTestHistory();
  });
  afterAll(() => test.close());

  it('is filled from what lies behind a thousand newer ones, in Redis and in PostgreSQL', async () => {
    const { accountId, endpointIds, publish, endpointStore, ...stores } = await arrange({ endpoints: 1 });
    const [endpointId] = endpointIds;
    await publish(endpointIds, { ending: 'exhausted', acceptedAt: NOW });
    for (let i = 1; i <= 1_000; i += 1) await publish(endpointIds, { acceptedAt: NOW + i });
    const moved = buildMovedEvent({
      accountId,
      createdAt: NOW - 1,
      deliveries: [
        buildMovedDelivery(endpointId, [
          { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: undefined },
        ]),
      ],
    });
    await test.write([moved]);
    const movedStore = fake<MovedStore>({ movedUntil: async () => NOW - 1 });
    const recent = new Recent({ ...stores, endpointStore }, movedStore);
    const source = { source: test.history, movedStore };
    // However slow the machine is.
    const history = new WholeHistory(recent, source, { now: () => 0 });
    const deliveries = new Deliveries({ ...stores, endpointStore, history });
    for (const scope of [{}, { endpoint: endpointId }]) {
      const page = await deliveries.list(accountId, scope, { status: 'exhausted' }, 2);
      expect(page.deliveries.map(({ createdAt }) => createdAt)).toEqual([NOW, NOW - 1]);
    }
  });
});

describe('the deliveries of an account', () => {
  it('are each on one page, those of the newest event first, however long a page is', async () => {
    const { endpointIds, publish, readAll } = await arrange({ endpoints: 40 });
    const random = createSeededRandom(7);
    const published: (readonly string[])[] = [];
    // Several within a millisecond, some without receivers, some with more than are read at once.
    for (let i = 0; i < 60; i += 1) {
      const receivers = endpointIds.filter(() => random() < (i % 5) / 5);
      published.push(await publish(receivers, { acceptedAt: NOW + Math.floor(i / 3), id: uniqueEventId() }));
    }
    const expected = published.toReversed().flat();
    for (const limit of [1, 7, 50, 200]) expect(await readAll(limit)).toEqual(expected);
  });

  it('come once each, also when others come in while somebody pages', async () => {
    const { endpointIds, publish, readAll } = await arrange();
    const published: (readonly string[])[] = [];
    for (let i = 0; i < 10; i += 1) published.push(await publish(endpointIds, { acceptedAt: NOW + i }));
    const read = await readAll(4, {}, {}, () => publish(endpointIds, { acceptedAt: NOW + 1_000 }));
    expect(read).toEqual(published.toReversed().flat());
  });

  it('are those of the account alone', async () => {
    const [one, other] = [await arrange(), await arrange()];
    await other.publish(other.endpointIds);
    expect(await one.readAll(10)).toEqual([]);
  });

  it('are shown also to an endpoint that was deleted since', async () => {
    const { accountId, endpointStore, endpointIds, publish, readAll } = await arrange({ endpoints: 1 });
    const published = await publish(endpointIds);
    for (const id of endpointIds) await endpointStore.remove(accountId, id);
    expect(await readAll(10)).toEqual(published);
  });

  it('say how the last attempt was answered', async () => {
    const { endpointIds, publish, list } = await arrange({ endpoints: 1 });
    await publish(endpointIds, { ending: 'exhausted', acceptedAt: NOW + 1 });
    await publish(endpointIds, { ending: 'pending' });
    const { deliveries } = await list({}, {}, 10);
    expect(deliveries.map(({ lastResponseStatus }) => lastResponseStatus)).toEqual([503, undefined]);
  });

  it.each<[string, DeliveryFilter]>([
    ['status', { status: 'exhausted' }],
    ['class of status', { statusClass: '5xx' }],
    ['status of the answer', { responseStatus: 503 }],
    ['outcome', { outcome: 'http_5xx' }],
    ['event type', { eventType: 'brief.created' }],
    ['time', { since: NOW + 7, until: NOW + 8 }],
  ])('are limited by %s', async (_what, filter) => {
    const { endpointIds, publish, readAll } = await arrange();
    await publish(endpointIds, { acceptedAt: NOW });
    const wanted = { ending: 'exhausted', type: 'brief.created', acceptedAt: NOW + 7 } as const;
    const expected = await publish(endpointIds, wanted);
    await publish(endpointIds, { acceptedAt: NOW + 9, ending: 'pending' });
    expect(await readAll(2, filter)).toEqual(expected);
  });

  it('are found also where hardly any is what was asked for', async () => {
    const { endpointIds, publish, readAll } = await arrange();
    const expected = await publish(endpointIds, { ending: 'exhausted', acceptedAt: NOW });
    for (let i = 1; i <= 100; i += 1) await publish(endpointIds, { acceptedAt: NOW + i });
    expect(await readAll(50, { status: 'exhausted' })).toEqual(expected);
  });
});

describe('the deliveries of an endpoint or an event, or of both', () => {
  it('are those of an endpoint', async () => {
    const { endpointIds, publish, readAll } = await arrange();
    const published = [await publish(endpointIds), await publish(endpointIds, { acceptedAt: NOW + 1 })];
    const [endpoint = uniqueEndpointId()] = endpointIds;
    const expected = published.toReversed().flatMap((ids) => ids.filter((id) => id.endsWith(endpoint)));
    expect(await readAll(1, {}, { endpoint })).toEqual(expected);
  });

  it('are those of an event, unless that is of another type or time', async () => {
    const { endpointIds, publish, readAll } = await arrange();
    const eventId = uniqueEventId();
    const published = await publish(endpointIds, { id: eventId });
    expect(await readAll(1, {}, { eventId })).toEqual(published);
    expect(await readAll(1, { since: NOW + 1 }, { eventId })).toEqual([]);
    expect(await readAll(1, { eventType: 'brief.created' }, { eventId })).toEqual([]);
  });

  it('is the one of both, if there is one and it is what was asked for', async () => {
    const { endpointIds, publish, readAll } = await arrange();
    const [endpoint = uniqueEndpointId(), ...others] = endpointIds;
    const [eventId, another] = [uniqueEventId(), uniqueEventId()];
    await publish(endpointIds, { id: eventId });
    await publish(others, { id: another });
    const expected = [deliveryIdOf({ eventId, endpointId: endpoint })];
    expect(await readAll(10, {}, { endpoint, eventId })).toEqual(expected);
    expect(await readAll(10, { status: 'exhausted' }, { endpoint, eventId })).toEqual([]);
    expect(await readAll(10, {}, { endpoint, eventId: another })).toEqual([]);
  });

  it.each<[string, ListScope]>([
    ['an endpoint', { endpoint: uniqueEndpointId() }],
    ['an event', { eventId: uniqueEventId() }],
  ])('are refused of %s that is not there', async (_what, scope) => {
    const { readAll } = await arrange();
    await expect(readAll(10, {}, scope)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('held deliveries', () => {
  it('are found among many others at once, in the order of all', async () => {
    const { endpointIds, publish, list, readAll } = await arrange({ endpoints: 5 });
    const random = createSeededRandom(3);
    const published: (readonly string[])[] = [];
    for (let i = 0; i < 300; i += 1) {
      const isHeld = i % 15 === 0;
      const receivers = isHeld ? endpointIds.filter(() => random() < 0.7) : endpointIds.slice(0, 1);
      const ending = isHeld ? 'held' : 'delivered';
      const ids = await publish(receivers, {
        acceptedAt: NOW + Math.floor(i / 30),
        id: uniqueEventId(),
        ending,
      });
      if (isHeld) published.push(ids);
    }
    const expected = published.toReversed().flat();
    expect((await list({}, { status: 'held' }, 10)).deliveries).toHaveLength(10);
    for (const limit of [1, 7, 200]) expect(await readAll(limit, { status: 'held' })).toEqual(expected);
  });

  it('are found also where more endpoints hold some than are looked at one by one', async () => {
    const { endpointIds, publish, readAll } = await arrange({ endpoints: 101 });
    const expected = await publish(endpointIds, { ending: 'held' });
    expect(await readAll(50, { status: 'held' })).toEqual(expected);
  });

  it('are held no more once they have ended, whatever the index says still', async () => {
    const { endpointIds, publish, readAll, deliveryStore } = await arrange({ endpoints: 1 });
    const eventId = uniqueEventId();
    await publish(endpointIds, { id: eventId, ending: 'held' });
    for (const endpointId of endpointIds) {
      await deliveryStore.append({ eventId, endpointId }, { kind: 'cancelled', reason: 'gone' });
    }
    expect(await readAll(10, { status: 'held' })).toEqual([]);
  });

  it('say why, which is asked for once for each endpoint and page', async () => {
    const { admissionStore, endpointIds, publish, list } = await arrange({ endpoints: 2 });
    const stand = jest.spyOn(admissionStore, 'stand');
    for (let i = 0; i < 5; i += 1) await publish(endpointIds, { acceptedAt: NOW + i, ending: 'held' });
    await publish(endpointIds, { acceptedAt: NOW + 9 });
    const { deliveries } = await list({}, {}, 50);
    const holds = deliveries.map(({ hold }) => hold);
    expect(holds).toEqual([undefined, undefined, ...Array.from({ length: 10 }, () => BUSY)]);
    expect(stand.mock.calls.map(([id]) => id).toSorted()).toEqual(endpointIds.toSorted());
  });

  it('are shown without a reason where their endpoint is gone', async () => {
    const { accountId, endpointIds, endpointStore, publish, list } = await arrange({ endpoints: 1 });
    await publish(endpointIds, { ending: 'held' });
    for (const id of endpointIds) await endpointStore.remove(accountId, id);
    const { deliveries } = await list({}, {}, 50);
    expect(deliveries).toMatchObject([{ status: 'held', hold: undefined }]);
  });
});

/** An endpoint with a delivery that has arrived. */
async function arrangeArrived() {
  const stores = openStores();
  const endpoint = buildEndpoint();
  const event = buildEvent({ accountId: endpoint.accountId });
  const parts = { endpointId: endpoint.id, eventId: event.id };
  const attempt = buildAcceptedAttempt();
  await stores.endpointStore.create(endpoint);
  await stores.eventStore.save(event)(redis.client);
  await stores.deliveryStore.enlistAll(buildNewDeliveries(event.id, [endpoint.id], event.acceptedAt))(
    redis.client,
  );
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
  return {
    ...stores,
    endpoint,
    event,
    delivery,
    attempts: [attempt],
    listOfEndpoint: (accountId: AccountId, ref: EndpointRef, filter: DeliveryFilter, limit: number) =>
      stores.deliveries.list(accountId, { endpoint: ref }, filter, limit),
    read: (accountId: AccountId, id: string) => stores.deliveries.read(accountId, id),
  };
}

describe('the list of an endpoint', () => {
  it("gives the endpoint's deliveries, each with its type", async () => {
    const { listOfEndpoint, endpoint, delivery } = await arrangeArrived();
    expect(await listOfEndpoint(endpoint.accountId, endpoint.id, {}, 10)).toEqual({
      deliveries: [delivery],
      nextCursor: undefined,
    });
  });

  it('tells the type of one that was tried without a look at its event', async () => {
    const { listOfEndpoint, endpoint, deliveryStore, eventStore } = await arrangeArrived();
    const { accountId, id: endpointId } = endpoint;
    const parts = { endpointId, eventId: uniqueEventId() };
    await deliveryStore.enlistAll(buildNewDeliveries(parts.eventId, [endpointId], 1))(redis.client);
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
    const { listOfEndpoint, endpoint, delivery, deliveryStore } = await arrangeArrived();
    await deliveryStore.enlistAll(buildNewDeliveries(uniqueEventId(), [endpoint.id], delivery.createdAt + 1))(
      redis.client,
    );
    expect((await listOfEndpoint(endpoint.accountId, endpoint.id, {}, 10)).deliveries).toEqual([delivery]);
  });

  it("refuses an endpoint that is not there, and another account's alike", async () => {
    const { listOfEndpoint, endpoint } = await arrangeArrived();
    const refusal = { code: 'not_found', message: 'There is no webhook with this id.' };
    await expect(listOfEndpoint(uniqueAccountId(), endpoint.id, {}, 10)).rejects.toMatchObject(refusal);
    await expect(listOfEndpoint(endpoint.accountId, uniqueEndpointId(), {}, 10)).rejects.toMatchObject(
      refusal,
    );
  });
});

describe('a delivery that is read alone', () => {
  it('gives a delivery with its attempts', async () => {
    const { read, endpoint, delivery, attempts } = await arrangeArrived();
    expect(await read(endpoint.accountId, delivery.id)).toEqual({ ...delivery, attempts });
  });

  it('shows a pending delivery as held while it is', async () => {
    const { read, listOfEndpoint, endpoint, deliveryStore, eventStore, heldDeliveries } =
      await arrangeArrived();
    const { accountId, id: endpointId } = endpoint;
    const event = buildEvent({ accountId });
    const parts = { endpointId, eventId: event.id };
    await eventStore.save(event)(redis.client);
    await deliveryStore.enlistAll(buildNewDeliveries(event.id, [endpointId], event.acceptedAt + 1))(
      redis.client,
    );
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
    const { read, endpoint, event, delivery, heldDeliveries } = await arrangeArrived();
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
    const { read, endpoint, event, delivery, endpointStore, deliveryStore } = await arrangeArrived();
    const refusal = { code: 'not_found', message: 'There is no delivery with this id.' };
    const { accountId, id: endpointId } = endpoint;
    const expired = uniqueEventId();
    await deliveryStore.enlistAll(buildNewDeliveries(expired, [endpointId], 1))(redis.client);
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
