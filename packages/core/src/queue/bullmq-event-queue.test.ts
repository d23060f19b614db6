import { eventJobId } from '@hookferry/producer/contract';
import { Queue } from 'bullmq';
import { EVENTS_QUEUE, oneShard } from '../domain/queues';
import { type ConnectionRole, connectRedis, type RedisClient } from '../platform/redis-connect';
import { nameRedisError } from '../platform/redis-errors';
import { readEventJob } from '../publish/read-event-job';
import { buildEvent } from '../testing/build-event';
import { createClosables } from '../testing/closables';
import { fakePublishingParts } from '../testing/fake-publishing-parts';
import { findClosedPort, startTcpServer } from '../testing/local-server';
import { startRedisProxy } from '../testing/redis-proxy';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { EventQueue, versionOfJob } from './bullmq-event-queue';

describe('bullmq event queue', () => {
  let redis: TestRedis;
  let jobs: Queue;
  beforeAll(async () => {
    redis = await openTestRedis();
    jobs = new Queue(EVENTS_QUEUE, { connection: redis.client });
  });
  afterEach(() => jobs.drain());
  afterAll(async () => {
    await jobs.close();
    await redis.close();
  });

  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  function connect(url: string, role: ConnectionRole = 'answering'): RedisClient {
    const client = connectRedis({ url, role, name: 'test', emit: () => {} });
    willClose({ close: () => client.disconnect() });
    return client;
  }

  function openQueue(client: RedisClient): EventQueue {
    return new EventQueue(client, oneShard('bull'));
  }

  const dataInQueue = async () => (await jobs.getWaiting()).map(({ data }) => data);

  async function ready(client: RedisClient): Promise<RedisClient> {
    if (client.status !== 'ready') await new Promise((resolve) => client.once('ready', resolve));
    return client;
  }

  describe('add', () => {
    it('resolves once the event is on the queue, as a job that reads back as the same event', async () => {
      const event = buildEvent({ body: '{"data":"Zoë 🚀"}', requestId: 'req_1' });
      await openQueue(redis.client).add(event);
      const [job] = await jobs.getWaiting();
      expect(job).toMatchObject({ id: `${event.accountId}.${event.id}`, name: event.type });
      const { name, timestamp, data } = job ?? { name: '', timestamp: 0, data: null };
      const read = await readEventJob(fakePublishingParts(), { id: '', name, timestamp, data });
      expect(read).toEqual({ event, source: 'http' });
    });

    it('names the request in a form that processes of the version before leave alone, and not where they run', async () => {
      const event = buildEvent({ group: 'order-4711', requestId: 'req_1' });
      await openQueue(redis.client).add(event);
      expect(await dataInQueue()).toMatchObject([{ request_id: 'req_1', group: 'order-4711', v: 4 }]);
      await jobs.drain();
      await new EventQueue(redis.client, oneShard('bull'), 'former').add(event);
      expect(await dataInQueue()).toEqual([
        {
          account_id: event.accountId,
          id: event.id,
          body: event.body,
          accepted_at: event.acceptedAt,
          group: 'order-4711',
          v: 3,
        },
      ]);
    });

    it('makes one job of an event that is added twice, and keeps the first one', async () => {
      const event = buildEvent();
      const queue = openQueue(redis.client);
      await queue.add(event);
      await queue.add({ ...event, body: '{"other":true}' });
      await openQueue(redis.client).add(event);
      expect((await jobs.getWaiting()).map(({ data }) => data.body)).toEqual([event.body]);
    });

    it('keeps events of one id apart by their accounts', async () => {
      const event = buildEvent();
      const queue = openQueue(redis.client);
      await queue.add(event);
      await queue.add(buildEvent({ id: event.id }));
      expect(await jobs.getWaitingCount()).toBe(2);
    });
  });

  describe('addAll', () => {
    it('adds more events than one chunk has, each as add would', async () => {
      const events = Array.from({ length: 250 }, () => buildEvent());
      await openQueue(redis.client).addAll(events);
      const parts = fakePublishingParts();
      const waiting = await jobs.getWaiting();
      const read = await Promise.all(
        waiting.map(({ name, timestamp, data }) => readEventJob(parts, { id: '', name, timestamp, data })),
      );
      expect(new Set(read.map(({ event }) => event.id))).toEqual(new Set(events.map(({ id }) => id)));
      expect(read).toContainEqual({ event: events[0], source: 'http' });
    });

    it('adds what is missing when it broke off and is called again', async () => {
      const events = [buildEvent(), buildEvent(), buildEvent({ endpointIds: [uniqueEndpointId()] })];
      const queue = openQueue(redis.client);
      await queue.addAll(events.slice(0, 2));
      await queue.addAll(events);
      expect(await jobs.getWaitingCount()).toBe(3);
    });
  });

  describe('add without Redis', () => {
    const UNAVAILABLE = { name: 'AppError', code: 'storage_unavailable' };

    // A publisher is waiting: the default time-out of a test is far above what is bearable here.
    it.each([
      ['refuses connections', async () => `redis://127.0.0.1:${await findClosedPort()}`],
      [
        'takes connections and is silent',
        async () => {
          const silent = willClose(await startTcpServer(() => {}));
          return `redis://127.0.0.1:${silent.port}`;
        },
      ],
    ])(
      'fails at once when it %s',
      async (_what, findUrl) => {
        const queue = openQueue(connect(await findUrl()));
        const failure: unknown = await queue.add(buildEvent()).catch((error: unknown) => error);
        expect(nameRedisError(failure)).toMatchObject(UNAVAILABLE);
      },
      5_000,
    );

    it('fails soon when Redis falls silent, leaves nothing behind, and works again afterwards', async () => {
      const proxy = willClose(await startRedisProxy(redis.url));
      const client = await ready(connect(proxy.url));
      const queue = openQueue(client);
      const events = [buildEvent(), buildEvent(), buildEvent()];
      const listeners = client.listenerCount('error');

      proxy.freeze();
      const failures = await Promise.all(
        events.map((event) => queue.add(event).catch((error: unknown) => error)),
      );
      expect(failures.map(nameRedisError)).toMatchObject(events.map(() => UNAVAILABLE));
      expect(client.listenerCount('error')).toBe(listeners);

      proxy.thaw();
      for (const event of events) await queue.add(event);
      expect((await jobs.getWaiting()).map(({ data }) => data.id).toSorted()).toEqual(
        events.map(({ id }) => id).toSorted(),
      );
    }, 5_000);
  });
});

describe('bullmq queued events', () => {
  let redis: TestRedis;
  const { willClose, closeAll } = createClosables();
  beforeAll(async () => {
    redis = await openTestRedis();
  });
  afterEach(closeAll);
  afterAll(() => redis.close());

  /** An event that a producer has pushed. */
  async function arrange() {
    const [accountId, id] = [uniqueAccountId(), uniqueEventId()];
    const queue = willClose(new Queue(EVENTS_QUEUE, { connection: redis.client }));
    const jobId = eventJobId(accountId, id);
    const data = { account_id: accountId, type: 'brief.created', data: {}, id };
    await queue.add('brief.created', data, { jobId, timestamp: 1_000 });
    const queuedEvents = new EventQueue(redis.client, oneShard('bull'));
    return { accountId, id, queuedEvents, jobKey: queue.toKey(jobId) };
  }

  it('finds an event that no worker has taken yet', async () => {
    const { queuedEvents, accountId, id } = await arrange();
    expect(await queuedEvents.find(accountId, id)).toEqual({
      type: 'brief.created',
      acceptedAt: 1_000,
      isAimed: false,
    });
  });

  it("finds none in what is not JSON, in another account's and in none at all", async () => {
    const { queuedEvents, accountId, id, jobKey } = await arrange();
    await redis.client.hset(jobKey, 'data', '{"broken');
    expect(await queuedEvents.find(accountId, id)).toBeUndefined();
    expect(await queuedEvents.find(uniqueAccountId(), id)).toBeUndefined();
    expect(await queuedEvents.find(accountId, uniqueEventId())).toBeUndefined();
  });
});

describe('job version', () => {
  it.each([
    [{ account_id: 'acme' }, 1],
    [{ v: 1 }, 1],
    [{ v: 2, account_id: 'acme' }, 2],
    [{ v: 'two' }, 1],
    [{ v: 0 }, 1],
    [{ v: 1.5 }, 1],
    [[2], 1],
    ['v', 1],
    [null, 1],
    [undefined, 1],
  ])('of %j is %i', (data, version) => {
    expect(versionOfJob(data)).toBe(version);
  });
});
