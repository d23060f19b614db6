import type { Endpoint } from '../domain/endpoint';
import { keys } from '../domain/keys';
import { oneShard } from '../domain/queues';
import type { RecordForm } from '../domain/record-form';
import type { ReplayOrder } from '../domain/replay';
import { BesideLanes } from '../endpoints/admission/redis-beside-lanes';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EventStore } from '../events/redis-event-store';
import { Recent } from '../history/redis-recent';
import { WholeHistory } from '../history/whole-history';
import { atomicAsOne } from '../platform/redis-atomic';
import type { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import type { ReplayQueue } from '../queue/bullmq-work-queues';
import { buildAcceptedAttempt } from '../testing/build-attempt';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { buildReplayOrder } from '../testing/build-replay';
import { fake } from '../testing/fake';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { testSealer } from '../testing/test-sealer';
import { Redelivery, type RedeliveryParts } from './redelivery';
import { ReplayStore } from './redis-replay-store';
import { Replays, type ReplaysParts, type StepResult } from './replays';

const DAY = 86_400_000;
const RUNNING = { code: 'replays_running' };

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

describe('create', () => {
  /** An account with two endpoints. */
  async function arrange(recordForm?: RecordForm) {
    let now = 1_700_000_000_000;
    let isAway = false;
    const endpointStore = new EndpointStore(redis.client, testSealer);
    const replayStore = new ReplayStore(redis.client, DAY);
    const one = buildEndpoint();
    const other = buildEndpoint({ accountId: one.accountId });
    await endpointStore.create(one);
    await endpointStore.create(other);
    const replayQueue = fake<ReplayQueue>({
      async add() {
        if (isAway) throw new Error('no Redis');
      },
    });
    const parts = { endpointStore, replayStore, replayQueue, clock: () => now, emit: () => {}, recordForm };
    const replays = new Replays(fake<ReplaysParts>(parts));
    return {
      replays,
      replayStore,
      create: (change: Partial<ReplayOrder> = {}, { id } = one) =>
        replays.create(one.accountId, id, buildReplayOrder(change)),
      list: async () => (await replays.list(one.accountId, one.id, 10)).replays,
      other,
      pass: (ms: number) => void (now += ms),
      setAway: (to: boolean) => void (isAway = to),
    };
  }

  it('lets an account have two replays at a time, to whichever webhooks, dry runs included', async () => {
    const { create, other } = await arrange();
    await create();
    await create({ isDryRun: true }, other);
    await expect(create()).rejects.toMatchObject(RUNNING);
    await expect(create({ isDryRun: true }, other)).rejects.toMatchObject(RUNNING);
  });

  it('takes the next one once one has ended, however that was', async () => {
    const { create, replays, replayStore } = await arrange();
    const first = await create();
    const second = await create();
    await replayStore.save(first.id, { status: 'done', found: 0, enqueued: 0, erased: 0 });
    await create();
    await expect(create()).rejects.toMatchObject(RUNNING);
    await replays.cancel(second.accountId, second.id);
    await create();
    await expect(create()).rejects.toMatchObject(RUNNING);
  });

  it('counts one that is asked for again once', async () => {
    const { create } = await arrange();
    const { id } = await create();
    await create({ id });
    await create();
    await create({ id });
    await expect(create()).rejects.toMatchObject(RUNNING);
  });

  it('refuses a mode that processes of the version before cannot read, while they run', async () => {
    const { create, list } = await arrange('former');
    await expect(create({ mode: 'pending' })).rejects.toMatchObject({ code: 'conflict' });
    expect(await list()).toEqual([]);
    await expect(create({ mode: 'failed' })).resolves.toMatchObject({ status: 'counting' });
  });

  it('lets go of one soon that never came about', async () => {
    const { create, pass, setAway } = await arrange();
    setAway(true);
    await expect(create()).rejects.toThrow('no Redis');
    await expect(create()).rejects.toThrow('no Redis');
    setAway(false);
    await expect(create()).rejects.toMatchObject(RUNNING);
    pass(10_001);
    await create();
  });
});

describe('step', () => {
  /** An account with an endpoint and events that it has missed, and a replay of them. */
  async function arrange(order: Partial<ReplayOrder> = {}, eventCount = 0, change: Partial<Endpoint> = {}) {
    const clock = () => 0;
    const signals = recordSignals();
    const emit = signals.listen;
    const eventStore = new EventStore(redis.client, testRetention);
    const deliveryStore = new DeliveryStore(redis.client, testRetention);
    const endpointStore = new EndpointStore(redis.client, testSealer);
    const replayStore = new ReplayStore(redis.client, 60_000);

    const endpoint = buildEndpoint(change);
    const { accountId, id: endpointId } = endpoint;
    await endpointStore.create(endpoint);
    const events = Array.from({ length: eventCount }, (_, i) =>
      buildEvent({ accountId, acceptedAt: 1_000 + i, body: JSON.stringify({ data: { number: i } }) }),
    );
    await Promise.all(
      events.flatMap((event) => [
        eventStore.save(event)(redis.client),
        eventStore.enlistAll([{ event, deliveries: 0 }])(redis.client),
      ]),
    );
    const replay = buildReplayOrder({ accountId, endpointId, mode: 'missing', ...order });
    await replayStore.create(replay);

    const sent: string[] = [];
    const ending = new Set<string>();
    const jobs = new Map<string, { readonly requestId: string }>();
    const batches: number[] = [];
    // One that has a job is ignored, as the queue does it.
    const deliveryQueue = fake<DeliveryQueue>({
      requestOf: async ({ eventId }) =>
        ending.has(eventId) ? 'no_request' : (jobs.get(eventId) ?? 'no_job'),
      putBackFailed: async () => {},
      addRequested: async (deliveries) => {
        batches.push(deliveries.length);
        for (const { eventId, request } of deliveries) {
          if (ending.has(eventId) || jobs.has(eventId)) continue;
          jobs.set(eventId, { requestId: request.requestId });
          sent.push(eventId);
        }
      },
    });
    const replayQueue = fake<ReplayQueue>({ add: async () => {} });
    const heldDeliveries = new HeldDeliveries(redis.client, oneShard('bull'));
    const history = new WholeHistory(
      new Recent({ endpointStore, eventStore, deliveryStore, heldDeliveries }),
    );
    const besideLanes = new BesideLanes(redis.client);
    const stores = { replayStore, endpointStore, eventStore, deliveryStore, besideLanes, history };
    const atomic = atomicAsOne(redis.client);
    const redelivery = new Redelivery(
      fake<RedeliveryParts>({ ...stores, atomic, deliveryQueue, clock, emit }),
    );
    const replays = new Replays({ ...stores, redelivery, atomic, replayQueue, clock, emit });
    const step = () => replays.step(replay);
    return {
      endpoint,
      endpointStore,
      eventIds: events.map(({ id }) => id),
      async eraseEvent(index: number) {
        await eventStore.erasePayload(accountId, events[index]?.id ?? buildEvent().id, 0);
      },
      replay,
      replayStore,
      replays,
      replayQueue,
      deliveryQueue,
      signals,
      sent,
      /** Record the end of an event's delivery; its job is not gone before it is deleted here. */
      async beginToEnd(index: number) {
        const eventId = events[index]?.id ?? buildEvent().id;
        const fact = {
          kind: 'attempted',
          attempt: buildAcceptedAttempt(),
          nextAttemptAt: undefined,
        } as const;
        await deliveryStore.append({ endpointId, eventId }, fact);
        ending.add(eventId);
      },
      ending,
      batches,
      step,
      read: () => replayStore.find(replay.id),
      async finish(): Promise<StepResult[]> {
        const results: StepResult[] = [];
        while (results.at(-1)?.kind !== 'done') results.push(await step());
        return results;
      },
    };
  }

  it('counts first, then sends everything that it has found, oldest first', async () => {
    const { step, finish, read, sent, batches, eventIds, signals } = await arrange({}, 120);
    expect(await read()).toMatchObject({ status: 'counting', found: 0, enqueued: 0 });
    await step();
    expect(await read()).toMatchObject({ status: 'running', found: 120, enqueued: 0 });
    expect(sent).toEqual([]);
    await finish();
    expect(await read()).toMatchObject({ status: 'done', found: 120, enqueued: 120, finishedAt: 0 });
    expect(sent).toEqual(eventIds);
    expect(batches).toEqual([100, 20]);
    expect(signals.named('replay.ended')).toMatchObject([{ status: 'done', found: 120, enqueued: 120 }]);
  });

  it.each(['missing', 'all'] as const)(
    'brings nothing by %s that the filter refuses as it is now',
    async (mode) => {
      const filter = '{"number":{"in":[3,90,119]}}';
      const { finish, read, sent, eventIds, eraseEvent } = await arrange({ mode, rate: 2 }, 120, { filter });
      await eraseEvent(90);
      await finish();
      expect(sent).toEqual([eventIds[3], eventIds[119]]);
      expect(await read()).toMatchObject({ status: 'done', found: 2, enqueued: 2, erased: 1 });
    },
  );

  it('sends what it has requested already in a step that broke off, whatever the filter is by now', async () => {
    const { finish, step, endpoint, endpointStore, sent, eventIds } = await arrange({ rate: 2 }, 3);
    await step();
    await step();
    expect(sent).toEqual([eventIds[0]]);
    await endpointStore.update(endpoint.accountId, endpoint.id, (each) => ({
      ...each,
      filter: '{"number":2}',
    }));
    await finish();
    expect(sent).toEqual([eventIds[0], eventIds[2]]);
  });

  it('sends no more a second than its rate says', async () => {
    const { step, read } = await arrange({ rate: 10 }, 20);
    await step();
    expect(await step()).toEqual({ kind: 'again', delayMs: 500 });
    expect(await read()).toMatchObject({ enqueued: 5 });
  });

  it('sends nothing twice when a step is done again that broke off before it was saved', async () => {
    const { step, finish, read, sent, eventIds, replay, replayStore } = await arrange({ rate: 10 }, 20);
    await step();
    const { status, found, enqueued } = (await read()) ?? replayMissing();
    await step();
    await replayStore.save(replay.id, { status, found, enqueued, erased: 0 });
    await finish();
    expect(new Set(sent)).toEqual(new Set(eventIds));
    expect(await read()).toMatchObject({ status: 'done', enqueued: 20 });
  });

  it('gives what gets a job beside a lane its place, before any of it has one', async () => {
    const { step, deliveryQueue, endpoint, eventIds } = await arrange({ rate: 4 }, 3, {
      ordering: 'strict',
      status: 'disabled',
      whileDisabled: 'discard',
    });
    const placesAtFirstJob: (readonly string[])[] = [];
    const { addRequested } = deliveryQueue;
    deliveryQueue.addRequested = async (deliveries) => {
      placesAtFirstJob.push(await redis.client.zrange(keys.order(endpoint.id), '0', '-1'));
      await addRequested(deliveries);
    };
    await step();
    await step();
    expect(placesAtFirstJob).toEqual([eventIds.slice(0, 2)]);
  });

  it('lists what it has sent, once, also after a step that was done again', async () => {
    const { step, finish, read, eventIds, replay, replayStore } = await arrange({ rate: 10 }, 20);
    await step();
    const { status, found, enqueued } = (await read()) ?? replayMissing();
    await step();
    expect(await replayStore.listSent(replay.id, 100)).toHaveLength(5);
    await replayStore.save(replay.id, { status, found, enqueued, erased: 0 });
    await finish();
    const listed = await replayStore.listSent(replay.id, 100);
    expect(listed.map(({ id }) => id)).toEqual(eventIds.toReversed());
  });

  it('leaves out events without a payload, erased before or after they were counted', async () => {
    const { step, finish, read, sent, eventIds, eraseEvent } = await arrange({}, 3);
    await eraseEvent(0);
    await step();
    expect(await read()).toMatchObject({ found: 2, erased: 1 });
    await eraseEvent(1);
    await finish();
    expect(sent).toEqual([eventIds[2]]);
    expect(await read()).toMatchObject({ status: 'done', found: 2, enqueued: 1 });
  });

  it('only counts when it is a dry run', async () => {
    const { finish, read, sent } = await arrange({ isDryRun: true }, 3);
    await finish();
    expect(await read()).toMatchObject({ status: 'done', found: 3, enqueued: 0 });
    expect(sent).toEqual([]);
  });

  it('stops when it is cancelled, also when a step is under way that does not know', async () => {
    const { step, read, replay, replays, replayStore, sent, signals } = await arrange({ rate: 10 }, 20);
    await step();
    await step();
    await replays.cancel(replay.accountId, replay.id);
    expect(await step()).toEqual({ kind: 'done' });
    expect(sent).toHaveLength(5);
    expect(await replayStore.save(replay.id, { status: 'running', found: 20, enqueued: 10, erased: 0 })).toBe(
      false,
    );
    expect(await read()).toMatchObject({ status: 'cancelled', enqueued: 5, finishedAt: 0 });
    await replays.cancel(replay.accountId, replay.id);
    expect(signals.named('replay.ended')).toMatchObject([{ status: 'cancelled' }]);
  });

  it('leaves out what is before and after its range', async () => {
    const { finish, sent, eventIds } = await arrange({ since: 1_001, until: 1_003 }, 5);
    await finish();
    expect(sent).toEqual(eventIds.slice(1, 4));
  });

  it('fails when the webhook is deleted meanwhile', async () => {
    const { step, read, endpoint, endpointStore } = await arrange({}, 1);
    await endpointStore.remove(endpoint.accountId, endpoint.id);
    expect(await step()).toEqual({ kind: 'done' });
    expect(await read()).toMatchObject({ status: 'failed', error: 'The webhook was deleted.' });
  });

  it('records nothing of an unrecorded replay when its webhook is gone', async () => {
    const { endpoint, replays } = await arrange();
    const order = buildReplayOrder({ accountId: endpoint.accountId });
    expect(await replays.step(order)).toEqual({ kind: 'done' });
    expect(await redis.client.keys(`*${order.id}*`)).toEqual([]);
    expect(await redis.client.keys(`replays:*${order.endpointId}*`)).toEqual([]);
  });

  describe('creating one', () => {
    const away = () => Promise.reject(new Error('no Redis'));

    it('makes one that is carried out, also when who asked for it dies once it is queued', async () => {
      const { endpoint, replays, replayQueue, replayStore, sent, eventIds } = await arrange({}, 3);
      const queued: ReplayOrder[] = [];
      jest.spyOn(replayQueue, 'add').mockImplementation(async (order) => void queued.push(order));
      jest.spyOn(replayStore, 'create').mockImplementationOnce(away);
      const input = buildReplayOrder({ mode: 'missing' });
      await expect(replays.create(endpoint.accountId, endpoint.id, input)).rejects.toThrow('no Redis');
      for (const order of queued) while ((await replays.step(order)).kind !== 'done');
      expect(await replayStore.find(input.id)).toMatchObject({ status: 'done', found: 3, enqueued: 3 });
      expect(sent).toEqual(eventIds);
      const { replays: listed } = await replayStore.list(endpoint.id, 10);
      expect(listed.map(({ id }) => id)).toContain(input.id);
    });

    it('records nothing that is on no queue', async () => {
      const { endpoint, replays, replayQueue, replayStore } = await arrange();
      jest.spyOn(replayQueue, 'add').mockImplementation(away);
      const input = buildReplayOrder();
      await expect(replays.create(endpoint.accountId, endpoint.id, input)).rejects.toThrow('no Redis');
      expect(await replayStore.find(input.id)).toBeUndefined();
    });
  });

  function replayMissing(): never {
    throw new Error('There is no replay.');
  }

  it('waits for a delivery that is just coming to its end, rather than leave it out', async () => {
    const { step, finish, read, sent, eventIds, beginToEnd, ending } = await arrange({ mode: 'all' }, 3);
    await beginToEnd(1);
    await step();
    expect(await step()).toEqual({ kind: 'again', delayMs: 1_000 });
    expect(await read()).toMatchObject({ status: 'running', enqueued: 1 });
    expect(sent).not.toContain(eventIds[1]);

    ending.clear();
    await finish();
    expect(await read()).toMatchObject({ status: 'done', found: 3, enqueued: 3 });
    expect(sent).toContain(eventIds[1]);
  });
});
