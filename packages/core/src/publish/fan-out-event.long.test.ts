import { eventJobId, QUEUE_PREFIX } from '@hookferry/producer/contract';
import { Queue } from 'bullmq';
import { deliveryIdOf } from '../domain/delivery';
import { type Endpoint, type EndpointId, laneNameOf } from '../domain/endpoint';
import type { AcceptedEvent } from '../domain/event';
import { keys, queueKeysOf } from '../domain/keys';
import { DELIVERIES_QUEUE, EVENTS_QUEUE } from '../domain/queues';
import type { BesideLanes } from '../endpoints/admission/redis-beside-lanes';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { Subscriber } from '../endpoints/redis-subscriptions';
import { Subscriptions } from '../endpoints/subscriptions';
import type { DeliveryStore } from '../events/redis-delivery-store';
import { EndedList } from '../events/redis-ended-list';
import { MovedIds } from '../events/redis-moved-ids';
import { Turns } from '../platform/batches';
import { atomicAsOne, atomicOneByOne } from '../platform/redis-atomic';
import type { Step } from '../platform/redis-script';
import type { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import { buildAtomic } from '../testing/build-atomic';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { createClosables } from '../testing/closables';
import { fake } from '../testing/fake';
import { type OpenedPublishingParts, openPublishingParts } from '../testing/open-publishing-parts';
import { startRedisServer } from '../testing/redis-server';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId } from '../testing/unique-ids';
import { readWaitingIds, WAITING } from '../testing/waiting-jobs';
import { withMethods } from '../testing/with-methods';
import { dispatchEvents, fanOutEvents, routeEvent, routeEvents } from './fan-out-event';
import type { PublishingParts } from './publishing-parts';

/** Each has a job: it is discarded as it comes due. */
const IN_ORDER = {
  ordering: 'strict',
  whileDisabled: 'discard',
  status: 'disabled',
  disabledReason: 'client',
} as const;

async function isListed(
  deliveryStore: DeliveryStore,
  event: AcceptedEvent,
  endpointId: EndpointId,
): Promise<boolean> {
  const { deliveries } = await deliveryStore.list(endpointId, 10);
  return deliveries.some(({ eventId }) => eventId === event.id);
}

describe('fan out event', () => {
  const NOW = 1_700_000_000_500;

  let redis: TestRedis;
  let endpointStore: EndpointStore;
  let jobs: Queue;
  beforeAll(async () => {
    redis = await openTestRedis();
    endpointStore = new EndpointStore(redis.client, testSealer);
    jobs = new Queue(DELIVERIES_QUEUE, { connection: redis.client });
  });
  afterEach(() => jobs.drain());
  afterAll(async () => {
    await jobs.close();
    await redis.close();
  });

  function build(change: (parts: OpenedPublishingParts) => Partial<PublishingParts> = () => ({})) {
    const opened = openPublishingParts(redis.client);
    const parts = { ...opened, clock: () => NOW, ...change(opened) };
    const route = async (event: AcceptedEvent) =>
      await routeEvent(parts, event, await parts.subscriptions.current(event.accountId));
    return {
      ...opened,
      fanOutEvent: async (...events: AcceptedEvent[]) =>
        await fanOutEvents(parts, await Promise.all(events.map(route))),
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

    it('notes for the history an event that nobody asked for: it has ended', async () => {
      const [none, some] = [await arrange(['brief.created']), await arrange(['*'])];
      const endedList = new EndedList(redis.client);
      await build(() => ({ endedList })).fanOutEvent(none.event, some.event);
      const { accountId, id: eventId } = none.event;
      const { entries } = await endedList.claim(Number.POSITIVE_INFINITY, 10, NOW + 30_000)(redis.client);
      expect(entries).toEqual([{ accountId, eventId, endedAt: NOW }]);
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

    it('puts the deliveries of endpoints with strict order into their lanes, without jobs and another order', async () => {
      const { event } = await arrange(['*']);
      const strict = buildEndpoint({ accountId: event.accountId, ordering: 'strict' });
      await endpointStore.create(strict);
      const { fanOutEvent, deliveryStore } = build();
      const older = buildEvent({ accountId: event.accountId, acceptedAt: event.acceptedAt - 1 });
      await fanOutEvent(event);
      await fanOutEvent(older);
      await fanOutEvent(event);
      const lane = queueKeysOf(QUEUE_PREFIX).lane(laneNameOf(strict.id));
      expect(await redis.client.zrange(lane, '0', '-1')).toEqual([older.id, event.id]);
      expect(await redis.client.exists(keys.order(strict.id))).toBe(0);
      const waiting = await waitingIds();
      expect(waiting.filter((id) => id?.endsWith(strict.id))).toEqual([`lane/${strict.id}`]);
      expect((await deliveryStore.list(strict.id, 10)).deliveries).toHaveLength(2);
    });

    it('puts the deliveries of endpoints with another order into that, and no others', async () => {
      const { event, endpointIds } = await arrange(['*']);
      const strict = buildEndpoint({ accountId: event.accountId, ...IN_ORDER });
      await endpointStore.create(strict);
      const { fanOutEvent, besideLanes } = build();
      const older = buildEvent({ accountId: event.accountId, acceptedAt: event.acceptedAt - 1 });
      await fanOutEvent(event);
      await fanOutEvent(older);
      expect(await waitingIds()).toHaveLength(4);
      expect(await besideLanes.first(strict.id)).toEqual({
        eventId: older.id,
        acceptedAt: older.acceptedAt,
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
      const brokenStep = () => broken;
      // What comes after a break is not done.
      const buildBroken = (change: (parts: OpenedPublishingParts) => Partial<PublishingParts>) =>
        build((parts) => ({ atomic: atomicOneByOne(redis.client), ...change(parts) }));

      it('has stored the event, and no job, when the jobs could not be added', async () => {
        const { event } = await arrange(['*']);
        const { fanOutEvent, eventStore } = buildBroken(() => ({
          deliveryQueue: fake<DeliveryQueue>({ stepToAdd: () => broken }),
        }));
        await expect(fanOutEvent(event)).rejects.toThrow('killed');
        expect(await eventStore.find(event.accountId, event.id)).toEqual(event);
        expect(await waitingIds()).toEqual([]);
      });

      // A list must not show a delivery that nothing works on.
      it('has the jobs before any list shows their deliveries', async () => {
        const { event, endpointIds } = await arrange(['*']);
        const { fanOutEvent, deliveryStore } = buildBroken(() => ({
          deliveryStore: fake<DeliveryStore>({ enlistAll: brokenStep }),
        }));
        await expect(fanOutEvent(event)).rejects.toThrow('killed');
        expect(await waitingIds()).toEqual(idsFor(event, endpointIds));
        for (const id of endpointIds) expect((await deliveryStore.list(id, 10)).deliveries).toEqual([]);
      });

      it('lists no delivery that has no job, when only some of the jobs could be added', async () => {
        const { event, endpointIds } = await arrange(...Array.from({ length: 501 }, () => ['*']));
        let chunks = 0;
        const { fanOutEvent, deliveryStore } = buildBroken((parts) => ({
          deliveryQueue: fake<DeliveryQueue>({
            stepToAdd: (deliveries) => async () => {
              chunks += 1;
              if (chunks === 2) throw new Error('killed');
              await parts.deliveryQueue.addAll(deliveries);
            },
          }),
        }));
        await expect(fanOutEvent(event)).rejects.toThrow('killed');
        const withJobs = new Set(await waitingIds());
        expect(withJobs.size).toBe(50);
        for (const endpointId of endpointIds) {
          const hasJob = withJobs.has(deliveryIdOf({ endpointId, eventId: event.id }));
          expect(await isListed(deliveryStore, event, endpointId)).toBe(hasJob);
        }
      });

      // One that is there is complete.
      it.each<[string, Partial<PublishingParts>]>([
        ["the endpoints' lists", { deliveryStore: fake<DeliveryStore>({ enlistAll: brokenStep }) }],
        ['the order', { besideLanes: fake<BesideLanes>({ join: () => broken }) }],
      ])("is not in the account's list if it breaks off in a Cluster at %s", async (_where, change) => {
        const { event } = await arrange(['*']);
        await endpointStore.create(buildEndpoint({ accountId: event.accountId, ...IN_ORDER }));
        const { fanOutEvent, eventStore } = buildBroken(() => change);
        await expect(fanOutEvent(event)).rejects.toThrow('killed');
        expect((await eventStore.list(event.accountId, 10)).marks).toEqual([]);
      });

      it.each<[string, (parts: OpenedPublishingParts) => Partial<PublishingParts>]>([
        ['before the jobs', () => ({ deliveryQueue: fake<DeliveryQueue>({ stepToAdd: () => broken }) })],
        [
          'before the lists of the endpoints',
          () => ({ deliveryStore: fake<DeliveryStore>({ enlistAll: brokenStep }) }),
        ],
        ['before the order', () => ({ besideLanes: fake<BesideLanes>({ join: () => broken }) })],
        [
          "before the account's list",
          ({ eventStore }) => ({ eventStore: withMethods(eventStore, { enlistAll: brokenStep }) }),
        ],
        [
          'before it is stored',
          ({ eventStore }) => ({ eventStore: withMethods(eventStore, { save: brokenStep }) }),
        ],
      ])('%s is completed by the same again, with one job each', async (_where, change) => {
        const { event, endpointIds } = await arrange(['*']);
        const strict = buildEndpoint({ accountId: event.accountId, ...IN_ORDER });
        await endpointStore.create(strict);
        await expect(buildBroken(change).fanOutEvent(event)).rejects.toThrow('killed');

        const { fanOutEvent, deliveryStore, eventStore, besideLanes } = build();
        await fanOutEvent(event);
        const all = [...endpointIds, strict.id];
        expect(await waitingIds()).toEqual(idsFor(event, all));
        for (const id of all) expect((await deliveryStore.list(id, 10)).deliveries).toHaveLength(1);
        expect((await besideLanes.first(strict.id))?.eventId).toBe(event.id);
        const { members } = await eventStore.listReceivers(event.accountId, event.id, 10);
        expect(members.toSorted()).toEqual(all.toSorted());
        const { marks } = await eventStore.list(event.accountId, 10);
        expect(marks.map(({ eventId }) => eventId)).toEqual([event.id]);
      });
    });
  });
});

async function dispatchAll(parts: PublishingParts, events: readonly AcceptedEvent[]): Promise<void> {
  await dispatchEvents(parts, await routeEvents(parts, events));
}

describe('dispatch events', () => {
  const FEW = 32;

  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  /** An account with so many endpoints that ask for everything, and the queues in an empty database. */
  async function arrange(endpointCount: number, each: Partial<Endpoint> = {}) {
    const { client } = willClose(await openTestRedis());
    const accountId = uniqueAccountId();
    const endpoints = Array.from({ length: endpointCount }, () => buildEndpoint({ accountId, ...each }));
    const parts = openPublishingParts(client);
    await Promise.all(endpoints.map((endpoint) => parts.endpointStore.create(endpoint)));
    const endpointIds = endpoints.map(({ id }) => id);
    const deliveries = willClose(new Queue(DELIVERIES_QUEUE, { connection: client }));
    const events = willClose(new Queue(EVENTS_QUEUE, { connection: client }));
    const dispatchWith = (change: Partial<PublishingParts>) => (all: readonly AcceptedEvent[]) =>
      dispatchAll({ ...parts, ...change }, all);
    return {
      ...parts,
      redis: client,
      accountId,
      endpointIds,
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

  describe('events that are dispatched in the same turn', () => {
    /** Counts the scripts that go to Redis as one. */
    async function arrangeCounted(endpointCount: number) {
      const arranged = await arrange(endpointCount);
      const taken = jest.fn((steps: readonly Step[]) => arranged.atomic(steps));
      return { ...arranged, taken, dispatch: arranged.dispatchWith({ atomic: buildAtomic(taken) }) };
    }

    it('are stored together, each with its own deliveries', async () => {
      const { dispatch, publish, taken, deliveryJobs, jobIdsOf, ...all } = await arrangeCounted(2);
      const events = [publish(), publish(), publish()];
      await Promise.all(events.map((event) => dispatch([event])));
      expect(taken).toHaveBeenCalledTimes(1);
      expect((await deliveryJobs()).toSorted()).toEqual(events.flatMap(jobIdsOf).toSorted());
      const { marks } = await all.eventStore.list(all.accountId, 10);
      expect(marks.map(({ eventId }) => eventId).toSorted()).toEqual(events.map(({ id }) => id).toSorted());
    });

    it('are stored apart when they are many', async () => {
      const { dispatch, publish, taken, deliveryJobs } = await arrangeCounted(20);
      await Promise.all([publish(), publish(), publish()].map((event) => dispatch([event])));
      expect(taken).toHaveBeenCalledTimes(2);
      expect(await deliveryJobs()).toHaveLength(60);
    });

    it.each([
      ['one server', atomicAsOne],
      ['a Cluster', atomicOneByOne],
    ])('do not fail because another one does, on %s', async (_where, inOrderOf) => {
      const arranged = await arrange(1);
      const { publish, redis, deliveryJobs, jobIdsOf } = arranged;
      const dispatch = arranged.dispatchWith({ atomic: inOrderOf(redis) });
      const [good, bad, alsoGood] = [publish(), publish(), publish()];
      await redis.set(keys.receivers(bad.accountId, bad.id), 'not a list of receivers');
      const results = await Promise.allSettled([good, bad, alsoGood].map((event) => dispatch([event])));
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect((await deliveryJobs()).toSorted()).toEqual([good, alsoGood].flatMap(jobIdsOf).toSorted());
    });
  });

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
        expect(await isListed(deliveryStore, event, endpointId)).toBe(true);
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
        expect(await isListed(all.deliveryStore, event, endpointId)).toBe(false);
      }
    });

    it('goes onto the queue of events if that takes long, for the filters or for the data', async () => {
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
    const brokenStep = () => broken;

    it('leaves the jobs when the lists could not be written, and is completed by the same again', async () => {
      const { dispatch, dispatchWith, publish, deliveryJobs, jobIdsOf, deliveryStore, endpointIds } =
        await arrange(3);
      const event = publish();
      await expect(
        dispatchWith({ deliveryStore: fake<DeliveryStore>({ enlistAll: brokenStep }) })([event]),
      ).rejects.toThrow('killed');
      expect((await deliveryJobs()).toSorted()).toEqual(jobIdsOf(event).toSorted());
      const areListed = () =>
        Promise.all(endpointIds.map((endpointId) => isListed(deliveryStore, event, endpointId)));
      expect(await areListed()).toEqual([false, false, false]);

      await dispatch([event]);
      expect((await deliveryJobs()).toSorted()).toEqual(jobIdsOf(event).toSorted());
      expect(await areListed()).toEqual([true, true, true]);
    });

    it.each([
      ['no history', false],
      ['a history', true],
    ])('says that Redis takes no writes, with %s', async (_name, hasHistory) => {
      const server = willClose(await startRedisServer());
      const { client } = willClose(await openTestRedis(server.url));
      const movedIds = hasHistory ? new MovedIds(client, 60_000) : undefined;
      const parts = { ...openPublishingParts(client), movedIds, atomic: atomicAsOne(client) };
      await server.fillUp();
      const dispatched = dispatchAll(parts, [buildEvent()]);
      await expect(dispatched).rejects.toThrow('OOM');
      await server.makeRoom();
    });

    it('announces no event that is not complete', async () => {
      const { dispatch, dispatchWith, publish, signals } = await arrange(1);
      const event = publish();
      await expect(
        dispatchWith({ deliveryQueue: fake<DeliveryQueue>({ stepToAdd: () => broken }) })([event]),
      ).rejects.toThrow('killed');
      expect(signals.named('event.fanned_out')).toEqual([]);
      await dispatch([event]);
      expect(signals.named('event.fanned_out')).toMatchObject([{ eventId: event.id, deliveries: 1 }]);
    });
  });
});

describe('route event', () => {
  const TYPE = 'keyword.quick_win';
  const eventWith = (data: string) => buildEvent({ type: TYPE, body: `{"type":"${TYPE}","data":${data}}` });

  function subscriber(filter?: unknown, change: Partial<Subscriber> = {}): Subscriber {
    const text = filter === undefined ? {} : { filter: JSON.stringify(filter) };
    return { ...buildEndpoint(), ...text, ...change };
  }

  async function route(event: ReturnType<typeof eventWith>, subscribers: readonly Subscriber[]) {
    const subscriptions = new Subscriptions(
      fake<EndpointStore>({ version: async () => '1', listSubscribers: async () => subscribers }),
    );
    const { receivers } = await routeEvent(
      fake<PublishingParts>({ routingTurns: new Turns() }),
      event,
      await subscriptions.current(event.accountId),
    );
    return receivers;
  }

  it('gives an event to endpoints whose filter lets it pass, and to endpoints without a filter', async () => {
    const [near, far, all] = [
      subscriber({ position: { lte: 10 } }),
      subscriber({ position: 50 }),
      subscriber(),
    ];
    const others = subscriber(undefined, { events: ['brief.created'] });
    const given = [near, far, all, others];
    expect(await route(eventWith('{"position":4}'), given)).toEqual([near, all]);
    expect(await route(eventWith('{"position":50}'), given)).toEqual([far, all]);
    expect(await route(eventWith('null'), given)).toEqual([all]);
  });

  it('gives an event that is aimed at endpoints to them, whatever their filters', async () => {
    const [one, other] = [subscriber({ position: 1 }), subscriber({ position: 2 })];
    const event = { ...eventWith('{"position":4}'), endpointIds: [other.id] };
    expect(await route(event, [one, other])).toEqual([other]);
  });

  it('parses the data only if somebody who asked for the type has a filter', async () => {
    const unreadable = buildEvent({ type: TYPE, body: 'no JSON' });
    const filtered = subscriber({ position: 1 }, { events: ['brief.created'] });
    expect(await route(unreadable, [subscriber(), filtered])).toHaveLength(1);
    await expect(route(unreadable, [subscriber({ position: 1 })])).rejects.toThrow(SyntaxError);
  });

  it('lets others have their turn while very many filters are asked, and forgets none', async () => {
    const slow = { $any: Array.from({ length: 10 }, (_, index) => ({ text: { contains: `aaab${index}` } })) };
    const subscribers = Array.from({ length: 500 }, (_, index) =>
      subscriber(
        index % 5 === 0 ? { text: { exists: true } } : { ...slow, [`n${index}`]: { exists: false } },
      ),
    );
    let turns = 0;
    let hasEnded = false;
    const turn = () => {
      turns += 1;
      if (!hasEnded) setImmediate(turn);
    };
    setImmediate(turn);
    const receivers = await route(eventWith(JSON.stringify({ text: 'a'.repeat(100_000) })), subscribers);
    hasEnded = true;
    expect(receivers).toEqual(subscribers.filter((_, index) => index % 5 === 0));
    expect(turns).toBeGreaterThan(3);
  });
});
