import { Authentication } from '@hookferry/core/accounts/authentication';
import { keywordQuickWin } from '@hookferry/core/accounts/event-types/built-in';
import { ApiKeyStore } from '@hookferry/core/accounts/redis-api-key-store';
import { stopsOf } from '@hookferry/core/core/capability';
import { DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import { queueKeysOf } from '@hookferry/core/domain/keys';
import { EndpointStore } from '@hookferry/core/endpoints/redis-endpoint-store';
import type { RedisClient } from '@hookferry/core/platform/redis-connect';
import { untilRedisAnswers } from '@hookferry/core/platform/redis-probe';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { buildEndpoint } from '@hookferry/core/testing/build-endpoint';
import { createClosables } from '@hookferry/core/testing/closables';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { type RedisProxy, startRedisProxy } from '@hookferry/core/testing/redis-proxy';
import { startRedisServer } from '@hookferry/core/testing/redis-server';
import { openTestRedis, type TestRedis } from '@hookferry/core/testing/test-redis';
import { testSealer } from '@hookferry/core/testing/test-sealer';
import { uniqueAccountId } from '@hookferry/core/testing/unique-ids';
import { withMethods } from '@hookferry/core/testing/with-methods';
import { Redis } from 'ioredis';
import request from 'supertest';
import { createApp } from './app';
import { capabilities } from './capabilities';
import { readApiConfig } from './config';
import { openContext } from './context';
import { type Belongings, saveBelongings, unknownIds } from './testing/belongings';
import { readProblem } from './testing/read-problem';
import { pathTo, routeCases } from './testing/route-cases';
import { startApi, startTestApi, untilReady } from './testing/start-test-api';

// Two seconds is what a client has to wait at most; the rest is for a busy machine.
const PATIENCE_MS = 20_000;

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

/**
 * Once the key is known these look at nothing before they answer; a stream says on its way what is the
 * matter.
 */
const NEEDS_KEY_ALONE = [
  '/v1/stream',
  '/v1/filters/try',
  '/v1/transformations/try',
  '/v1/transformations/templates',
];

/** What is in memory is told whether Redis is there or not. */
const needsRedis = routeCases.filter(({ path }) => path !== '/v1/source-addresses');

/** What every route answers, all being asked at the same time. */
function askEverything(
  app: Parameters<typeof request>[0],
  key: string,
  ids: Belongings = unknownIds(),
  routes: typeof routeCases = needsRedis,
) {
  return Promise.all(
    routes.map(async (route) => {
      const path = pathTo(route, ids);
      const test = request(app)[route.method](path).set('authorization', `Bearer ${key}`);
      const response = await (route.body === undefined ? test : test.send(route.body));
      const { status, code } = readProblem(response);
      return { method: route.method, path, status, code, retryAfter: response.headers['retry-after'] };
    }),
  );
}

const unavailable = (ids: Belongings = unknownIds(), routes: typeof routeCases = needsRedis) =>
  routes.map((route) => ({
    method: route.method,
    path: pathTo(route, ids),
    status: 503,
    code: 'storage_unavailable',
    retryAfter: '1',
  }));

async function startProxy(redis: TestRedis): Promise<RedisProxy> {
  return willClose(await startRedisProxy(redis.url));
}

async function startOverProxy() {
  const redis = willClose(await openTestRedis());
  const proxy = await startProxy(redis);
  const api = willClose(await startApi({ REDIS_URL: proxy.url }));
  await untilReady(api.url);
  const { key, record } = buildApiKey();
  await new ApiKeyStore(redis.client).save(record);
  return { api, proxy, key, redis, accountId: record.accountId };
}

describe.each([
  ['refuses connections', (proxy: RedisProxy) => proxy.close()],
  ['is silent', async (proxy: RedisProxy) => proxy.freeze()],
])('when Redis %s under a running API', (_what, takeAway) => {
  it(
    'every route answers soon: with 503, and when to try again',
    async () => {
      const { api, proxy, key } = await startOverProxy();
      const ids = unknownIds();
      await takeAway(proxy);
      expect(await askEverything(api.url, key, ids)).toEqual(unavailable(ids));
      const logged = needsRedis.filter(({ path }) => path !== '/v1/status');
      expect(api.signals.named('request.failed').length).toBe(logged.length);
    },
    PATIENCE_MS,
  );

  it(
    'the process is alive, not ready, and still shows its metrics',
    async () => {
      const { api, proxy } = await startOverProxy();
      await takeAway(proxy);
      const probes = ['/healthz', '/readyz', '/metrics'].map((path) => request(api.url).get(path));
      const [alive, ready, metrics] = await Promise.all(probes);
      expect([alive, ready, metrics].map((response) => response?.status)).toEqual([200, 503, 200]);
      expect(ready?.body).toMatchObject({ status: 'not ready', reason: 'redis_unavailable' });
      expect(metrics?.text).not.toMatch(/^webhooks_redis_refuses_writes /m);
    },
    PATIENCE_MS,
  );

  it('a request that needs no look into Redis is refused as ever', async () => {
    const { api, proxy } = await startOverProxy();
    await takeAway(proxy);
    expect(readProblem(await request(api.url).get('/v1/webhooks'))).toMatchObject({ status: 401 });
    expect(readProblem(await request(api.url).get('/v1/nothing'))).toMatchObject({ status: 404 });
  });
});

it(
  'serves again as soon as Redis is back',
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

it(
  'a change of the ordering that loses Redis between two steps says 503, and goes through when it is sent again',
  async () => {
    const { api, proxy, key, redis, accountId } = await startOverProxy();
    const endpoint = buildEndpoint({ accountId });
    await new EndpointStore(redis.client, testSealer).create(endpoint);
    const change = () =>
      request(api.url)
        .patch(`/v1/webhooks/${endpoint.id}`)
        .set('authorization', `Bearer ${key}`)
        .send({ ordering: 'strict' });
    const held = proxy.hold(queueKeysOf('bull').held(endpoint.id));
    expect(readProblem(await change())).toEqual({ status: 503, code: 'storage_unavailable' });
    await held;
    expect(api.signals.named('request.failed')).toMatchObject([{ error: { code: 'storage_unavailable' } }]);
    await untilReady(api.url);
    expect((await change()).status).toBe(200);
  },
  PATIENCE_MS,
);

// A process that knows its keys, but whose other data is out of reach: what the handlers themselves do then.
describe('when Redis falls silent after a key was found', () => {
  async function openAppOver(keysRedis: RedisClient, url: string) {
    const settings = { REDIS_URL: url, RATE_LIMIT: 'off', INSECURE_UNENCRYPTED_SECRETS: 'true' };
    const { context, parts } = openContext(readApiConfig(settings), () => {});
    const { redis, redisClock, redisProbe } = context;
    await untilRedisAnswers(redisProbe);
    await redisClock.start();
    const knownKeys = new ApiKeyStore(keysRedis);
    const apiKeyStore = withMethods(context.apiKeyStore, { find: (id: string) => knownKeys.find(id) });
    const core = { ...context, authentication: new Authentication({ ...context, apiKeyStore }) };
    const opened = capabilities.map((each) => each.open(core));
    willClose({
      close: async () => {
        await Promise.all([...stopsOf(opened), ...parts].map((part) => part.stop()));
        await redisClock.stop();
        redis.disconnect();
      },
    });
    return createApp(core, opened);
  }

  it(
    'every route answers soon: with 503, and when to try again',
    async () => {
      const redis = willClose(await openTestRedis());
      const proxy = await startProxy(redis);
      const { key, record } = buildApiKey({ accountId: DEFAULT_ACCOUNT });
      await new ApiKeyStore(redis.client).save(record);
      // The operator's own account is refused to be erased without asking anybody.
      const ids = { ...(await saveBelongings(redis, record.accountId)), account: uniqueAccountId() };
      const app = await openAppOver(redis.client, proxy.url);

      proxy.freeze();
      const routes = needsRedis.filter(({ path }) => !NEEDS_KEY_ALONE.includes(path));
      expect(await askEverything(app, key, ids, routes)).toEqual(unavailable(ids, routes));
    },
    PATIENCE_MS,
  );
});

it('is not ready, and says why, while Redis answers and takes no write', async () => {
  const server = willClose(await startRedisServer());
  const api = willClose(await startTestApi({}, server.url));
  const shown = async () => {
    const [ready, metrics] = await Promise.all(['/readyz', '/metrics'].map((at) => request(api.url).get(at)));
    const [, refuses] = /^webhooks_redis_refuses_writes (\S+)$/m.exec(metrics?.text ?? '') ?? [];
    return { status: ready?.status, body: ready?.body as unknown, refuses };
  };
  expect(await shown()).toEqual({ status: 200, body: { status: 'ready' }, refuses: '0' });
  const { key } = await api.issueKey();

  await server.fillUp();
  let full = await shown();
  while (full.status === 200) full = await shown();
  expect(full).toEqual({
    status: 503,
    body: {
      status: 'not ready',
      reason: 'redis_refuses_writes',
      detail: expect.stringContaining('OOM command not allowed'),
    },
    refuses: '1',
  });
  const published = await request(api.url)
    .post('/v1/events')
    .auth(key, { type: 'bearer' })
    .send({ type: keywordQuickWin.name, data: keywordQuickWin.example });
  expect(readProblem(published)).toEqual({ status: 503, code: 'storage_unavailable' });

  await server.makeRoom();
  await untilReady(api.url);
  expect((await shown()).refuses).toBe('0');
});

it('says that nothing is stored while no replica confirms it, whatever the request, and knows it afterwards', async () => {
  const server = willClose(await startRedisServer());
  const { port } = new URL(server.url);
  const replica = willClose(await startRedisServer(['--replicaof', `127.0.0.1 ${port}`]));
  const client = new Redis(replica.url);
  willClose({ close: () => client.disconnect() });
  while (!(await client.info('replication')).includes('link_status:up'));
  const api = willClose(await startTestApi({ REDIS_CONFIRMED_BY: '1' }, server.url));
  await untilReady(api.url);
  const { key } = await api.issueKey();
  const ask = (method: 'get' | 'post', path: string, body?: object) =>
    request(api.url)[method](path).auth(key, { type: 'bearer' }).send(body);
  const event = { type: keywordQuickWin.name, data: keywordQuickWin.example };
  const webhook = { url: 'https://receiver.example.com/hook', events: [event.type] };
  expect((await ask('post', '/v1/events', { ...event, id: 'first' })).status).toBe(202);

  await client.replicaof('NO', 'ONE');
  const refused = { status: 503, code: 'storage_unavailable' };
  const second = { ...event, id: 'second' };
  expect(readProblem(await ask('post', '/v1/events', second))).toEqual(refused);
  // It is stored already, and still no replica has it.
  expect(readProblem(await ask('post', '/v1/events', second))).toEqual(refused);
  expect(readProblem(await ask('post', '/v1/events/batch', { events: [second] }))).toEqual(refused);
  expect(readProblem(await ask('post', '/v1/webhooks', webhook))).toEqual(refused);
  expect((await ask('get', '/v1/webhooks')).status).toBe(200);
  const ready = await request(api.url).get('/readyz');
  expect(ready.body).toMatchObject({ reason: 'redis_refuses_writes' });
  expect((await request(api.url).get('/metrics')).text).toMatch(
    /^webhooks_redis_confirmation_duration_seconds_count\{result="too_few"\} [1-9]/m,
  );

  await client.replicaof('127.0.0.1', port);
  await untilReady(api.url);
  expect((await ask('post', '/v1/events', second)).status).toBe(200);
});

it('lets nobody in before Redis answers, and knows the bootstrap key from the first request on', async () => {
  const proxy = await startProxy(willClose(await openTestRedis()));
  proxy.freeze();
  const { key } = buildApiKey();
  const port = await findClosedPort();
  const starting = startApi({ REDIS_URL: proxy.url, BOOTSTRAP_API_KEY: key, API_PORT: String(port) });
  const list = () => request(`http://127.0.0.1:${port}`).get('/v1/webhooks').auth(key, { type: 'bearer' });
  await expect(list()).rejects.toMatchObject({ code: 'ECONNREFUSED' });

  proxy.thaw();
  willClose(await starting);
  expect((await list()).status).toBe(200);
});

describe('an API that is told to stop', () => {
  it('is not ready any more, answers still, and ends each connection with its answer', async () => {
    const redis = willClose(await openTestRedis());
    const { key, record } = buildApiKey();
    await new ApiKeyStore(redis.client).save(record);
    const api = await startApi({ REDIS_URL: redis.url, DRAIN_DELAY: '2s' });
    const ask = (path: string) => request(api.url).get(path).auth(key, { type: 'bearer' });
    expect((await ask('/v1/webhooks').set('connection', 'keep-alive')).headers.connection).toBe('keep-alive');

    const closing = api.close();
    expect(await ask('/readyz')).toMatchObject({ status: 503, body: { reason: 'stopping' } });
    const answer = await ask('/v1/webhooks').set('connection', 'keep-alive');
    expect([answer.status, answer.headers.connection]).toEqual([200, 'close']);
    await closing;
    await expect(ask('/healthz')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});
