import { Queue } from 'bullmq';
import { createRedisAdmissionStore } from '../admission/redis-admission-store';
import { createRedisEndpointStore, type EndpointStore } from '../endpoints/redis-endpoint-store';
import { createSubscriptions } from '../endpoints/subscriptions';
import { asOne, oneByOne } from '../kernel/redis-in-order';
import { deliveryIdOf } from '../model/delivery';
import type { AcceptedEvent } from '../model/event';
import { keys } from '../model/keys';
import { DELIVERIES_QUEUE } from '../model/queue-names';
import { BullmqDeliveryQueue } from '../queue/bullmq-delivery-queue';
import { createRedisDeliveryStore } from '../record/redis-delivery-store';
import { createRedisEventStore } from '../record/redis-event-store';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId } from '../testing/unique-ids';
import { WAITING } from '../testing/waiting-jobs';
import { createFanOutEvent, type FanOutEventDeps } from './fan-out-event';
import { createRouteEvent } from './route-event';

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

function build(change: (deps: FanOutEventDeps) => Partial<FanOutEventDeps> = () => ({})) {
  const eventStore = createRedisEventStore(redis.client, testRetention);
  const deliveryStore = createRedisDeliveryStore(redis.client, testRetention);
  const signals = recordSignals();
  const admissionStore = createRedisAdmissionStore(redis.client);
  const deps: FanOutEventDeps = {
    eventStore,
    deliveryStore,
    admissionStore,
    deliveryQueue,
    inOrder: asOne(redis.client),
    clock: () => NOW,
    emit: signals.listen,
  };
  const subscriptions = createSubscriptions(endpointStore);
  const routeEvent = createRouteEvent();
  const fanOut = createFanOutEvent({ ...deps, ...change(deps) });
  return {
    fanOutEvent: async (...events: AcceptedEvent[]) =>
      await fanOut(
        await Promise.all(
          events.map(async (event) => routeEvent(event, await subscriptions.current(event.accountId))),
        ),
      ),
    eventStore,
    deliveryStore,
    admissionStore,
    signals,
  };
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
  return (await jobs.getJobs([...WAITING])).map(({ id }) => id).toSorted();
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
    const [job] = await jobs.getJobs([...WAITING]);
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

  it('puts the deliveries of those who want them in order into their order, and of nobody else', async () => {
    const { event, endpointIds } = await arrange(['*']);
    const strict = buildEndpoint({ accountId: event.accountId, ordering: 'strict' });
    await endpointStore.create(strict);
    const { fanOutEvent, admissionStore } = build();
    const older = buildEvent({ accountId: event.accountId, acceptedAt: event.acceptedAt - 1 });
    await fanOutEvent(event);
    await fanOutEvent(older);
    expect(await waitingIds()).toHaveLength(4);
    expect((await admissionStore.stand(strict.id, undefined)).next).toEqual({
      eventId: older.id,
      acceptedAt: older.acceptedAt,
      hasBegun: false,
    });
    expect(await redis.client.zrange(keys.order(strict.id), '0', '-1')).toEqual([older.id, event.id]);
    for (const id of endpointIds) expect(await redis.client.exists(keys.order(id))).toBe(0);
  });

  it('fans several events out together, each to its own receivers', async () => {
    const one = await arrange(['*'], ['*']);
    const other = await arrange(['*'], ['brief.created']);
    const { fanOutEvent, deliveryStore, eventStore, signals } = build();
    await fanOutEvent(one.event, other.event);
    const expected = [
      ...idsFor(one.event, one.endpointIds),
      ...idsFor(other.event, other.endpointIds.slice(0, 1)),
    ];
    expect(await waitingIds()).toEqual(expected.toSorted());
    for (const { event, endpointIds } of [one, other]) {
      const [first] = endpointIds;
      if (first === undefined) throw new Error('arranged otherwise');
      expect((await deliveryStore.list(first, 10)).deliveries).toMatchObject([{ eventId: event.id }]);
      expect((await eventStore.listReceivers(event.accountId, event.id, 10)).members).toContain(first);
    }
    expect(signals.named('event.fanned_out').map(({ deliveries }) => deliveries)).toEqual([2, 1]);
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
    const { event, endpointIds } = await arrange(['*']);
    const { fanOutEvent, signals } = build();
    await fanOutEvent(event);
    expect(signals.named('event.fanned_out')).toEqual([
      {
        name: 'event.fanned_out',
        accountId: event.accountId,
        eventId: event.id,
        type: event.type,
        deliveries: 1,
        receivers: [expect.objectContaining({ id: endpointIds[0] })],
        acceptedAt: event.acceptedAt,
        durationMs: 0,
      },
    ]);
  });

  describe('that breaks off', () => {
    const broken = async () => {
      throw new Error('killed');
    };
    // What comes after a break is not done.
    const buildBroken = (change: (deps: FanOutEventDeps) => Partial<FanOutEventDeps>) =>
      build((deps) => ({ inOrder: oneByOne(redis.client), ...change(deps) }));

    it('has stored the event, and no job, when the jobs could not be added', async () => {
      const { event } = await arrange(['*']);
      const { fanOutEvent, eventStore } = buildBroken(() => ({ deliveryQueue: { addAll: broken } }));
      await expect(fanOutEvent(event)).rejects.toThrow('killed');
      expect(await eventStore.find(event.accountId, event.id)).toEqual(event);
      expect(await waitingIds()).toEqual([]);
    });

    // A list must not tell of a delivery that nothing works on.
    it('has the jobs before any list tells of their deliveries', async () => {
      const { event, endpointIds } = await arrange(['*']);
      const { fanOutEvent, deliveryStore } = buildBroken(() => ({ deliveryStore: { enlist: broken } }));
      await expect(fanOutEvent(event)).rejects.toThrow('killed');
      expect(await waitingIds()).toEqual(idsFor(event, endpointIds));
      for (const id of endpointIds) expect((await deliveryStore.list(id, 10)).deliveries).toEqual([]);
    });

    it('lists no delivery that has no job, when only some of the jobs could be added', async () => {
      const { event, endpointIds } = await arrange(...Array.from({ length: 501 }, () => ['*']));
      let chunks = 0;
      const { fanOutEvent, deliveryStore } = buildBroken((deps) => ({
        deliveryQueue: {
          async addAll(deliveries) {
            chunks += 1;
            if (chunks === 2) throw new Error('killed');
            await deps.deliveryQueue.addAll(deliveries);
          },
        },
      }));
      await expect(fanOutEvent(event)).rejects.toThrow('killed');
      const withJobs = new Set(await waitingIds());
      expect(withJobs.size).toBe(50);
      for (const endpointId of endpointIds) {
        const isListed = await deliveryStore.isListed({ endpointId, eventId: event.id });
        expect(isListed).toBe(withJobs.has(deliveryIdOf({ endpointId, eventId: event.id })));
      }
    });

    it.each<[string, (deps: FanOutEventDeps) => Partial<FanOutEventDeps>]>([
      ['before the jobs', () => ({ deliveryQueue: { addAll: broken } })],
      ['before the lists of the endpoints', () => ({ deliveryStore: { enlist: broken } })],
      ['before the order', () => ({ admissionStore: { joinOrder: broken } })],
      ["before the account's list", ({ eventStore }) => ({ eventStore: { ...eventStore, enlist: broken } })],
      ['before it is stored', ({ eventStore }) => ({ eventStore: { ...eventStore, save: broken } })],
    ])('%s is completed by the same again, with one job each', async (_where, change) => {
      const { event, endpointIds } = await arrange(['*']);
      const strict = buildEndpoint({ accountId: event.accountId, ordering: 'strict' });
      await endpointStore.create(strict);
      await expect(buildBroken(change).fanOutEvent(event)).rejects.toThrow('killed');

      const { fanOutEvent, deliveryStore, eventStore, admissionStore } = build();
      await fanOutEvent(event);
      const all = [...endpointIds, strict.id];
      expect(await waitingIds()).toEqual(idsFor(event, all));
      for (const id of all) expect((await deliveryStore.list(id, 10)).deliveries).toHaveLength(1);
      expect((await admissionStore.stand(strict.id, undefined)).next?.eventId).toBe(event.id);
      const { members } = await eventStore.listReceivers(event.accountId, event.id, 10);
      expect(members.toSorted()).toEqual(all.toSorted());
      const { marks } = await eventStore.list(event.accountId, 10);
      expect(marks.map(({ eventId }) => eventId)).toEqual([event.id]);
    });
  });
});
