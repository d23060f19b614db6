import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as immediate } from 'node:timers/promises';
import { AccountStore } from '@hookferry/core/accounts/redis-account-store';
import type { AccessTokens } from '@hookferry/core/deliver/access-tokens';
import { Ed25519Signatures } from '@hookferry/core/deliver/ed25519-signatures';
import { BatchSizes } from '@hookferry/core/deliver/flow/batch-sizes';
import { wakeUpEndpoint } from '@hookferry/core/deliver/flow/releaser';
import type { AttemptParts } from '@hookferry/core/deliver/open-delivery';
import {
  type DeliveryRequested,
  deliveryIdOf,
  laneJobIdOf,
  type NewDelivery,
  type RequestTrigger,
} from '@hookferry/core/domain/delivery';
import { type LaneName, laneNameOf, lineOf } from '@hookferry/core/domain/endpoint';
import { keys, queueKeysOf } from '@hookferry/core/domain/keys';
import {
  createQueueLayout,
  DELIVERIES_QUEUE,
  EVENTS_QUEUE,
  oneShard,
  type QueueShard,
  type QueueShards,
  shardsAmong,
} from '@hookferry/core/domain/queues';
import type { DeliveryRequest, SendResult } from '@hookferry/core/domain/transport';
import { disable } from '@hookferry/core/endpoints/disable';
import type { HealthRecorder } from '@hookferry/core/endpoints/health/health-recorder';
import type { OperationalEvents } from '@hookferry/core/endpoints/operational-events';
import { EndpointStore } from '@hookferry/core/endpoints/redis-endpoint-store';
import { TransformationStore } from '@hookferry/core/endpoints/redis-transformation-store';
import { SigningKeyStore } from '@hookferry/core/endpoints/signing-keys/redis-signing-key-store';
import { DeliveryStore } from '@hookferry/core/events/redis-delivery-store';
import { CACHED_FOR_MS, EventStore } from '@hookferry/core/events/redis-event-store';
import type { DeliveryQuery } from '@hookferry/core/history/history-source';
import { Recent } from '@hookferry/core/history/redis-recent';
import { WholeHistory } from '@hookferry/core/history/whole-history';
import { AppError } from '@hookferry/core/platform/app-error';
import { steadyClock, systemClock } from '@hookferry/core/platform/clock';
import { atomicOneByOne, createAtomic } from '@hookferry/core/platform/redis-atomic';
import { connectRedis, type RedisClient } from '@hookferry/core/platform/redis-connect';
import { DeliveryQueue } from '@hookferry/core/queue/bullmq-delivery-queue';
import { EventQueue } from '@hookferry/core/queue/bullmq-event-queue';
import { HeldDeliveries } from '@hookferry/core/queue/bullmq-held-deliveries';
import { createJobKeys, jobFields } from '@hookferry/core/queue/bullmq-layout';
import { RunningJobs } from '@hookferry/core/queue/bullmq-running-jobs';
import { RunningLanes } from '@hookferry/core/queue/bullmq-running-lanes';
import { DeliveryPlacement } from '@hookferry/core/queue/redis-delivery-placement';
import { Redelivery, type RedeliveryParts } from '@hookferry/core/replays/redelivery';
import { ReplayStore } from '@hookferry/core/replays/redis-replay-store';
import { Replays, type ReplaysParts } from '@hookferry/core/replays/replays';
import { responded } from '@hookferry/core/testing/arrange-delivery';
import { buildAdmission } from '@hookferry/core/testing/build-admission';
import { buildAtomic } from '@hookferry/core/testing/build-atomic';
import { buildAcceptedAttempt, buildAttempt } from '@hookferry/core/testing/build-attempt';
import { buildEndpoint } from '@hookferry/core/testing/build-endpoint';
import { buildEndpoints } from '@hookferry/core/testing/build-endpoints';
import { buildEvent } from '@hookferry/core/testing/build-event';
import { buildNewDeliveries } from '@hookferry/core/testing/build-new-deliveries';
import { buildReplayOrder } from '@hookferry/core/testing/build-replay';
import { createClosables } from '@hookferry/core/testing/closables';
import { fake } from '@hookferry/core/testing/fake';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { noTokens } from '@hookferry/core/testing/no-tokens';
import { recordRaised } from '@hookferry/core/testing/record-raised';
import { recordSignals } from '@hookferry/core/testing/record-signals';
import { startRedisProxy } from '@hookferry/core/testing/redis-proxy';
import { startRedisServer } from '@hookferry/core/testing/redis-server';
import { openTestRedis } from '@hookferry/core/testing/test-redis';
import { testRetention } from '@hookferry/core/testing/test-retention';
import { testSealer } from '@hookferry/core/testing/test-sealer';
import { uniqueEventId } from '@hookferry/core/testing/unique-ids';
import { withMethods } from '@hookferry/core/testing/with-methods';
import type { TransformPool } from '@hookferry/core/transform/transform-pool';
import { CLUSTER_QUEUE_PREFIX } from '@hookferry/producer/contract';
import { Redis, ReplyError } from 'ioredis';
import { SharedCapacity } from '../capacity';
import { type DeliveryWorkerParts, openDeliveryWorker } from './bullmq-deliver';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

type Receive = (request: DeliveryRequest, abortSignal: AbortSignal) => Promise<SendResult>;

const ACCEPTS: Receive = async () => responded(204);

interface WorkerOptions {
  readonly receive?: Receive;
  readonly shards?: QueueShards;
  readonly change?: Partial<AttemptParts & Omit<DeliveryWorkerParts, 'attemptParts'>>;
}

/** A worker process that takes deliveries, with the receiver of its requests. It is not started. */
function openProcess(
  redis: RedisClient,
  { receive = ACCEPTS, shards = oneShard('bull'), change }: WorkerOptions = {},
) {
  const signals = recordSignals();
  const requests: DeliveryRequest[] = [];
  const admission = willClose(buildAdmission({ redis, clock: systemClock, signals }));
  const parts: AttemptParts & Omit<DeliveryWorkerParts, 'attemptParts'> = {
    ...admission,
    beginSpan: undefined,
    batchSizes: new BatchSizes(),
    redis,
    retention: testRetention,
    eventStore: new EventStore(redis, testRetention),
    accountStore: new AccountStore(redis),
    signingKeyStore: new SigningKeyStore(redis, testSealer),
    ed25519Signatures: new Ed25519Signatures(),
    accessTokens: noTokens,
    transformationStore: new TransformationStore(redis),
    transformPool: fake<TransformPool>({
      run: () => Promise.reject(new Error('No endpoint here has code.')),
    }),
    placement: new DeliveryPlacement(redis, { ...shards, isStable: true }),
    deliveryQueue: new DeliveryQueue(redis, shards),
    heldDeliveries: new HeldDeliveries(redis, shards),
    atomic: createAtomic(redis),
    operationalEvents: fake<OperationalEvents>(recordRaised()),
    healthRecorder: fake<HealthRecorder>({ record: () => {} }),
    retrySchedule: [60_000, 60_000],
    workerId: 'f00d42',
    requestStyle: {
      userAgent: 'hooks/1.2',
      signatureHeader: { name: 'X-Service-Signature', prefix: 'sha256=' },
    },
    async transport(request, abortSignal) {
      requests.push(request);
      return await receive(request, abortSignal);
    },
    deliveryCapacity: new SharedCapacity(1),
    lockDurationMs: 30_000,
    stopDeadlineMs: 60_000,
    ...change,
  };
  const consumers = shards.all().map((shard) => openDeliveryWorker({ ...parts, attemptParts: parts }, shard));
  const stop = async () => void (await Promise.all(consumers.map((consumer) => consumer.stop())));
  willClose({ close: stop });
  return {
    signals,
    requests,
    sentIds: () => requests.map(({ headers }) => headers['webhook-id']),
    start() {
      for (const consumer of consumers) consumer.start();
    },
    stop,
  };
}

function connect(url: string): RedisClient {
  const redis = connectRedis({ url, role: 'working', name: 'test', emit: () => {} });
  willClose({ close: () => redis.disconnect() });
  return redis;
}

/** Deliveries to one endpoint, and what is left of them in Redis. */
async function arrange(url?: string, shards = oneShard('bull'), retention = testRetention) {
  const database = willClose(await openTestRedis(url));
  const { client } = database;
  const endpointStore = new EndpointStore(client, testSealer);
  const eventStore = new EventStore(client, retention);
  const deliveryStore = new DeliveryStore(client, retention);
  const deliveryQueue = new DeliveryQueue(client, shards);
  const endpoint = buildEndpoint();
  await endpointStore.create(endpoint);
  const jobKeysOf = ({ endpointId }: NewDelivery) =>
    createJobKeys(shards.homeShardOf(endpointId).prefix, DELIVERIES_QUEUE);
  const jobKeyOf = (delivery: NewDelivery) => jobKeysOf(delivery).job(deliveryIdOf(delivery));
  return {
    ...database,
    ...{ endpoint, endpointStore, eventStore, deliveryStore, jobKeyOf },
    async addDelivery({ accountId, id: endpointId } = endpoint): Promise<NewDelivery> {
      const event = buildEvent({ accountId, acceptedAt: systemClock() });
      const delivery = { accountId, endpointId, eventId: event.id };
      await eventStore.save(event)(client);
      await deliveryStore.enlistAll(buildNewDeliveries(event.id, [endpointId], event.acceptedAt))(client);
      await deliveryQueue.addAll([delivery]);
      return delivery;
    },
    /** As if its worker had not renewed its lock for too long. */
    endLock: (delivery: NewDelivery) => client.del(jobKeysOf(delivery).lock(deliveryIdOf(delivery))),
    /** As the check for stalled jobs does then. */
    async putBack(delivery: NewDelivery): Promise<void> {
      const [{ base, lock }, id] = [jobKeysOf(delivery), deliveryIdOf(delivery)];
      await client.multi().del(lock(id)).lrem(`${base}active`, 0, id).lpush(`${base}wait`, id).exec();
    },
    resend: (delivery: NewDelivery, trigger: RequestTrigger) =>
      new Redelivery(
        fake<RedeliveryParts>({
          eventStore,
          deliveryStore,
          deliveryQueue,
          atomic: createAtomic(client),
          clock: systemClock,
          emit: () => {},
        }),
      ).request({ ...delivery, acceptedAt: systemClock(), trigger, requestId: 'rdl_1' }),
    bringForward: (delivery: NewDelivery) =>
      new Redelivery(
        fake<RedeliveryParts>({ deliveryStore, deliveryQueue, clock: systemClock, emit: () => {} }),
      ).bringForward({ ...delivery, acceptedAt: systemClock(), trigger: 'replay', requestId: 'rpl_1' }),
    async untilGone(...deliveries: readonly NewDelivery[]): Promise<void> {
      for (const delivery of deliveries) {
        const { jobs, holds, batches } = deliveryQueue.keysOf(delivery);
        while ((await client.exists(...jobs, ...holds, ...batches)) > 0);
      }
    },
    readRecord: (delivery: NewDelivery) => deliveryStore.find(delivery),
  };
}

it('waits while Redis is out of memory, and sends nothing twice', async () => {
  const server = willClose(await startRedisServer());
  const { addDelivery, untilGone, readRecord, url } = await arrange(server.url);
  const redis = connect(url);
  const { start, signals, requests } = openProcess(redis, {
    async receive() {
      if (requests.length === 2) await server.fillUp();
      return responded(204);
    },
  });
  const deliveries = [await addDelivery(), await addDelivery(), await addDelivery()];
  start();
  await signals.first('delivery.follow_up_failed');
  await server.makeRoom();
  await untilGone(...deliveries);
  expect(requests.map(({ headers }) => headers['webhook-id'])).toEqual(
    deliveries.map(({ eventId }) => eventId),
  );
  for (const delivery of deliveries) {
    expect(await readRecord(delivery)).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
  }
});

const outOfMemory = () => new ReplyError("OOM command not allowed when used memory > 'maxmemory'.");
const historyAway = () => new AppError('history_unavailable', 'PostgreSQL is away.', { retryAfterMs: 1 });
it.each([
  ['Redis is out of memory', outOfMemory, {}],
  ['Redis is out of memory, where the endpoint has an order', outOfMemory, { ordering: 'strict' }],
  ['Redis is out of memory, in a batch', outOfMemory, { batch: { max_events: 10 } }],
  ['the history is away', historyAway, {}],
] as const)('begins again, and has not failed, when %s', async (_what, refusal, change) => {
  const { addDelivery, untilGone, readRecord, endpoint, endpointStore, url } = await arrange();
  await endpointStore.update(endpoint.accountId, endpoint.id, (before) => ({ ...before, ...change }));
  const redis = connect(url);
  const { concurrency } = willClose(buildAdmission({ redis, clock: systemClock }));
  let isRefused = false;
  const { start, signals } = openProcess(redis, {
    change: {
      concurrency: withMethods(concurrency, {
        async takePermit(...args: Parameters<typeof concurrency.takePermit>) {
          if (isRefused) return await concurrency.takePermit(...args);
          isRefused = true;
          throw refusal();
        },
      }),
    },
  });
  const deliveries = [await addDelivery(), await addDelivery()];
  start();
  await untilGone(...deliveries);
  expect(signals.named('job.interrupted')).toMatchObject([{ reason: 'unavailable' }]);
  expect(signals.named('job.failed')).toEqual([]);
  for (const delivery of deliveries) {
    while ((await readRecord(delivery))?.status !== 'delivered') await immediate();
  }
});

describe('a reply that is lost with the connection', () => {
  it('to the record of an attempt: it is recorded and sent once, and the next delivery follows soon', async () => {
    const { addDelivery, untilGone, readRecord, url, endpoint } = await arrange();
    const proxy = willClose(await startRedisProxy(url));
    const { start, signals, requests } = openProcess(connect(proxy.url));
    // From here on Redis knows the scripts.
    const known = [await addDelivery(), await addDelivery()];
    start();
    await untilGone(...known);
    const isLost = proxy.swallowAnswerTo(keys.answerBytes(endpoint.id));
    const deliveries = [await addDelivery(), await addDelivery()];
    await isLost;
    await untilGone(...deliveries);
    expect(requests).toHaveLength(known.length + deliveries.length);
    for (const delivery of deliveries) {
      expect(await readRecord(delivery)).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
    }
    expect(await signals.atLeast(4, 'delivery.ended')).toHaveLength(4);
    expect(signals.named('job.failed')).toEqual([]);
  });

  it('does no harm, wherever a connection breaks while an attempt is recorded', async () => {
    const { addDelivery, untilGone, readRecord, url } = await arrange();
    const proxy = willClose(await startRedisProxy(url));
    const receiver = new EventEmitter();
    const { start, requests } = openProcess(connect(proxy.url), {
      async receive() {
        const isToRespond = once(receiver, 'respond');
        receiver.emit('request');
        await isToRespond;
        return responded(204);
      },
    });
    const nextRequest = () => once(receiver, 'request');
    start();
    for (let bytes = 50; bytes < 2_600; bytes += 300) {
      requests.length = 0;
      const begun = nextRequest();
      const deliveries = [await addDelivery(), await addDelivery()];
      await begun;
      proxy.cutAfter(bytes);
      const followed = nextRequest();
      receiver.emit('respond');
      await followed;
      receiver.emit('respond');
      await untilGone(...deliveries);
      expect(requests.map(({ headers }) => headers['webhook-id'])).toEqual(
        deliveries.map(({ eventId }) => eventId),
      );
      for (const delivery of deliveries) {
        expect(await readRecord(delivery)).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
      }
    }
  });
});

describe('a delivery whose attempt is interrupted', () => {
  it('is given back when the deadline of the end has come, and sent by another worker', async () => {
    const { url, addDelivery, untilGone, readRecord } = await arrange();
    const receiver = new EventEmitter();
    const ending = openProcess(connect(url), {
      async receive(_request, abortSignal) {
        receiver.emit('request');
        await once(abortSignal, 'abort');
        return { kind: 'failed', reason: 'connect_refused', error: 'aborted', timings: {} };
      },
      change: { stopDeadlineMs: 20 },
    });
    const isSent = once(receiver, 'request');
    const delivery = await addDelivery();
    ending.start();
    await isSent;
    await ending.stop();
    expect(await readRecord(delivery)).toMatchObject({ status: 'pending', attempts: [] });
    const next = openProcess(connect(url));
    next.start();
    await untilGone(delivery);
    expect(next.sentIds()).toEqual([delivery.eventId]);
    expect(await readRecord(delivery)).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
  });
});

// The former worker may record its attempt in the very moment in which its job is taken over.
it('sends nothing of a delivery that was taken over, when its former worker has recorded an attempt', async () => {
  const { url, client, addDelivery, untilGone, jobKeyOf, deliveryStore, readRecord } = await arrange();
  const redis = connect(url);
  const { concurrency } = willClose(buildAdmission({ redis, clock: systemClock }));
  const fact = { kind: 'attempted', attempt: buildAcceptedAttempt(), nextAttemptAt: undefined } as const;
  let delivery: NewDelivery | undefined;
  const { start, requests } = openProcess(redis, {
    change: {
      concurrency: withMethods(concurrency, {
        async takePermit(...args: Parameters<typeof concurrency.takePermit>) {
          if (delivery) await deliveryStore.append(delivery, fact);
          return await concurrency.takePermit(...args);
        },
      }),
    },
  });
  delivery = await addDelivery();
  await client.hset(jobKeyOf(delivery), { ats: 1, stc: 1 });
  start();
  await untilGone(delivery);
  expect(requests).toEqual([]);
  expect(await readRecord(delivery)).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
});

describe('a delivery that is asked for once more, before a worker that had stood still records its success', () => {
  /** One worker has sent it and stands still, another one has delivered it. */
  async function arrangeStalled() {
    const arranged = await arrange();
    const { url, addDelivery, putBack, untilGone } = arranged;
    const receiver = new EventEmitter();
    const stalled = openProcess(connect(url), {
      async receive() {
        receiver.emit('request');
        if (stalled.requests.length === 1) await once(receiver, 'respond');
        return responded(204);
      },
      change: { workerId: 'stalled' },
    });
    const isSent = once(receiver, 'request');
    const delivery = await addDelivery();
    stalled.start();
    await isSent;
    await putBack(delivery);
    const other = openProcess(connect(url));
    other.start();
    await untilGone(delivery);
    await other.stop();
    return { ...arranged, delivery, stalled, goOn: () => receiver.emit('respond') };
  }

  it.each(['manual', 'replay'] as const)('is sent: %s', async (trigger) => {
    const { resend: ask, delivery, stalled, goOn, untilGone, readRecord } = await arrangeStalled();
    expect(await ask(delivery, trigger)).toBe('requested');
    goOn();
    await untilGone(delivery);
    expect(stalled.sentIds()).toEqual([delivery.eventId, delivery.eventId]);
    expect(await readRecord(delivery)).toMatchObject({
      isOpen: false,
      attempts: [{ number: 1 }, { number: 2, worker: 'stalled' }, { number: 3, trigger }],
    });
  });

  it('is sent when its webhook, which is disabled, is enabled', async () => {
    const { resend: ask, delivery, stalled, goOn, client, endpoint, ...rest } = await arrangeStalled();
    const admission = willClose(buildAdmission({ redis: client, clock: systemClock }));
    const { accountId, id: endpointId } = endpoint;
    await disable(admission, accountId, endpointId, 'client');
    expect(await ask(delivery, 'manual')).toBe('requested');
    goOn();
    while ((await admission.heldDeliveries.count(endpointId)) === 0);
    await buildEndpoints(client, admission).enable(accountId, endpointId);
    await wakeUpEndpoint({ ...admission, ...rest }, { accountId, endpointId }, 1);
    await rest.untilGone(delivery);
    expect(stalled.sentIds()).toEqual([delivery.eventId, delivery.eventId]);
  });
});

it('sends no payload that was erased while its job waited for the one before, once it may be forgotten', async () => {
  const { url, addDelivery, eventStore, untilGone, readRecord } = await arrange();
  const redis = connect(url);
  const deliveries: NewDelivery[] = [];
  const { start, sentIds } = openProcess(redis, {
    change: {
      placement: fake<DeliveryPlacement>({
        isInHomeShard: () => true,
        isStable: true,
        async work(run, _shard, attempt) {
          const result = await attempt();
          const next = deliveries[1];
          if (next === undefined || run.eventId === next.eventId) return result;
          // The next job has come with the record.
          await eventStore.erasePayload(next.accountId, next.eventId, systemClock());
          const forgottenAt = steadyClock() + CACHED_FOR_MS;
          while (steadyClock() < forgottenAt) await immediate();
          return result;
        },
      }),
    },
  });
  deliveries.push(await addDelivery(), await addDelivery());
  start();
  await untilGone(...deliveries);
  expect(sentIds()).toEqual([deliveries[0]?.eventId]);
  expect(await Promise.all(deliveries.map(readRecord))).toMatchObject([
    { status: 'delivered' },
    { status: 'cancelled', attempts: [] },
  ]);
});

describe('deliveries that wait for an access token', () => {
  const auth = {
    type: 'oauth2',
    changedAt: 1,
    tokenUrl: 'https://auth.example.com/',
    clientId: 'c',
    clientSecret: 's',
  } as const;
  const token = {
    version: '1',
    token: 'abc',
    refreshAt: Number.MAX_SAFE_INTEGER,
    expiresAt: Number.MAX_SAFE_INTEGER,
  };

  /** Gives a token when something has happened. */
  const tokensAfter = (happens: () => Promise<unknown>): AccessTokens =>
    fake<AccessTokens>({
      async find() {
        await happens();
        return { kind: 'token', token, wasAwaited: true };
      },
      refuse: async () => {},
    });

  it('in one request: it goes without the payload that was erased meanwhile', async () => {
    const { url, addDelivery, endpointStore, eventStore, readRecord } = await arrange();
    const endpoint = buildEndpoint({ auth, batch: { max_events: 3 } });
    await endpointStore.create(endpoint);
    const deliveries: NewDelivery[] = [];
    const { start, requests } = openProcess(connect(url), {
      change: {
        accessTokens: tokensAfter(async () => {
          const erased = deliveries[1];
          if (erased) await eventStore.erasePayload(erased.accountId, erased.eventId, systemClock());
        }),
      },
    });
    for (let i = 0; i < 3; i += 1) deliveries.push(await addDelivery(endpoint));
    start();
    // Their own jobs are gone as soon as they wait for a batch.
    const read = () => Promise.all(deliveries.map(readRecord));
    while ((await read()).some((record) => record?.status === 'pending'));
    const sent = requests.map(({ body }) =>
      (JSON.parse(body) as { data: { id: string }[] }).data.map(({ id }) => id),
    );
    expect(sent.flat().toSorted()).toEqual([deliveries[0]?.eventId, deliveries[2]?.eventId].toSorted());
    expect(await Promise.all(deliveries.map(readRecord))).toMatchObject([
      { status: 'delivered' },
      { status: 'cancelled', attempts: [] },
      { status: 'delivered' },
    ]);
  });

  // As when a virtual machine is suspended with its clocks.
  it('are not sent by a worker that has lost them without any time having passed for it', async () => {
    const { url, addDelivery, endpointStore, untilGone, endLock, readRecord } = await arrange();
    const endpoint = buildEndpoint({ auth });
    await endpointStore.create(endpoint);
    const life = new EventEmitter();
    const paused = openProcess(connect(url), {
      change: {
        accessTokens: tokensAfter(async () => {
          const isResumed = once(life, 'resumed');
          life.emit('paused');
          await isResumed;
        }),
      },
    });
    const isPaused = once(life, 'paused');
    const delivery = await addDelivery(endpoint);
    paused.start();
    await isPaused;
    await endLock(delivery);
    const next = openProcess(connect(url), {
      change: { lockDurationMs: 400, accessTokens: tokensAfter(async () => {}) },
    });
    next.start();
    await untilGone(delivery);
    life.emit('resumed');
    await paused.stop();
    expect([paused.sentIds(), next.sentIds()]).toEqual([[], [delivery.eventId]]);
    expect(await readRecord(delivery)).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
  });
});

it('takes the deliveries of several shards, each once', async () => {
  const shards = shardsAmong(createQueueLayout(2, 'bull'), []);
  const { url, addDelivery, endpointStore, untilGone, readRecord } = await arrange(undefined, shards);
  const { start, sentIds } = openProcess(connect(url), {
    shards,
    change: { deliveryCapacity: new SharedCapacity(4) },
  });
  const endpoints = Array.from({ length: 12 }, () => buildEndpoint());
  const deliveries: NewDelivery[] = [];
  for (const endpoint of endpoints) {
    await endpointStore.create(endpoint);
    deliveries.push(await addDelivery(endpoint), await addDelivery(endpoint));
  }
  expect(new Set(endpoints.map(({ id }) => shards.homeShardOf(id).prefix)).size).toBe(2);
  start();
  await untilGone(...deliveries);
  expect(sentIds().toSorted()).toEqual(deliveries.map(({ eventId }) => eventId).toSorted());
  for (const delivery of deliveries) {
    expect(await readRecord(delivery)).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
  }
});

it('tells the lag of a delivery that was put off behind an event that is still to be fanned out', async () => {
  const { url, endpointStore, client, eventStore, deliveryStore } = await arrange();
  const redis = connect(url);
  const endpoint = buildEndpoint({ ordering: 'strict' });
  await endpointStore.create(endpoint);
  const { accountId, id: endpointId } = endpoint;
  const [olderId, id] = [uniqueEventId(), uniqueEventId()];
  const event = buildEvent({ id, accountId, acceptedAt: systemClock() });
  await eventStore.save(event)(client);
  await deliveryStore.enlistAll(buildNewDeliveries(event.id, [endpointId], event.acceptedAt))(client);
  const older = { id: olderId, accountId, type: 'a.b', body: '{}', acceptedAt: event.acceptedAt - 1 };
  await new EventQueue(client, oneShard('bull')).add(older);
  const entry = { accountId, endpointId, eventId: event.id, acceptedAt: event.acceptedAt, isInLane: true };
  await new DeliveryQueue(redis, oneShard('bull')).addAll([entry]);
  const { start, signals } = openProcess(redis);
  start();
  const { delayed } = createJobKeys('bull', DELIVERIES_QUEUE);
  while ((await client.zcard(delayed)) === 0) await immediate();
  await client.del(createJobKeys('bull', EVENTS_QUEUE).wait);
  while (signals.named('delivery.attempted').length === 0) await immediate();
  expect(signals.named('delivery.attempted')).toMatchObject([{ firstLagMs: expect.any(Number) }]);
});

it('loses nothing of a lane whose home shard is this one by the time that the lane is to be moved', async () => {
  const { url, endpointStore, client, eventStore, deliveryStore } = await arrange();
  const redis = connect(url);
  const endpoint = buildEndpoint({ ordering: 'strict' });
  await endpointStore.create(endpoint);
  let looks = 0;
  // By the layout of before it is in another one.
  const homeShardOf = () => ({ prefix: ++looks > 1 ? 'bull' : 'other' });
  const placement = new DeliveryPlacement(redis, { ...oneShard('bull'), homeShardOf, isStable: true });
  const { start, sentIds } = openProcess(redis, { change: { placement } });
  const { accountId, id: endpointId } = endpoint;
  const event = buildEvent({ accountId, acceptedAt: systemClock() });
  await eventStore.save(event)(client);
  await deliveryStore.enlistAll(buildNewDeliveries(event.id, [endpointId], event.acceptedAt))(client);
  const entry = { accountId, endpointId, eventId: event.id, acceptedAt: event.acceptedAt, isInLane: true };
  await new DeliveryQueue(redis, oneShard('bull')).addAll([entry]);
  start();
  while ((await client.zcard(queueKeysOf('bull').lane(laneNameOf(endpointId)))) > 0) await immediate();
  expect(sentIds()).toEqual([event.id]);
});

it.each([
  ['strict', 0],
  ['group', 0],
  ['strict', 120],
] as const)(
  'ends what is behind held deliveries that were requested again, once its own retention is over: %s, %i more requested',
  async (ordering, moreRequested) => {
    const { url, endpointStore, client, eventStore, deliveryStore, readRecord } = await arrange();
    const redis = connect(url);
    const endpoint = buildEndpoint({ ordering, status: 'disabled' });
    await endpointStore.create(endpoint);
    const { accountId, id: endpointId } = endpoint;
    const group = 'a';
    const line = lineOf(endpoint, group);
    const requestedAt = systemClock();
    const retention = { ...testRetention, ageMs: 60_000 };
    const requested = { requestId: 'rdl_1', trigger: 'manual', requestedAt } as const;
    const add = async (acceptedAt: number, request?: DeliveryRequested) => {
      const event = buildEvent({ accountId, group, acceptedAt });
      const entry = { accountId, endpointId, eventId: event.id, acceptedAt, isInLane: true, line };
      await eventStore.save(event)(client);
      await deliveryStore.enlistAll(buildNewDeliveries(event.id, [endpointId], acceptedAt))(client);
      const queue = new DeliveryQueue(redis, oneShard('bull'));
      if (request) await queue.addRequested([{ ...entry, request }]);
      else await queue.addAll([entry]);
      return entry;
    };
    const first = await add(requestedAt - retention.ageMs - 3);
    await deliveryStore.append(first, { kind: 'requested', ...requested });
    const stay = [first];
    while (stay.length <= moreRequested) stay.push(await add(requestedAt - retention.ageMs - 3, requested));
    stay.sort((a, b) => (a.eventId < b.eventId ? -1 : 1));
    const over = [await add(requestedAt - retention.ageMs - 2), await add(requestedAt - retention.ageMs)];
    const open = await add(requestedAt);
    const { signals, start, sentIds } = openProcess(redis, { change: { retention } });
    start();
    while (signals.named('delivery.ended').length < over.length) await immediate();
    const lane = queueKeysOf('bull').lane(laneNameOf(endpointId, line));
    stay.push(open);
    while ((await client.zcard(lane)) > stay.length) await immediate();
    expect(await client.zrange(lane, '0', '-1')).toEqual(stay.map(({ eventId }) => eventId));
    for (const each of over) expect(await readRecord(each)).toMatchObject({ status: 'cancelled' });
    for (const each of [first, open]) expect(await readRecord(each)).toMatchObject({ isOpen: true });
    const held = new HeldDeliveries(redis, oneShard('bull'));
    while ((await held.count(endpointId)) !== stay.length) await immediate();
    expect(sentIds()).toEqual([]);
  },
);

/** Queues that are split again: both are the home shard of a webhook for some process. */
function splitOver(redis: RedisClient) {
  const [shard, other] = [{ prefix: 'bull' }, { prefix: '{other}' }] as const;
  const shards = { ...oneShard('bull'), all: () => [shard, other], homeShardsOf: () => [shard, other] };
  const placement = new DeliveryPlacement(redis, { ...shards, isStable: false });
  return { other, shards, placement, deliveryQueue: new DeliveryQueue(redis, shards) };
}

/** By the layout of before, it is in another shard, where a worker has it. */
async function beginElsewhere(redis: RedisClient, other: QueueShard, delivery: NewDelivery, lane: LaneName) {
  await new DeliveryQueue(redis, oneShard(other.prefix)).addAll([delivery]);
  const atomic = createAtomic(redis);
  const [{ job }] = await atomic([new RunningJobs(redis, other, 30_000).take('token')]);
  const lanes = new RunningLanes(redis, other);
  const owned = { ...delivery, lane, token: job?.token ?? '', wasHeld: false };
  await lanes.begin(owned, delivery.eventId, delivery.line === undefined ? 'first' : 'newest');
  const end = () => atomic([lanes.end(owned, { ...delivery, hasRequest: false }, 'nothing')]);
  return { lanes, owned, end };
}

it.each([
  ['', false],
  [', also if its worker has died that had begun its own turn and not looked for another one', true],
])(
  'waits for a newer one whose turn has begun in another shard, where it was requested again meanwhile%s',
  async (_also, hasBegun) => {
    const { url, endpointStore, client, eventStore, deliveryStore } = await arrange();
    const redis = connect(url);
    const endpoint = buildEndpoint({ ordering: 'strict' });
    await endpointStore.create(endpoint);
    const { accountId, id: endpointId } = endpoint;
    const { deliveryQueue, placement, shards, other } = splitOver(redis);
    const now = systemClock();
    const [older, newer] = [
      buildEvent({ accountId, acceptedAt: now - 2 }),
      buildEvent({ accountId, acceptedAt: now - 1 }),
    ];
    const fact = { kind: 'attempted', attempt: buildAcceptedAttempt(), nextAttemptAt: undefined } as const;
    for (const event of [older, newer]) {
      await eventStore.save(event)(client);
      await deliveryStore.enlistAll(buildNewDeliveries(event.id, [endpointId], event.acceptedAt))(client);
      await deliveryStore.append({ endpointId, eventId: event.id }, fact);
    }
    const entryOf = ({ id: eventId, acceptedAt }: typeof older) => {
      return { accountId, endpointId, eventId, acceptedAt, isInLane: true };
    };
    const underWay = await beginElsewhere(redis, other, entryOf(newer), laneNameOf(endpointId));
    const request = { requestId: 'rdl_1', trigger: 'manual', requestedAt: now } as const;
    await deliveryQueue.addRequested([{ ...entryOf(older), request }]);
    if (hasBegun) {
      const job = createJobKeys('bull', DELIVERIES_QUEUE).job(laneJobIdOf(laneNameOf(endpointId)));
      await client.hset(job, { head: older.id, [jobFields.attemptsStarted]: 1, [jobFields.stalledCount]: 1 });
    }

    const { start, sentIds } = openProcess(redis, { shards, change: { placement, deliveryQueue } });
    start();
    const { delayed } = createJobKeys('bull', DELIVERIES_QUEUE);
    while ((await client.zcard(delayed)) === 0 && sentIds().length === 0) await immediate();
    expect(sentIds()).toEqual([]);
    await underWay.end();
    while ((await deliveryQueue.requestOf({ endpointId, eventId: older.id })) !== 'no_job') await immediate();
    expect(sentIds()).toEqual([older.id]);
  },
);

it('goes behind an older event that is fanned out, with a job of its own, while it looks for older ones', async () => {
  const { url, endpointStore, client, eventStore, deliveryStore } = await arrange();
  const redis = connect(url);
  const endpoint = buildEndpoint({ ordering: 'strict' });
  await endpointStore.create(endpoint);
  const { accountId, id: endpointId } = endpoint;
  const { deliveryQueue, besideLanes, oldestEvents } = buildAdmission({ redis, clock: systemClock });
  const now = systemClock();
  const [older, newer] = [-2, -1].map((ms) => {
    const { id: eventId, acceptedAt, ...event } = buildEvent({ accountId, acceptedAt: now + ms });
    return { event: { id: eventId, acceptedAt, ...event }, accountId, endpointId, eventId, acceptedAt };
  }) as [OwnEvent, OwnEvent];
  for (const { event, eventId, acceptedAt } of [older, newer]) {
    await eventStore.save(event)(client);
    await deliveryStore.enlistAll(buildNewDeliveries(eventId, [endpointId], acceptedAt))(client);
  }
  await deliveryQueue.addAll([{ ...newer, isInLane: true }]);
  let isFannedOut = false;
  // With several shards a worker looks for itself.
  const all = () => [{ prefix: 'bull' }, { prefix: '{other}' }];
  const placement = new DeliveryPlacement(redis, { ...oneShard('bull'), all, isStable: true });
  const { start, sentIds } = openProcess(redis, {
    change: {
      placement,
      oldestEvents: withMethods(oldestEvents, {
        async hasOlder(event: Parameters<typeof oldestEvents.hasOlder>[0]) {
          if (event.id === newer.eventId && !isFannedOut) {
            isFannedOut = true;
            await besideLanes.join(endpointId, [older])(client);
            await deliveryQueue.addAll([{ accountId, endpointId, eventId: older.eventId }]);
          }
          return await oldestEvents.hasOlder(event);
        },
      }),
    },
  });
  start();
  while (sentIds().length < 2) await immediate();
  expect(sentIds()).toEqual([older.eventId, newer.eventId]);
});

type OwnEvent = NewDelivery & { readonly event: ReturnType<typeof buildEvent>; readonly acceptedAt: number };

describe('the newest of a group, in place of an older one', () => {
  async function arrangeGroup(aheadMs = -1_000, windowMs = 1, retention = testRetention) {
    const arranged = await arrange(undefined, oneShard('bull'), retention);
    const { url, endpointStore, client, eventStore, deliveryStore } = arranged;
    const endpoint = buildEndpoint({ ordering: 'group', coalesce: { window_ms: windowMs } });
    await endpointStore.create(endpoint);
    const { accountId, id: endpointId } = endpoint;
    const group = 'a';
    const line = lineOf(endpoint, group);
    const redis = connect(url);
    const name = laneNameOf(endpointId, line);
    const lane = queueKeysOf('bull').lane(name);
    const begunAt = systemClock() + aheadMs;
    const build = (i: number) => buildEvent({ accountId, group, acceptedAt: begunAt + i });
    async function save({ id: eventId, acceptedAt, ...event }: ReturnType<typeof build>) {
      await eventStore.save({ ...event, id: eventId, acceptedAt })(client);
      await deliveryStore.enlistAll(buildNewDeliveries(eventId, [endpointId], acceptedAt))(client);
    }
    async function add(event: ReturnType<typeof build>) {
      const { id: eventId, acceptedAt } = event;
      const entry = { accountId, endpointId, eventId, acceptedAt, isInLane: true, line };
      await save(event);
      await new DeliveryQueue(redis, oneShard('bull')).addAll([entry]);
      return entry;
    }
    return {
      ...arranged,
      ...{ redis, name, build, save, add },
      older: await add(build(0)),
      newest: await add(build(1)),
      isLaneEmpty: async () => (await client.exists(lane)) === 0,
      async noteSuccessOf({ eventId }: NewDelivery) {
        const fact = {
          kind: 'attempted',
          attempt: buildAcceptedAttempt(),
          nextAttemptAt: undefined,
        } as const;
        await deliveryStore.append({ endpointId, eventId }, fact);
      },
    };
  }

  it('is sent also if it was tried before and has lost its turn', async () => {
    const { redis, deliveryStore, older, newest, ...group } = await arrangeGroup();
    const nextAttemptAt = newest.acceptedAt;
    const fact = { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt } as const;
    await deliveryStore.append(newest, fact);
    const { start, sentIds } = openProcess(redis);
    start();
    while (!(await group.isLaneEmpty())) await immediate();
    expect(sentIds()).toEqual([newest.eventId]);
    expect(await group.readRecord(older)).toMatchObject({ status: 'superseded' });
  });

  it('waits while a worker has it in another shard', async () => {
    const { redis, client, newest, ...group } = await arrangeGroup();
    const layout = { ...oneShard('bull'), isStable: false };
    const { start, sentIds } = openProcess(redis, {
      change: { placement: new DeliveryPlacement(redis, layout) },
    });
    await client.set(keys.sending(newest.endpointId, newest.eventId), 'other');
    start();
    const { delayed } = createJobKeys('bull', DELIVERIES_QUEUE);
    while ((await client.zcard(delayed)) === 0 && !(await group.isLaneEmpty())) await immediate();
    expect(sentIds()).toEqual([]);
    await client.del(keys.sending(newest.endpointId, newest.eventId));
    while (!(await group.isLaneEmpty())) await immediate();
    expect(sentIds()).toEqual([newest.eventId]);
  });

  it('goes in place of one that has its turn in another shard while it is under way', async () => {
    const { redis, client, older, newest, name, ...group } = await arrangeGroup();
    const { deliveryQueue, placement, shards, other } = splitOver(redis);
    await deliveryQueue.removeIdle([newest]);
    const underWay = await beginElsewhere(redis, other, newest, name);
    await underWay.lanes.markSent(underWay.owned, newest);

    const { start, sentIds } = openProcess(redis, { shards, change: { placement, deliveryQueue } });
    start();
    const laneThere = queueKeysOf(other.prefix).lane(name);
    while ((await client.zcard(laneThere)) === 1 && !(await group.isLaneEmpty())) await immediate();
    await group.noteSuccessOf(newest);
    await underWay.end();
    while (!(await group.isLaneEmpty())) await immediate();
    expect(sentIds()).toEqual([]);
    expect(await group.readRecord(older)).toMatchObject({
      status: 'superseded',
      supersededBy: newest.eventId,
    });
  });

  it('is the last one sent though an older one is requested again elsewhere while it is under way', async () => {
    const { redis, older, newest, name, ...group } = await arrangeGroup();
    const { deliveryQueue, placement, shards, other } = splitOver(redis);
    await deliveryQueue.removeIdle([older, newest]);
    await group.noteSuccessOf(older);
    const underWay = await beginElsewhere(redis, other, newest, name);
    await underWay.lanes.markSent(underWay.owned, newest);
    const request = { requestId: 'rdl_1', trigger: 'manual', requestedAt: systemClock() } as const;
    await deliveryQueue.addRequested([{ ...older, request }]);
    await group.noteSuccessOf(newest);
    await underWay.end();

    const { start, sentIds } = openProcess(redis, { shards, change: { placement, deliveryQueue } });
    start();
    while ((await group.readRecord(older))?.isOpen !== false || !(await group.isLaneEmpty()))
      await immediate();
    expect(sentIds()).toEqual([]);
    // It stays delivered, as it was before.
    expect(await group.readRecord(older)).toMatchObject({ isOpen: false, requestIds: ['rdl_1'] });
  });

  describe('that has ended after it was noted as sent', () => {
    /** The older one is left in the lane. */
    async function arrangeEnded() {
      const { redis, newest, name, ...group } = await arrangeGroup();
      const shard = { prefix: 'bull' };
      const atomic = createAtomic(redis);
      const [{ job }] = await atomic([new RunningJobs(redis, shard, 30_000).take('token')]);
      const lanes = new RunningLanes(redis, shard);
      const owned = { ...newest, lane: name, token: job?.token ?? '', wasHeld: false };
      await lanes.begin(owned, newest.eventId, 'newest');
      await lanes.markSent(owned, newest);
      const end = () => atomic([lanes.end(owned, { eventId: newest.eventId, hasRequest: false }, 'nothing')]);
      return {
        ...group,
        ...{ newest, end },
        async sendRest() {
          const { start, sentIds } = openProcess(redis);
          start();
          while (!(await group.isLaneEmpty())) await immediate();
          return sentIds();
        },
      };
    }

    it('supersedes it, also when only a history has its record', async () => {
      const { older, end, sendRest, readRecord } = await arrangeEnded();
      await end();
      expect(await sendRest()).toEqual([]);
      expect(await readRecord(older)).toMatchObject({ status: 'superseded' });
    });

    it('does not if it was erased before its attempt was recorded', async () => {
      const { older, newest, end, sendRest, deliveryStore } = await arrangeEnded();
      await deliveryStore.append(newest, { kind: 'cancelled', reason: 'payload_erased' });
      await end();
      expect(await sendRest()).toEqual([older.eventId]);
    });

    it('does not if it has failed for good without an attempt', async () => {
      const { older, newest, end, sendRest, jobKeyOf, client } = await arrangeEnded();
      await client.hset(jobKeyOf(newest), 'data', JSON.stringify({ account_id: newest.accountId }));
      await end();
      expect(await sendRest()).toEqual([older.eventId]);
    });
  });

  it('goes before older ones that have come into its lane with jobs of their own', async () => {
    const { redis, client, older, newest, ...group } = await arrangeGroup();
    // As they are once they have joined it.
    const order = `${keys.order(newest.endpointId)}:${newest.line}`;
    const { besideLanes } = buildAdmission({ redis, clock: systemClock });
    await besideLanes.join(newest.endpointId, [older, newest])(client);
    const { start, sentIds } = openProcess(redis);
    start();
    while (!(await group.isLaneEmpty())) await immediate();
    expect(sentIds()).toEqual([newest.eventId]);
    expect(await group.readRecord(older)).toMatchObject({ status: 'superseded' });
    // None that comes later waits for them.
    expect(await client.zrange(order, '0', '-1')).toEqual([]);
  });

  it('does not wait for a clock that was set back to catch up', async () => {
    const { redis, newest, ...group } = await arrangeGroup(3_600_000);
    const { start, sentIds } = openProcess(redis);
    start();
    while (!(await group.isLaneEmpty())) await immediate();
    expect(sentIds()).toEqual([newest.eventId]);
  });

  it('is cancelled when its retention is over, though its window is longer', async () => {
    const { redis, older, newest, ...group } = await arrangeGroup(-1_000, 3_600_000);
    const { start, sentIds } = openProcess(redis, {
      change: { retention: { ...testRetention, ageMs: 3_000 } },
    });
    start();
    while (!(await group.isLaneEmpty())) await immediate();
    expect(sentIds()).toEqual([]);
    for (const each of [older, newest])
      expect(await group.readRecord(each)).toMatchObject({ status: 'cancelled' });
  });

  it('leaves none listed as pending that it has superseded, when it is listed for longer than their records', async () => {
    const retention = { ...testRetention, ageMs: 1_500 };
    const { redis, client, older, newest, ...group } = await arrangeGroup(-1, 1, retention);
    const { endpointStore, eventStore, deliveryStore, readRecord } = group;
    const { accountId, endpointId } = newest;
    const { start } = openProcess(redis, {
      receive: async () => responded(500),
      change: { retention, eventStore, deliveryStore },
    });
    start();
    while ((await readRecord(older))?.status !== 'superseded') await immediate();
    // The list stays for what comes to it.
    while (systemClock() < newest.acceptedAt + retention.ageMs / 2) await immediate();
    await group.add(group.build(systemClock() - older.acceptedAt));
    while ((await readRecord(newest))?.status !== 'cancelled') await immediate();
    while ((await client.exists(keys.delivery(endpointId, older.eventId))) === 1) await immediate();

    expect(await eventStore.findHead(accountId, older.eventId)).toBeDefined();
    const heldDeliveries = new HeldDeliveries(redis, oneShard('bull'));
    const recent = new Recent({ endpointStore, eventStore, deliveryStore, heldDeliveries });
    const listed = async (query: Partial<DeliveryQuery>) =>
      (await recent.listDeliveries({ accountId, ...query }, { limit: 10 })).entries.flatMap(
        ({ row }) => row?.eventId ?? [],
      );
    expect(await listed({ endpointId })).toContain(newest.eventId);
    expect(await listed({ endpointId })).not.toContain(older.eventId);
  });

  const disabled = { status: 'disabled', disabledReason: 'client', whileDisabled: 'discard' } as const;

  it.each([
    ['all are to be sent', {}, []],
    ['in strict order', { ordering: 'strict' }, []],
    ['in batches', { batch: { max_events: 5 } }, []],
    ['without an order', { ordering: 'none' }, []],
    ['by a webhook that was disabled and discards', disabled, []],
    ['all are to be sent, once it was tried in vain', {}, ['http_5xx']],
    ['in batches, once it was tried in vain', { batch: { max_events: 5 } }, ['http_5xx']],
    ['in strict order, once it was tried in vain', { ordering: 'strict' }, ['http_5xx']],
    ['all are to be sent, once its worker has died', {}, ['its worker has died']],
    ['in batches, once its worker has died', { batch: { max_events: 5 } }, ['its worker has died']],
    ['in strict order, once its worker has died', { ordering: 'strict' }, ['its worker has died']],
    ['without an order, once its worker has died', { ordering: 'none' }, ['its worker has died']],
    [
      'in batches without an order, once its worker has died',
      { ordering: 'none', batch: { max_events: 5, max_wait_ms: 60_000 } },
      ['its worker has died'],
    ],
  ] as const)('is the last one of them that is sent, also if by then %s', async (_how, change, failures) => {
    const { redis, client, endpointStore, deliveryStore, older, newest, ...group } = await arrangeGroup();
    const { accountId, endpointId } = newest;
    const changeSettings = () =>
      endpointStore.update(accountId, endpointId, (before) => ({
        ...before,
        coalesce: undefined,
        ...change,
      }));
    const { start, requests, stop } = openProcess(redis, {
      async receive() {
        if (requests.length === 1) await changeSettings();
        return responded(204);
      },
    });
    for (const outcome of failures) {
      // Its worker died before it looked at the older one.
      const [{ job }] = await createAtomic(redis)([
        new RunningJobs(redis, { prefix: 'bull' }, 30_000).take('token'),
      ]);
      const lanes = new RunningLanes(redis, { prefix: 'bull' });
      const owned = { ...newest, lane: group.name, token: job?.token ?? '', wasHeld: false };
      await lanes.begin(owned, newest.eventId, 'newest');
      await lanes.markSent(owned, newest);
      const nextAttemptAt = newest.acceptedAt;
      if (outcome !== 'its worker has died')
        await deliveryStore.append(newest, {
          kind: 'attempted',
          attempt: buildAttempt({ outcome }),
          nextAttemptAt,
        });
      await changeSettings();
      const [{ lock, active, wait }, id] = [createJobKeys('bull', DELIVERIES_QUEUE), laneJobIdOf(group.name)];
      await client.multi().del(lock(id)).lrem(active, 0, id).lpush(wait, id).exec();
    }
    start();
    while (!(await group.isLaneEmpty())) await immediate();
    while ((await group.readRecord(newest))?.isOpen !== false) await immediate();
    await stop();
    expect(requests).toHaveLength(1);
    expect(await group.readRecord(older)).toMatchObject({
      status: 'superseded',
      supersededBy: newest.eventId,
    });
  });

  it.each([
    ['behind a hundred that were requested again', 0, 120, 204],
    ['of which there are hundreds, when it is to be tried again', 480, 0, 500],
  ])(
    'supersedes all older ones before they leave its group, also those %s',
    async (_which, others, requested, firstStatus) => {
      const { redis, client, endpointStore, deliveryStore, older, newest, ...group } = await arrangeGroup();
      const { accountId, endpointId } = newest;
      const save = async (ms: number, count: number) => {
        const events = Array.from({ length: count }, () => group.build(ms));
        await Promise.all(events.map(group.save));
        return events.map(({ id: eventId, acceptedAt }) => ({ ...newest, eventId, acceptedAt }));
      };
      const [again, before] = [await save(-2, requested), await save(-1, others)];
      const ended = { kind: 'superseded', by: newest.eventId } as const;
      for (const each of again) await deliveryStore.append(each, ended);
      const request = { requestId: 'rdl_1', trigger: 'manual', requestedAt: systemClock() } as const;
      const queue = new DeliveryQueue(redis, oneShard('bull'));
      await queue.addAll(before);
      await queue.addRequested(again.map((each) => ({ ...each, request })));
      const { start, sentIds } = openProcess(redis, {
        change: { retrySchedule: [1, 60_000] },
        async receive() {
          if (sentIds().length > 1) return responded(204);
          await endpointStore.update(accountId, endpointId, (former) => ({
            ...former,
            coalesce: undefined,
            ordering: 'none',
          }));
          return responded(firstStatus);
        },
      });
      start();
      while (!(await group.isLaneEmpty())) await immediate();
      const { prioritized, active, delayed } = createJobKeys('bull', DELIVERIES_QUEUE);
      while ((await client.exists(prioritized, active, delayed)) > 0) await immediate();
      for (const each of [older, ...before])
        expect(await group.readRecord(each)).toMatchObject({ status: 'superseded' });
      expect(new Set(sentIds())).toEqual(new Set([newest, ...again].map(({ eventId }) => eventId)));
    },
  );

  it('goes behind older ones if its worker has died before its request, and all are to be sent by then', async () => {
    const { redis, client, endpointStore, older, newest, ...group } = await arrangeGroup();
    const [{ job }] = await createAtomic(redis)([
      new RunningJobs(redis, { prefix: 'bull' }, 30_000).take('token'),
    ]);
    const owned = { ...newest, lane: group.name, token: job?.token ?? '', wasHeld: false };
    await new RunningLanes(redis, { prefix: 'bull' }).begin(owned, newest.eventId, 'newest');
    const { accountId, endpointId } = newest;
    await endpointStore.update(accountId, endpointId, (before) => ({ ...before, coalesce: undefined }));
    const [{ lock, active, wait }, id] = [createJobKeys('bull', DELIVERIES_QUEUE), laneJobIdOf(group.name)];
    await client.multi().del(lock(id)).lrem(active, 0, id).lpush(wait, id).exec();
    const { start, sentIds } = openProcess(redis);
    start();
    while (!(await group.isLaneEmpty())) await immediate();
    expect(sentIds()).toEqual([older.eventId, newest.eventId]);
  });

  it('supersedes none that is redelivered once all are to be sent', async () => {
    const { redis, endpointStore, older, newest, ...group } = await arrangeGroup();
    const { accountId, endpointId } = newest;
    const { start, sentIds } = openProcess(redis, {
      async receive() {
        if (sentIds().length > 1) return responded(204);
        await group.add(group.build(2));
        await endpointStore.update(accountId, endpointId, (before) => ({ ...before, coalesce: undefined }));
        const ended = { kind: 'superseded', by: newest.eventId } as const;
        await group.deliveryStore.append(older, ended);
        await group.deliveryStore.append(older, {
          kind: 'requested',
          requestId: 'rdl_1',
          trigger: 'manual',
          requestedAt: systemClock(),
        });
        return responded(204);
      },
    });
    start();
    while (!(await group.isLaneEmpty())) await immediate();
    expect(sentIds().slice(0, 2)).toEqual([newest.eventId, older.eventId]);
  });

  it('leaves its place to one that came after it, once its request could not be sent', async () => {
    const { redis, older, newest, ...group } = await arrangeGroup();
    const deliveryQueue = new DeliveryQueue(redis, oneShard('bull'));
    await deliveryQueue.removeIdle([older]);
    const newer = group.build(2);
    const { start, sentIds } = openProcess(redis, {
      async receive() {
        if (sentIds().length > 1) return responded(204);
        await group.add(newer);
        return { kind: 'unsent', error: 'The proxy is down.' };
      },
    });
    start();
    while (!(await group.isLaneEmpty())) await deliveryQueue.promote(newest.endpointId, [newest.eventId]);
    expect(sentIds()).toEqual([newest.eventId, newer.id]);
    expect(await group.readRecord(newest)).toMatchObject({
      status: 'superseded',
      supersededBy: newer.id,
    });
  });
});

it('keeps its place behind earlier events when it becomes an entry again, though the clock was set back between them', async () => {
  const { url, endpointStore, client, eventStore, deliveryStore } = await arrange();
  const redis = connect(url);
  const endpoint = buildEndpoint({ ordering: 'strict' });
  await endpointStore.create(endpoint);
  const { accountId, id: endpointId } = endpoint;
  const now = systemClock();
  const first = buildEvent({ accountId, acceptedAt: now });
  const second = buildEvent({ accountId, acceptedAt: now - 60_000 });
  const { deliveryQueue, besideLanes } = buildAdmission({ redis, clock: systemClock });
  const place = { line: undefined, isNew: true };
  for (const { id: eventId, acceptedAt, ...event } of [first, second]) {
    await eventStore.save({ id: eventId, acceptedAt, ...event })(client);
    await deliveryStore.enlistAll(buildNewDeliveries(eventId, [endpointId], acceptedAt))(client);
    await besideLanes.join(endpointId, [{ eventId, acceptedAt, ...place }])(client);
  }
  for (const { id: eventId } of [second, first])
    await deliveryQueue.addAll([{ accountId, endpointId, eventId }]);
  const { start, sentIds } = openProcess(redis);
  start();
  while (sentIds().length < 2) await immediate();
  expect(sentIds()).toEqual([first.id, second.id]);
});

describe('in one request', () => {
  type Where = 'in the lane' | 'beside it' | 'not yet';

  /** Events of a webhook: entries of its lane, deliveries with jobs of their own beside it, and some that are still to come. */
  async function arrangeLane(given: Parameters<typeof buildEndpoint>[0], where: readonly Where[]) {
    const arranged = await arrange();
    const { url, endpointStore, client, eventStore, deliveryStore } = arranged;
    const endpoint = buildEndpoint({ batch: { max_events: 5 }, ...given });
    await endpointStore.create(endpoint);
    const { accountId, id: endpointId } = endpoint;
    const begunAt = systemClock() - 1_000;
    const group = 'a';
    const line = lineOf(endpoint, group);
    const events = where.map((_, i) => buildEvent({ accountId, group, acceptedAt: begunAt + i }));
    const deliveries = events.map(({ id: eventId, acceptedAt }) => ({
      ...{ accountId, endpointId, eventId, acceptedAt, line },
      ...{ isInLane: true, isInBatches: endpoint.ordering === 'none' },
    }));
    for (const event of events) {
      await eventStore.save(event)(client);
      await deliveryStore.enlistAll(buildNewDeliveries(event.id, [endpointId], event.acceptedAt))(client);
    }
    const redis = connect(url);
    const { deliveryQueue, besideLanes } = buildAdmission({ redis, clock: systemClock });
    const placed = (place: Where) => deliveries.filter((_, i) => where[i] === place);
    await besideLanes.join(endpointId, placed('beside it'))(client);
    await deliveryQueue.addAll(placed('in the lane'));
    const name = laneNameOf(endpointId, line);
    const lane = queueKeysOf('bull').lane(name);
    return {
      ...{ client, redis, accountId, events, deliveryStore },
      /** Adds the one at a place, to the lane or with a job of its own. */
      async add(place: number, isInLane: boolean): Promise<void> {
        if (!isInLane) await besideLanes.join(endpointId, deliveries.slice(place, place + 1))(client);
        await deliveryQueue.addAll(deliveries.slice(place, place + 1).map((one) => ({ ...one, isInLane })));
      },
      /** As if a worker had died that took the job of the lane and read nothing. */
      async takeOver(): Promise<void> {
        const { base } = createJobKeys('bull', DELIVERIES_QUEUE);
        const { attemptsStarted, stalledCount } = jobFields;
        await client.hset(base + laneJobIdOf(name), { [attemptsStarted]: 1, [stalledCount]: 1 });
      },
      /** As the check for stalled jobs does once its worker has died. */
      async putLaneBack(): Promise<void> {
        const [{ lock, active, wait }, id] = [createJobKeys('bull', DELIVERIES_QUEUE), laneJobIdOf(name)];
        await client.multi().del(lock(id)).lrem(active, 0, id).lpush(wait, id).exec();
      },
      async untilLaneIsEmpty(): Promise<void> {
        while ((await client.exists(lane)) > 0) await immediate();
      },
      /** The places of the events in each request. */
      sentIn: (requests: readonly DeliveryRequest[]) =>
        requests.map(({ body }) =>
          (JSON.parse(body) as { data: { id: string }[] }).data.map(({ id }) =>
            events.findIndex((event) => event.id === id),
          ),
        ),
    };
  }

  it.each(['strict', 'group'] as const)(
    'go those that are older than the first delivery with a job of its own, and no others: %s',
    async (ordering) => {
      const where = ['in the lane', 'in the lane', 'beside it', 'in the lane', 'in the lane'] as const;
      const { redis, add, untilLaneIsEmpty, sentIn } = await arrangeLane({ ordering }, where);
      const { start, requests } = openProcess(redis);
      start();
      while (requests.length === 0) await immediate();
      await add(2, false);
      await untilLaneIsEmpty();
      expect(sentIn(requests)[0]).toEqual([0, 1]);
      expect(sentIn(requests).flat()).toEqual([0, 1, 2, 3, 4]);
    },
  );

  it('go all where they need not wait for each other, whatever has jobs of its own', async () => {
    const where = ['in the lane', 'in the lane', 'beside it', 'in the lane'] as const;
    const { redis, untilLaneIsEmpty, sentIn } = await arrangeLane({}, where);
    const { start, requests } = openProcess(redis);
    start();
    await untilLaneIsEmpty();
    while (requests.length === 0) await immediate();
    expect(sentIn(requests)).toEqual([[0, 1, 3]]);
  });

  it.each(['looks for older events', 'sends it'] as const)(
    'goes none behind an older event that is to be fanned out, also when its worker dies while it %s',
    async (when) => {
      const where = ['in the lane', 'not yet', 'in the lane'] as const;
      const arranged = await arrangeLane({ ordering: 'strict' }, where);
      const { client, redis, accountId, events, add, putLaneBack, untilLaneIsEmpty, sentIn } = arranged;
      const [, { id, acceptedAt }] = events as [unknown, ReturnType<typeof buildEvent>];
      const pushed = { id, accountId, type: 'a.b', body: '{}', acceptedAt };
      await new EventQueue(client, oneShard('bull')).add(pushed);
      const { oldestEvents } = buildAdmission({ redis, clock: systemClock });
      const death = new EventEmitter();
      const die = async () => {
        const isTestOver = once(death, 'end of the test');
        death.emit('dead');
        await isTestOver;
        throw new Error('It is dead.');
      };
      const dying = openProcess(redis, {
        receive: die,
        change: {
          oldestEvents: withMethods(oldestEvents, {
            async hasOlder(event: Parameters<typeof oldestEvents.hasOlder>[0]) {
              return when === 'sends it' ? await oldestEvents.hasOlder(event) : await die();
            },
          }),
        },
      });
      const isDead = once(death, 'dead');
      dying.start();
      await isDead;
      await putLaneBack();
      await add(1, true);
      await client.del(createJobKeys('bull', EVENTS_QUEUE).wait);
      const { start, requests } = openProcess(redis);
      start();
      await untilLaneIsEmpty();
      death.emit('end of the test');
      expect(sentIn(dying.requests)).toEqual(when === 'sends it' ? [[0]] : []);
      expect(sentIn(requests)).toEqual([[0], [1, 2]]);
    },
  );

  it.each([
    ['', true],
    [', with a job of its own', false],
  ])(
    'goes none behind an older event that is fanned out between the look at the lane and that at older events%s',
    async (_how, isInLane) => {
      const where = ['in the lane', 'not yet', 'in the lane'] as const;
      const { redis, add, untilLaneIsEmpty, sentIn } = await arrangeLane({ ordering: 'strict' }, where);
      const { oldestEvents } = buildAdmission({ redis, clock: systemClock });
      const { start, requests } = openProcess(redis, {
        change: {
          oldestEvents: withMethods(oldestEvents, {
            async hasOlder(event: Parameters<typeof oldestEvents.hasOlder>[0]) {
              await add(1, isInLane);
              return await oldestEvents.hasOlder(event);
            },
          }),
        },
      });
      start();
      await untilLaneIsEmpty();
      expect(sentIn(requests)).toEqual([[0], [1, 2]]);
    },
  );

  it('goes none before one that was written to since a worker who took them over has read it', async () => {
    const where = ['in the lane', 'in the lane', 'in the lane'] as const;
    const arranged = await arrangeLane({ ordering: 'strict' }, where);
    const { redis, events, deliveryStore, takeOver, untilLaneIsEmpty, sentIn } = arranged;
    await takeOver();
    let isChanged = true;
    const { start, requests } = openProcess(redis, {
      change: {
        deliveryStore: withMethods(deliveryStore, {
          async readWithLength(...of: Parameters<typeof deliveryStore.readWithLength>) {
            const read = await deliveryStore.readWithLength(...of);
            if (of[1] !== events[1]?.id || !isChanged) return read;
            isChanged = false;
            return { ...read, length: read.length + 1 };
          },
        }),
      },
    });
    start();
    await untilLaneIsEmpty();
    expect(sentIn(requests)).toEqual([[0], [1, 2]]);
  });
});

describe('in a Cluster, where a record, the end of its job and the next job come one after the other', () => {
  const shards = oneShard(CLUSTER_QUEUE_PREFIX);

  /** A Cluster of one node. */
  async function startCluster() {
    const folder = mkdtempSync(join(tmpdir(), 'webhooks-cluster-'));
    willClose({ close: () => rmSync(folder, { recursive: true, force: true }) });
    const bus = ['--cluster-enabled', 'yes', '--cluster-port', String(await findClosedPort())];
    const { url } = willClose(await startRedisServer([...bus, '--dir', folder]));
    const admin = new Redis(url);
    await admin.config('SET', 'cluster-announce-ip', '127.0.0.1');
    await admin.cluster('ADDSLOTSRANGE', 0, 16_383);
    while (!(await admin.cluster('INFO')).includes('cluster_state:ok'));
    admin.disconnect();
    return { url, clusterUrl: url.replace('redis:', 'redis+cluster:') };
  }

  it('delivers each once, and reads for itself what it needs', async () => {
    const { url, clusterUrl } = await startCluster();
    const { addDelivery, untilGone, readRecord } = await arrange(url, shards);
    const { start, sentIds } = openProcess(connect(clusterUrl), { shards });
    const deliveries = [await addDelivery(), await addDelivery(), await addDelivery()];
    start();
    await untilGone(...deliveries);
    expect(sentIds()).toEqual(deliveries.map(({ eventId }) => eventId));
    for (const delivery of deliveries) {
      expect(await readRecord(delivery)).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
    }
  });

  it.each([
    ['before the attempt is recorded: it is made again', 0, 2],
    ['after the record, before the end of the job', 2, 1],
    ['after the end of the job, before the next one', 3, 1],
  ])(
    'loses nothing, and sends nothing that is on record, when the worker dies %s',
    async (_when, stepsDone, times) => {
      const { url, clusterUrl } = await startCluster();
      const { addDelivery, untilGone, readRecord, endLock } = await arrange(url, shards);
      const redis = connect(clusterUrl);
      const death = new EventEmitter();
      const dying = openProcess(redis, {
        shards,
        change: {
          atomic: buildAtomic(async (steps) => {
            const isRecord = steps.length === 4;
            if (!isRecord) return await atomicOneByOne(redis)(steps);
            await atomicOneByOne(redis)(steps.slice(0, stepsDone));
            const isTestOver = once(death, 'end of the test');
            death.emit('dead');
            await isTestOver;
            throw new Error('It is dead.');
          }),
        },
      });
      const isDead = once(death, 'dead');
      const [first, second] = [await addDelivery(), await addDelivery()];
      dying.start();
      await isDead;
      await endLock(first);
      const next = openProcess(connect(clusterUrl), { shards, change: { lockDurationMs: 400 } });
      next.start();
      await untilGone(first, second);
      const sent = [...dying.sentIds(), ...next.sentIds()].toSorted();
      const expected = [...Array.from({ length: times }, () => first.eventId), second.eventId].toSorted();
      expect(sent).toEqual(expected);
      for (const delivery of [first, second]) {
        expect(await readRecord(delivery)).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
      }
      death.emit('end of the test');
    },
  );
});

it.each(['none', 'strict'] as const)(
  'sends a batch whole when a request brings some of it forward, with the order %s',
  async (ordering) => {
    const { url, addDelivery, endpointStore, bringForward, readRecord } = await arrange();
    const endpoint = buildEndpoint({ ordering, batch: { max_events: 3, max_wait_ms: 60_000 } });
    await endpointStore.create(endpoint);
    let isUp = false;
    const { start, requests } = openProcess(connect(url), {
      receive: async () => responded(isUp ? 204 : 503),
    });
    const deliveries: NewDelivery[] = [];
    for (let i = 0; i < 3; i += 1) deliveries.push(await addDelivery(endpoint));
    const read = () => Promise.all(deliveries.map(readRecord));
    start();
    while ((await read()).some((record) => record?.attempts.length !== 1));
    expect(requests).toHaveLength(1);
    isUp = true;
    const first = deliveries[0] as NewDelivery;
    while ((await bringForward(first)) === 'ending');
    while ((await readRecord(first))?.status !== 'delivered');
    expect(requests).toHaveLength(2);
    const [before, again] = requests;
    expect(again?.headers['webhook-id']).toBe(before?.headers['webhook-id']);
    expect(again?.body).toBe(before?.body);
  },
);

it.each(['none', 'strict'] as const)(
  'counts each delivery of a batch that a replay has sent, however many pages it is on, with the order %s',
  async (ordering) => {
    const { url, client, addDelivery, endpointStore, eventStore, deliveryStore, readRecord } =
      await arrange();
    const endpoint = buildEndpoint({ ordering, batch: { max_events: 3, max_wait_ms: 60_000 } });
    await endpointStore.create(endpoint);
    let isUp = false;
    const { start, requests } = openProcess(connect(url), {
      receive: async () => responded(isUp ? 204 : 503),
    });
    const deliveries: NewDelivery[] = [];
    for (let i = 0; i < 3; i += 1) deliveries.push(await addDelivery(endpoint));
    const read = () => Promise.all(deliveries.map(readRecord));
    start();
    while ((await read()).some((record) => record?.attempts.length !== 1));
    isUp = true;
    const { accountId, id: endpointId } = endpoint;
    const createdAt = systemClock();
    const range = { since: 0, until: createdAt + 60_000 };
    // One delivery at a time.
    const order = buildReplayOrder({ accountId, endpointId, mode: 'pending', createdAt, ...range, rate: 1 });
    const { deliveryQueue, heldDeliveries, besideLanes } = buildAdmission({
      redis: client,
      clock: systemClock,
    });
    const stores = { endpointStore, eventStore, deliveryStore, heldDeliveries, besideLanes };
    const history = new WholeHistory(new Recent(stores));
    const acting = {
      ...stores,
      history,
      deliveryQueue,
      atomic: createAtomic(client),
      clock: systemClock,
      emit: () => {},
    };
    const replayStore = new ReplayStore(client, 60_000);
    await replayStore.create(order);
    const redelivery = new Redelivery(fake<RedeliveryParts>(acting));
    const replays = new Replays(fake<ReplaysParts>({ ...acting, replayStore, redelivery }));
    while ((await replayStore.find(order.id))?.enqueued === 0) await replays.step(order);
    while ((await read()).some((record) => record?.status !== 'delivered'));
    while ((await replays.step(order)).kind !== 'done');
    expect(requests).toHaveLength(2);
    expect(await replayStore.find(order.id)).toMatchObject({ status: 'done', found: 3, enqueued: 3 });
    expect(await replayStore.listSent(order.id, 10)).toHaveLength(3);
  },
);
