import type { EndStatus } from '../domain/delivery-log';
import type { EndpointId } from '../domain/endpoint';
import { keys } from '../domain/keys';
import { oneShard } from '../domain/queues';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EventStore } from '../events/redis-event-store';
import { logVersionOf, MovedStore } from '../events/redis-moved';
import { atomicAsOne } from '../platform/redis-atomic';
import { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { buildAcceptedAttempt } from '../testing/build-attempt';
import { buildEvent } from '../testing/build-event';
import { buildNewDeliveries } from '../testing/build-new-deliveries';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { testSealer } from '../testing/test-sealer';
import { uniqueEndpointId } from '../testing/unique-ids';
import { Recent } from './redis-recent';

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

/** An event that was delivered to some endpoints; deliveries to others are still to be tried. */
async function arrange({ delivered = 1, untried = 0 } = {}) {
  const event = buildEvent();
  const { accountId, id: eventId, acceptedAt } = event;
  const stores = {
    endpointStore: new EndpointStore(redis.client, testSealer),
    eventStore: new EventStore(redis.client, testRetention),
    deliveryStore: new DeliveryStore(redis.client, testRetention),
    heldDeliveries: new HeldDeliveries(redis.client, oneShard('bull')),
  };
  const movedStore = new MovedStore(redis.client, testRetention);
  const endpointIds = Array.from({ length: delivered + untried }, uniqueEndpointId);
  await stores.eventStore.save(event, endpointIds)(redis.client);
  await stores.eventStore.enlistAll([{ event, deliveries: endpointIds.length }])(redis.client);
  await stores.deliveryStore.enlistAll(buildNewDeliveries(eventId, endpointIds, acceptedAt))(redis.client);
  const fact = { kind: 'attempted', attempt: buildAcceptedAttempt(), nextAttemptAt: undefined } as const;
  const ended = endpointIds.slice(0, delivered);
  for (const endpointId of ended) await stores.deliveryStore.append({ endpointId, eventId }, fact);

  /** As a mover lets it lapse, once the history has it. */
  async function move(endpointId: EndpointId, status: EndStatus = 'delivered') {
    const parts = { endpointId, eventId };
    const log = (await redis.client.get(keys.delivery(endpointId, eventId))) ?? '';
    const lapsing = { ...parts, logVersion: logVersionOf(log) };
    const ofEvent = { accountId, eventId, endpointId, status, isErased: false };
    const steps = [movedStore.lapse(lapsing), movedStore.lapseEvent(ofEvent)] as const;
    expect(await atomicAsOne(redis.client)(steps)).toMatchObject([{ isFirst: true }, {}]);
  }

  async function moveAll() {
    for (const endpointId of ended) await move(endpointId);
  }

  return {
    ...stores,
    movedStore,
    recent: new Recent(stores, movedStore),
    event,
    ended,
    move,
    moveAll,
  };
}

type Arranged = Awaited<ReturnType<typeof arrange>>;

/** Lets all move after the next call of a store's method, before its result is used. */
function moveAfter<Store extends object>(store: Store, method: keyof Store & string, { moveAll }: Arranged) {
  const target = store as Record<string, (...args: unknown[]) => Promise<unknown>>;
  const real = target[method]?.bind(store);
  jest.spyOn(target, method).mockImplementationOnce(async (...args) => {
    const result = await real?.(...args);
    await moveAll();
    return result;
  });
}

describe('a delivery that moves while it is read', () => {
  it.each(['account', 'event'] as const)('is in the list of an %s as it was', async (scope) => {
    const scene = await arrange({ delivered: 2, untried: 1 });
    const { accountId, id } = scene.event;
    moveAfter(scene.eventStore, 'open', scene);
    const query = scope === 'event' ? { accountId, eventId: id } : { accountId };
    const { entries } = await scene.recent.listDeliveries(query, { limit: 10 });
    const statuses = entries.flatMap(({ row }) => row?.status ?? []);
    expect(statuses.toSorted()).toEqual(['delivered', 'delivered', 'pending']);
  });

  it('is in the list of its endpoint as it was', async () => {
    const scene = await arrange();
    const [endpointId] = scene.ended;
    const { accountId } = scene.event;
    const readListed = scene.deliveryStore.readListed.bind(scene.deliveryStore);
    jest.spyOn(scene.deliveryStore, 'readListed').mockImplementationOnce(async (...args) => {
      await scene.moveAll();
      return await readListed(...args);
    });
    const { entries } = await scene.recent.listDeliveries({ accountId, endpointId }, { limit: 10 });
    expect(entries).toMatchObject([{ row: { status: 'delivered' } }]);
  });

  it('is in no list once it has moved', async () => {
    const scene = await arrange();
    const [endpointId = uniqueEndpointId()] = scene.ended;
    const { accountId, id: eventId } = scene.event;
    await scene.moveAll();
    expect(await scene.recent.findDelivery(accountId, { endpointId, eventId })).toBeUndefined();
    for (const query of [{ accountId }, { accountId, eventId }, { accountId, endpointId }]) {
      const { entries } = await scene.recent.listDeliveries(query, { limit: 10 });
      expect(entries.flatMap(({ row }) => row ?? [])).toEqual([]);
    }
  });
});

describe('an event of which deliveries have moved', () => {
  it('counts them with the others, by their status', async () => {
    const { recent, event, ended, move } = await arrange({ delivered: 3, untried: 1 });
    const { accountId, id } = event;
    const [first = uniqueEndpointId(), second = uniqueEndpointId()] = ended;
    await move(first);
    await move(second, 'exhausted');
    expect(await recent.countDeliveries(accountId, id)).toMatchObject({
      ...{ total: 4, delivered: 2, exhausted: 1, pending: 1 },
    });
    const { entries } = await recent.listEvents({ accountId }, { limit: 10 });
    expect(entries).toMatchObject([{ row: { id, deliveryCount: 4 } }]);
  });

  it('counts each once, although they move meanwhile', async () => {
    const scene = await arrange({ delivered: 3, untried: 1 });
    moveAfter(scene.eventStore, 'open', scene);
    expect(await scene.recent.countDeliveries(scene.event.accountId, scene.event.id)).toMatchObject({
      ...{ total: 4, delivered: 3, pending: 1 },
    });
  });

  it('is counted while it lapses', async () => {
    const { recent, event, moveAll } = await arrange({ delivered: 2 });
    await moveAll();
    expect(await recent.countDeliveries(event.accountId, event.id)).toMatchObject({ total: 2, delivered: 2 });
  });

  it('hides nothing once it has gone itself', async () => {
    const { recent, event, moveAll } = await arrange();
    await moveAll();
    await redis.client.del(keys.event(event.accountId, event.id));
    const { entries } = await recent.listEvents({ accountId: event.accountId }, { limit: 10 });
    expect(entries).toMatchObject([{ mark: { eventId: event.id }, row: undefined, isGone: true }]);
  });
});
