import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type EventData,
  type KnownEventType,
  publishableTypes,
} from '@hookferry/core/accounts/event-types/built-in';
import { readEventJob } from '@hookferry/core/publish/read-event-job';
import { createClosables } from '@hookferry/core/testing/closables';
import { fakePublishingParts } from '@hookferry/core/testing/fake-publishing-parts';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { startRedisProxy } from '@hookferry/core/testing/redis-proxy';
import { type RedisServer, startRedisServer } from '@hookferry/core/testing/redis-server';
import { standStill } from '@hookferry/core/testing/stand-still';
import { openTestRedis, type TestRedis } from '@hookferry/core/testing/test-redis';
import { uniqueAccountId, uniqueEndpointId } from '@hookferry/core/testing/unique-ids';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import type { BuiltInEvents } from './built-in-events';
import { EVENTS_QUEUE, eventJobId } from './contract';
import { createEventPublisher, type PublisherOptions } from './event-publisher';

const event = {
  type: 'keyword.quick_win',
  data: { keyword: 'red shoes', position: 11, volume: 2400 },
} as const;
// Long enough for a Redis that is well, on a machine that is busy.
const PATIENT = { patienceMs: 20_000 };
const IMPATIENT = { patienceMs: 300 };

let redis: TestRedis;
let jobs: Queue;
beforeAll(async () => {
  redis = await openTestRedis();
  jobs = new Queue(EVENTS_QUEUE, { connection: redis.client });
});
const { willClose, closeAll } = createClosables();
afterEach(closeAll);
afterEach(() => jobs.drain());
afterAll(async () => {
  await jobs.close();
  await redis.close();
});

const open = (options: PublisherOptions) => willClose(createEventPublisher(options));
const ofTest = () => open({ redisUrl: redis.url, ...PATIENT });
const codeOf = (code: string) => expect.objectContaining({ name: 'PublishError', code });

describe('publish', () => {
  it('pushes the job that the contract describes', async () => {
    expect(await ofTest().publish({ ...event, id: 'order-17' })).toEqual({ id: 'order-17' });
    const data = { account_id: 'default', ...event, id: 'order-17' };
    expect(await jobs.getWaiting()).toMatchObject([{ name: event.type, data }]);
  });

  it.each([
    ['a date', new Date('2030-01-31T12:00:00Z')],
    ['a time with a zone', '2030-01-31T13:00:00+01:00'],
  ])('pushes %s to send it at, in a form that older workers leave alone', async (_name, deliverAt) => {
    await ofTest().publish({ ...event, id: 'order-18', deliverAt });
    const data = { deliver_at: '2030-01-31T12:00:00.000Z', v: 2 };
    expect(await jobs.getWaiting()).toMatchObject([{ data }]);
  });

  it.each(['tomorrow', '2030-01-31', new Date(Number.NaN)])('refuses %s as a time', async (deliverAt) => {
    await expect(ofTest().publish({ ...event, deliverAt })).rejects.toEqual(codeOf('invalid_event'));
  });

  it('also sends the caller’s place in a trace, read anew for each event', async () => {
    const traceparents = ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', undefined];
    const publisher = open({ redisUrl: redis.url, ...PATIENT, traceparent: () => traceparents.shift() });
    await publisher.publish({ ...event, id: 'traced' });
    await publisher.publish({ ...event, id: 'untraced' });
    const [traced, untraced] = await Promise.all(
      ['traced', 'untraced'].map((id) => jobs.getJob(eventJobId('default', id))),
    );
    expect(traced?.data).toMatchObject({ trace: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' });
    expect(untraced?.data).not.toHaveProperty('trace');
  });

  it('publishes all the same when the place in a trace can not be told', async () => {
    const traceparent = () => {
      throw new Error('no luck');
    };
    const publisher = open({ redisUrl: redis.url, ...PATIENT, traceparent });
    expect(await publisher.publish({ ...event, id: 'order-18' })).toEqual({ id: 'order-18' });
    expect(await publisher.publishBatch([{ ...event, id: 'order-19' }])).toEqual([
      { status: 'published', id: 'order-19' },
    ]);
  });

  it('aims an event of an account at certain webhooks', async () => {
    const webhookIds = [uniqueEndpointId()];
    const { id } = await ofTest().publish({ ...event, accountId: 'acme', webhookIds });
    expect((await jobs.getWaiting())[0]?.data).toEqual({
      account_id: 'acme',
      ...event,
      id,
      webhook_ids: webhookIds,
    });
  });

  it('pushes what the worker reads as a valid event, under the id that it gave back', async () => {
    const accountId = uniqueAccountId();
    const published = await ofTest().publish({ ...event, accountId });
    const [job] = await jobs.getWaiting();
    const { id = '', name, timestamp, data } = job ?? { name: '', timestamp: 0, data: null };
    expect(await readEventJob(fakePublishingParts(), { id, name, timestamp, data })).toMatchObject({
      source: 'queue',
      event: { accountId, id: published.id, type: event.type, body: JSON.stringify(event) },
    });
  });

  it('makes one event of what is published twice under the same id in an account, and two without an id', async () => {
    const publisher = ofTest();
    const accountId = uniqueAccountId();
    for (const account of [accountId, accountId, uniqueAccountId()]) {
      await publisher.publish({ ...event, accountId: account, id: '17' });
    }
    await publisher.publish(event);
    await publisher.publish(event);
    expect(await jobs.getWaitingCount()).toBe(4);
  });

  it.each<[string, object]>([
    ['no type', { data: {} }],
    ['data that JSON has not', { ...event, data: undefined }],
    ['data that can not be written', { ...event, data: { total: 1n } }],
    ['an id with a colon', { ...event, id: 'a:b' }],
    ['an empty account', { ...event, accountId: '' }],
    ['no webhook at all', { ...event, webhookIds: [] }],
  ])('refuses %s before anything is sent', async (_what, invalid) => {
    await expect(ofTest().publish(invalid as typeof event)).rejects.toEqual(codeOf('invalid_event'));
    expect(await jobs.getWaitingCount()).toBe(0);
  });

  it.each([
    ['account_id', '; you may mean "accountId".'],
    ['webhook_ids', '; you may mean "webhookIds".'],
    ['deliver_at', '; you may mean "deliverAt".'],
    ['account', '; you may mean "accountId".'],
    ['priority', '; it may have type,'],
    ['acountId', '; you may mean "accountId".'],
    ['webhookId', '; you may mean "webhookIds".'],
  ])('refuses the unknown member "%s", alone and among others', async (name, hint) => {
    const wrong = { ...event, [name]: 'acme' } as typeof event;
    const error = await ofTest()
      .publish(wrong)
      .catch((failure: unknown) => failure);
    expect(error).toEqual(codeOf('invalid_event'));
    expect(String(error)).toContain(`it has no member "${name}"${hint}`);
    expect(await ofTest().publishBatch([event, wrong])).toMatchObject([
      { status: 'published' },
      { status: 'failed' },
    ]);
    expect(await jobs.getWaitingCount()).toBe(1);
  });

  it.each([[undefined], [null]])('refuses %s as an event, alone and among others', async (none) => {
    const publisher = ofTest();
    await expect(publisher.publish(none as unknown as typeof event)).rejects.toEqual(codeOf('invalid_event'));
    const both = [{ ...event, id: 'good' }, none as unknown as typeof event];
    expect(await publisher.publishBatch(both)).toEqual([
      { status: 'published', id: 'good' },
      { status: 'failed', error: codeOf('invalid_event') },
    ]);
  });

  it('takes events of a map of its own', async () => {
    const publisher = willClose(
      createEventPublisher<{ 'invoice.paid': { readonly total: number } }>({
        redisUrl: redis.url,
        ...PATIENT,
      }),
    );
    await publisher.publish({ type: 'invoice.paid', data: { total: 12 } });
    // @ts-expect-error: the map has no such type.
    await publisher.publish({ type: 'invoice.lost', data: { total: 12 } });
    // @ts-expect-error: its data is another.
    await publisher.publish({ type: 'invoice.paid', data: { total: 'twelve' } });
    expect(await jobs.getWaitingCount()).toBe(3);
  });

  it('uses a client of your own, and leaves it open', async () => {
    const listeners = redis.client.listenerCount('error');
    const publisher = createEventPublisher({ connection: redis.client, ...PATIENT });
    await publisher.publish(event);
    await publisher.close();
    expect(await redis.client.ping()).toBe('PONG');
    expect(redis.client.listenerCount('error')).toBe(listeners);
  });
});

describe('publish, while Redis', () => {
  it('is away, gives up in time, with the reason, and says that nothing was sent', async () => {
    const onConnectionError = jest.fn();
    const redisUrl = `redis://127.0.0.1:${await findClosedPort()}`;
    const publisher = open({ redisUrl, onConnectionError, ...IMPATIENT });
    await expect(publisher.publish({ ...event, id: 'mine' })).rejects.toEqual(
      expect.objectContaining({
        code: 'redis_unavailable',
        eventId: 'mine',
        message: expect.stringContaining('ECONNREFUSED') as string,
      }),
    );
    expect(onConnectionError).toHaveBeenCalledWith(expect.objectContaining({ code: 'ECONNREFUSED' }));
  });

  it('is silent, says that it may be published, and makes one event of it when it is published again', async () => {
    const proxy = willClose(await startRedisProxy(redis.url));
    const publisher = open({ redisUrl: proxy.url, ...IMPATIENT });
    await publisher.publish(event);
    proxy.freeze();
    const failed = await publisher.publish({ ...event, id: 'once' }).catch((error: unknown) => error);
    expect(failed).toEqual(codeOf('outcome_unknown'));
    proxy.thaw();
    const again = open({ redisUrl: proxy.url, ...PATIENT });
    await again.publish({ ...event, id: (failed as { readonly eventId: string }).eventId });
    // The publisher that gave up works on by itself.
    let published: unknown;
    while (!published) published = await publisher.publish({ ...event, id: 'later' }).catch(() => undefined);
    expect(await jobs.getWaitingCount()).toBe(3);
  });

  it('breaks the connection before its reply, publishes it once', async () => {
    const proxy = willClose(await startRedisProxy(redis.url));
    const publisher = open({ redisUrl: proxy.url, ...PATIENT });
    await publisher.publish(event);
    const cut = proxy.swallowAnswerTo('second-event');
    await publisher.publish({ ...event, id: 'second-event' });
    await cut;
    expect(await jobs.getWaitingCount()).toBe(2);
  });

  it('has no memory left, says so at once, and works again when there is some', async () => {
    const server = willClose(await startRedisServer());
    const publisher = open({ redisUrl: server.url, ...PATIENT });
    await server.fillUp();
    await expect(publisher.publish(event)).rejects.toEqual(
      expect.objectContaining({ code: 'redis_refused', message: expect.stringContaining('OOM') as string }),
    );
    await server.makeRoom();
    expect(await publisher.publish(event)).toEqual({ id: expect.any(String) as string });
  });
});

describe('publish, in a process that stands still for longer than its patience', () => {
  /** As on a busy machine: all others run, and this process does not. */
  // ioredis gives a connection up after five seconds without a reply.
  const stops = [1_800, 6_000];

  it.each(stops)('takes the reply that Redis sent meanwhile, after %d ms', async (ms) => {
    const publisher = open({ redisUrl: redis.url, patienceMs: 1_000 });
    await publisher.publish({ ...event, id: 'before' });
    const published = publisher.publish({ ...event, id: 'order-20' });
    await nextTurn();
    standStill(ms);
    expect(await published).toEqual({ id: 'order-20' });
    expect(await jobs.getWaitingCount()).toBe(2);
  });

  it.each(stops)('connects first, after %d ms', async (ms) => {
    const published = open({ redisUrl: redis.url, patienceMs: 1_000 }).publish({ ...event, id: 'order-21' });
    standStill(ms);
    expect(await published).toEqual({ id: 'order-21' });
  });
});

describe('publish, where Redis refuses the connection', () => {
  let server: RedisServer;
  let admin: Redis;
  beforeEach(async () => {
    server = await startRedisServer();
    admin = new Redis(server.url);
    await admin.config('SET', 'requirepass', 'right');
  });
  afterEach(async () => {
    admin.disconnect();
    await server.close();
  });
  const refusedWith = (why: string) =>
    expect.objectContaining({ code: 'redis_refused', message: expect.stringContaining(why) as string });
  const urlWith = (credentials: string) => server.url.replace('//', `//${credentials}@`);

  function ownClient(url: string): Redis {
    const client = new Redis(url);
    willClose({ close: () => client.disconnect() });
    return client;
  }

  it.each<[string, string, (url: string) => PublisherOptions]>([
    ['a wrong password, by redisUrl', 'WRONGPASS', () => ({ redisUrl: urlWith(':wrong') })],
    ['none at all, by redisUrl', 'NOAUTH', (url) => ({ redisUrl: url })],
    ['an unknown user, by redisUrl', 'WRONGPASS', () => ({ redisUrl: urlWith('nobody:right') })],
    [
      'a wrong password, by options',
      'WRONGPASS',
      (url) => ({ connection: { port: Number(new URL(url).port), password: 'wrong' } }),
    ],
    [
      'a wrong password, by a client of your own',
      'WRONGPASS',
      () => ({ connection: ownClient(urlWith(':wrong')) }),
    ],
    ['none at all, by a client of your own', 'NOAUTH', (url) => ({ connection: ownClient(url) })],
    [
      'a wrong password, at the nodes of a Cluster',
      'WRONGPASS',
      () => ({ redisUrl: urlWith(':wrong').replace('redis:', 'redis+cluster:') }),
    ],
  ])('says so to all who wait: %s', async (_what, why, optionsAt) => {
    const publisher = open({ ...optionsAt(server.url), ...PATIENT });
    const refused = { status: 'rejected', reason: refusedWith(why) };
    const both = [publisher.publish(event), publisher.publish(event)];
    expect(await Promise.allSettled(both)).toEqual([refused, refused]);
    await expect(publisher.publish(event)).rejects.toEqual(refusedWith(why));
  });

  it('works by itself once the password is the right one', async () => {
    const publisher = open({ redisUrl: urlWith(':later'), ...PATIENT });
    await expect(publisher.publish(event)).rejects.toEqual(refusedWith('WRONGPASS'));
    await admin.config('SET', 'requirepass', 'later');
    let published: unknown;
    while (!published) published = await publisher.publish({ ...event, id: 'late' }).catch(() => undefined);
    expect(published).toEqual({ id: 'late' });
  });
});

describe('publishBatch', () => {
  it('says of each event what became of it, in their order', async () => {
    const events = Array.from({ length: 250 }, (_, i) => ({
      ...event,
      id: i === 120 ? 'a:b' : `event-${i}`,
    }));
    const results = await ofTest().publishBatch(events);
    expect(results.map((result) => (result.status === 'published' ? result.id : result.error.code))).toEqual(
      events.map(({ id }) => (id === 'a:b' ? 'invalid_event' : id)),
    );
    expect(await jobs.getWaitingCount()).toBe(249);
  });

  it('waits once for a Redis that is away, not for each part of the batch', async () => {
    const publisher = open({ redisUrl: `redis://127.0.0.1:${await findClosedPort()}`, ...IMPATIENT });
    const events = Array.from({ length: 1_000 }, () => event);
    const results = await publisher.publishBatch(events);
    expect(results).toEqual(events.map(() => ({ status: 'failed', error: codeOf('redis_unavailable') })));
  });
});

it('closes when what is under way is done, and takes nothing more', async () => {
  const publisher = createEventPublisher({ redisUrl: redis.url, ...PATIENT });
  const underWay = Promise.all(Array.from({ length: 20 }, () => publisher.publish(event)));
  await publisher.close();
  await underWay;
  expect(await jobs.getWaitingCount()).toBe(20);
  await expect(publisher.publish(event)).rejects.toEqual(codeOf('closed'));
  expect(await publisher.publishBatch([event])).toEqual([{ status: 'failed', error: codeOf('closed') }]);
});

it('has the types that every service knows', () => {
  type OfCatalogue = { [Type in KnownEventType]: EventData<Type> };
  type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
  const isSame: Same<BuiltInEvents, OfCatalogue> = true;
  expect(isSame).toBe(true);
  const names: Readonly<Record<keyof BuiltInEvents, true>> = {
    'keyword.quick_win': true,
    'brief.created': true,
    'import.completed': true,
  };
  expect(Object.keys(names).sort()).toEqual(publishableTypes.map(({ name }) => name).sort());
});

describe('with replicas that confirm', () => {
  async function startPair() {
    const master = willClose(await startRedisServer());
    const { port } = new URL(master.url);
    const replica = willClose(await startRedisServer(['--replicaof', `127.0.0.1 ${port}`]));
    const client = new Redis(replica.url);
    willClose({ close: () => client.disconnect() });
    while (!(await client.info('replication')).includes('link_status:up'));
    return { master, client, port };
  }

  it('resolves once a replica has the event: it is there when the master dies in the next moment', async () => {
    const { master, client } = await startPair();
    const publisher = open({ redisUrl: master.url, confirmedBy: 1, ...PATIENT });
    const events = Array.from({ length: 50 }, (_, i) => ({ ...event, id: `order-${i}` }));
    await Promise.all(events.map((each) => publisher.publish(each)));
    await master.close();
    expect(await client.llen('bull:events:wait')).toBe(50);
  });

  it('does not say that it is published while none has it, and does when one is back', async () => {
    const { master, client, port } = await startPair();
    const publisher = open({ redisUrl: master.url, confirmedBy: 1, ...PATIENT });
    const impatient = open({ redisUrl: master.url, confirmedBy: 1, patienceMs: 2_000 });
    await publisher.publish({ ...event, id: 'order-1' });
    await client.replicaof('NO', 'ONE');
    await expect(impatient.publish({ ...event, id: 'order-2' })).rejects.toMatchObject({
      code: 'outcome_unknown',
      eventId: 'order-2',
    });
    const waiting = publisher.publish({ ...event, id: 'order-3' });
    await client.replicaof('127.0.0.1', port);
    expect(await waiting).toEqual({ id: 'order-3' });
  });
});
