import { DEFAULT_ACCOUNT } from '@webhooks/core/accounts/account';
import { createActFor } from '@webhooks/core/accounts/act-for';
import { createManageAccounts } from '@webhooks/core/accounts/manage-accounts';
import { createRedisAccountStore } from '@webhooks/core/accounts/redis-account-store';
import { createAuthenticate } from '@webhooks/core/api-keys/authenticate';
import { createManageApiKeys } from '@webhooks/core/api-keys/manage-api-keys';
import { newApiKey } from '@webhooks/core/api-keys/new-api-key';
import { createRedisApiKeyStore } from '@webhooks/core/api-keys/redis-api-key-store';
import { createManageDeadLetters } from '@webhooks/core/dead-letters/manage-dead-letters';
import { createBringForward } from '@webhooks/core/deliveries/bring-forward';
import { createCancelDelivery } from '@webhooks/core/deliveries/cancel-delivery';
import { createExportAttempts } from '@webhooks/core/deliveries/export-attempts';
import { createReadDeliveries } from '@webhooks/core/deliveries/read-deliveries';
import { createRedeliver } from '@webhooks/core/deliveries/redeliver';
import { createRedisDeliveryStore } from '@webhooks/core/deliveries/redis-delivery-store';
import { createResend } from '@webhooks/core/deliveries/resend';
import { createDisable } from '@webhooks/core/endpoints/disable';
import { createManageEndpoints } from '@webhooks/core/endpoints/manage-endpoints';
import { createReadHealth } from '@webhooks/core/endpoints/read-health';
import { createRedisEndpointStore } from '@webhooks/core/endpoints/redis-endpoint-store';
import { createRedisHealthStore } from '@webhooks/core/endpoints/redis-health-store';
import { createRedisRemoveEndpoints } from '@webhooks/core/endpoints/redis-remove-endpoints';
import { createRequireKnownFilters } from '@webhooks/core/endpoints/require-known-filters';
import { createResolveEndpoints } from '@webhooks/core/endpoints/resolve-endpoints';
import { newSecret } from '@webhooks/core/endpoints/secret';
import { createTestEndpoint } from '@webhooks/core/endpoints/test-endpoint';
import { createEraseAccount } from '@webhooks/core/erasure/erase-account';
import { createRedisRemainsStore } from '@webhooks/core/erasure/redis-remains-store';
import { createAcceptEvents } from '@webhooks/core/events/accept-events';
import { createErasePayload } from '@webhooks/core/events/erase-payload';
import { createEventTypes } from '@webhooks/core/events/event-types';
import { createReadEvents } from '@webhooks/core/events/read-events';
import { createRedisEventClaimStore } from '@webhooks/core/events/redis-event-claim-store';
import { createRedisEventStore } from '@webhooks/core/events/redis-event-store';
import { createRedisEventTypeStore } from '@webhooks/core/events/redis-event-type-store';
import { createValidateEvent } from '@webhooks/core/events/validate-event';
import { createRedisBreakerStore } from '@webhooks/core/gates/redis-breaker-store';
import { createRedisParkedStore } from '@webhooks/core/gates/redis-parked-store';
import { createRedisRemoveGate } from '@webhooks/core/gates/redis-remove-gate';
import { createRedisTurnStore } from '@webhooks/core/gates/redis-turn-store';
import { createRedisIdempotencyStore } from '@webhooks/core/idempotency/redis-idempotency-store';
import { createBullmqDeadLetterStore } from '@webhooks/core/queue/bullmq-dead-letter-store';
import { BullmqErasureQueue } from '@webhooks/core/queue/bullmq-erasure-queue';
import { BullmqEventQueue } from '@webhooks/core/queue/bullmq-event-queue';
import { BullmqQueuedEvents } from '@webhooks/core/queue/bullmq-queued-events';
import { BullmqReplayQueue } from '@webhooks/core/queue/bullmq-replay-queue';
import { BullmqResendQueue } from '@webhooks/core/queue/bullmq-resend-queue';
import { BullmqWakeQueue } from '@webhooks/core/queue/bullmq-wake-queue';
import { connectRedis, type RedisClient } from '@webhooks/core/redis/redis-connect';
import { createCancelReplay } from '@webhooks/core/replays/cancel-replay';
import { createManageReplays } from '@webhooks/core/replays/manage-replays';
import { createRedisReplayStore } from '@webhooks/core/replays/redis-replay-store';
import { systemClock } from '@webhooks/core/runtime/clock';
import { createNewId } from '@webhooks/core/runtime/ids';
import { buildApiKey } from '@webhooks/core/testing/build-api-key';
import { buildTargetUrlRules } from '@webhooks/core/testing/build-target-url-rules';
import { createClosables } from '@webhooks/core/testing/closables';
import { findClosedPort, startTcpServer } from '@webhooks/core/testing/local-server';
import { type RedisProxy, startRedisProxy } from '@webhooks/core/testing/redis-proxy';
import { openTestRedis, type TestRedis } from '@webhooks/core/testing/test-redis';
import { testSealer } from '@webhooks/core/testing/test-sealer';
import { uniqueAccountId } from '@webhooks/core/testing/unique-ids';
import { Registry } from 'prom-client';
import request from 'supertest';
import { createApp } from './app';
import { createRoutes } from './routes/index';
import { readProblem } from './testing/read-problem';
import { type Belongings, pathTo, routeCases, saveBelongings, unknownIds } from './testing/route-cases';
import { startApi, untilReady } from './testing/start-test-api';

// Two seconds is what a client has to wait at most; the rest is for a busy machine.
const PATIENCE_MS = 5_000;

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

/** What every route answers, all being asked at the same time. */
function askEverything(app: Parameters<typeof request>[0], key: string, ids: Belongings = unknownIds()) {
  return Promise.all(
    routeCases.map(async (route) => {
      const path = pathTo(route, ids);
      const test = request(app)[route.method](path).set('authorization', `Bearer ${key}`);
      const response = await (route.body === undefined ? test : test.send(route.body));
      const { status, code } = readProblem(response);
      return { method: route.method, path, status, code, retryAfter: response.headers['retry-after'] };
    }),
  );
}

const unavailable = (ids: Belongings = unknownIds()) =>
  routeCases.map((route) => ({
    method: route.method,
    path: pathTo(route, ids),
    status: 503,
    code: 'storage_unavailable',
    retryAfter: '1',
  }));

async function startProxy(redis: TestRedis): Promise<RedisProxy> {
  return willClose(await startRedisProxy(redis.url));
}

describe.each([
  ['refuses connections', async () => findClosedPort()],
  ['takes connections and is silent', async () => willClose(await startTcpServer(() => {})).port],
])('while Redis %s', (_what, findPort) => {
  it(
    'every route answers soon: with 503, and when to try again',
    async () => {
      const ids = unknownIds();
      const api = willClose(await startApi({ REDIS_URL: `redis://127.0.0.1:${await findPort()}` }));
      expect(await askEverything(api.url, buildApiKey().key, ids)).toEqual(unavailable(ids));
    },
    PATIENCE_MS,
  );

  it(
    'the process is alive, not ready, and still shows its metrics',
    async () => {
      const api = willClose(await startApi({ REDIS_URL: `redis://127.0.0.1:${await findPort()}` }));
      const probes = ['/healthz', '/readyz', '/metrics'].map((path) => request(api.url).get(path));
      const statuses = (await Promise.all(probes)).map(({ status }) => status);
      expect(statuses).toEqual([200, 503, 200]);
    },
    PATIENCE_MS,
  );

  it('a request that needs no look into Redis is refused as ever', async () => {
    const api = willClose(await startApi({ REDIS_URL: `redis://127.0.0.1:${await findPort()}` }));
    expect(readProblem(await request(api.url).get('/v1/webhooks'))).toMatchObject({ status: 401 });
    expect(readProblem(await request(api.url).get('/v1/nothing'))).toMatchObject({ status: 404 });
  });
});

describe('when Redis falls silent under a running API', () => {
  async function startOverProxy() {
    const redis = willClose(await openTestRedis());
    const proxy = await startProxy(redis);
    const api = willClose(await startApi({ REDIS_URL: proxy.url }));
    await untilReady(api.url);
    const { key, record } = buildApiKey();
    await createRedisApiKeyStore(redis.client).save(record);
    return { api, proxy, key };
  }

  it(
    'every route answers soon: with 503, and when to try again',
    async () => {
      const { api, proxy, key } = await startOverProxy();
      const ids = unknownIds();
      proxy.freeze();
      expect(await askEverything(api.url, key, ids)).toEqual(unavailable(ids));
      expect(api.signals.named('request.failed').length).toBe(routeCases.length);
    },
    PATIENCE_MS,
  );

  it(
    'requests are served again as soon as it is back',
    async () => {
      const { api, proxy, key } = await startOverProxy();
      const list = () => request(api.url).get('/v1/webhooks').set('authorization', `Bearer ${key}`);
      proxy.freeze();
      expect((await list()).status).toBe(503);
      proxy.thaw();
      await untilReady(api.url);
      expect((await list()).status).toBe(200);
    },
    PATIENCE_MS,
  );
});

// A process that knows its keys, but whose other data is out of reach: what the handlers themselves do then.
describe('when Redis falls silent after a key was found', () => {
  function createAppOver(keysRedis: RedisClient, redis: RedisClient) {
    const clock = systemClock;
    const newId = createNewId(clock);
    const emit = () => {};
    const endpointStore = createRedisEndpointStore(redis, testSealer);
    const apiKeyStore = createRedisApiKeyStore(redis);
    const accountStore = createRedisAccountStore(redis);
    const eventTypeStore = createRedisEventTypeStore(redis);
    const eventStore = createRedisEventStore(redis, 60_000);
    const deliveryStore = createRedisDeliveryStore(redis, { ageMs: 60_000, count: 100 });
    const breakerStore = createRedisBreakerStore(redis);
    const parkedStore = createRedisParkedStore(redis, { retentionMs: 60_000, clock });
    const healthStore = createRedisHealthStore(redis, 60_000);
    const wakeQueue = willClose(new BullmqWakeQueue({ redis, prefix: 'bull' }, clock));
    const eventQueue = willClose(new BullmqEventQueue({ redis, prefix: 'bull' }));
    const resendQueue = willClose(new BullmqResendQueue({ redis, prefix: 'bull' }));
    const replayQueue = willClose(new BullmqReplayQueue({ redis, prefix: 'bull' }));
    const erasureQueue = willClose(new BullmqErasureQueue({ redis, prefix: 'bull' }));
    const remainsStore = createRedisRemainsStore(redis);
    const deadLetterStore = willClose(createBullmqDeadLetterStore({ redis, prefix: 'bull' }, clock));
    const replayStore = createRedisReplayStore(redis, 60_000);
    const turnStore = createRedisTurnStore(redis);
    const endpoints = createManageEndpoints({
      endpointStore,
      deliveryStore,
      healthStore,
      breakerStore,
      turnStore,
      requireKnownFilters: createRequireKnownFilters(eventTypeStore),
      removeGate: createRedisRemoveGate(redis),
      wakeQueue,
      newId,
      newSecret,
      maxEndpoints: 500,
      clock,
      disable: createDisable({ endpointStore, clock, emit }),
      raise: () => {},
    });
    const deliveries = createReadDeliveries({ endpointStore, eventStore, deliveryStore, parkedStore });
    const acceptEvents = createAcceptEvents({
      eventQueue,
      eventStore,
      eventClaims: createRedisEventClaimStore(redis, 60_000),
      resolveEndpoints: createResolveEndpoints(endpointStore),
      emit,
      validateEvent: createValidateEvent({ eventTypeStore, maxBytes: 1_024 }),
    });
    const eventTypes = createEventTypes({ eventTypeStore, clock });
    return createApp({
      routes: createRoutes({
        endpoints,
        readHealth: createReadHealth({ healthStore, breakerStore, parkedStore, clock }),
        deliveries,
        exportAttempts: createExportAttempts({ endpointStore, eventStore, deliveryStore, parkedStore }),
        events: createReadEvents({ eventStore, countDeliveries: deliveries.countOfEvent }),
        redeliver: createRedeliver({
          deliveries,
          eventStore,
          ...createResend({ eventStore, deliveryStore, parkedStore, resendQueue, clock, emit }),
          bringForward: createBringForward({ deliveryStore, delayedJobs: resendQueue, clock, emit }),
        }),
        replays: createManageReplays({
          endpointStore,
          replayStore,
          replayQueue,
          clock,
          emit,
        }),
        acceptEvents,
        erasePayload: createErasePayload({
          eventStore,
          deliveryStore,
          queuedEvents: new BullmqQueuedEvents({ redis, prefix: 'bull' }),
          wait: async () => {},
          clock,
          emit,
        }),
        testEndpoint: createTestEndpoint({ endpoints, eventTypes, deliveryStore, acceptEvents }),
        urlRules: buildTargetUrlRules(),
        apiKeys: createManageApiKeys({ apiKeyStore, accountStore, newKey: () => newApiKey(newId), clock }),
        accounts: createManageAccounts({ accountStore, remainsStore, newId, clock }),
        eraseAccount: createEraseAccount({
          accountStore,
          removeEndpoints: createRedisRemoveEndpoints(redis),
          remainsStore,
          erasureQueue,
          clock,
          emit,
        }),
        eventTypes,
        deadLetters: createManageDeadLetters({
          deadLetterStore,
          cancelDelivery: createCancelDelivery({ deliveryStore, turnStore, wakeQueue, clock, emit }),
          cancelReplay: createCancelReplay({ replayStore, clock, emit }),
          emit,
        }),
        clock,
      }),
      probes: { registry: new Registry(), isReady: async () => true },
      authenticate: createAuthenticate({
        apiKeyStore: createRedisApiKeyStore(keysRedis),
        noteUse: () => {},
        clock,
      }),
      actFor: createActFor(accountStore),
      idempotencyStore: createRedisIdempotencyStore(redis),
      rateLimit: undefined,
      trustProxy: 0,
      maxBodyBytes: 8_192,
      hasDocs: false,
      newId,
      clock,
      emit,
    });
  }

  it(
    'every route answers soon: with 503, and when to try again',
    async () => {
      const redis = willClose(await openTestRedis());
      const proxy = await startProxy(redis);
      const { key, record } = buildApiKey({ accountId: DEFAULT_ACCOUNT });
      await createRedisApiKeyStore(redis.client).save(record);
      // The operator's own account is refused to be erased without asking anybody.
      const ids = { ...(await saveBelongings(redis, record.accountId)), account: uniqueAccountId() };
      const client = connectRedis({ url: proxy.url, role: 'answering', name: 'test', emit: () => {} });
      willClose({ close: () => client.disconnect() });
      await new Promise((resolve) => client.once('ready', resolve));
      const app = createAppOver(redis.client, client);

      proxy.freeze();
      expect(await askEverything(app, key, ids)).toEqual(unavailable(ids));
    },
    PATIENCE_MS,
  );
});

it('creates the bootstrap key as soon as Redis is there, and is not ready before', async () => {
  const redis = willClose(await openTestRedis());
  const proxy = await startProxy(redis);
  proxy.freeze();
  const { key } = buildApiKey();
  const api = willClose(await startApi({ REDIS_URL: proxy.url, BOOTSTRAP_API_KEY: key }));
  expect((await request(api.url).get('/readyz')).status).toBe(503);

  proxy.thaw();
  await untilReady(api.url);
  const response = await request(api.url).get('/v1/webhooks').set('authorization', `Bearer ${key}`);
  expect(response.status).toBe(200);
}, 20_000);
