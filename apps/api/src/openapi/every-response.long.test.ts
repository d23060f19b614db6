import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type AccountId, DEFAULT_ACCOUNT, idOfKey } from '@hookferry/core/domain/account';
import { deadLetterIdOf } from '@hookferry/core/domain/dead-letter';
import type { DeliveryParts } from '@hookferry/core/domain/delivery';
import { oneShard } from '@hookferry/core/domain/queues';
import { DeliveryStore } from '@hookferry/core/events/redis-delivery-store';
import { DeadLetterStore } from '@hookferry/core/queue/bullmq-dead-letter-store';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { buildAttempt } from '@hookferry/core/testing/build-attempt';
import { startRedisProxy } from '@hookferry/core/testing/redis-proxy';
import { testRetention } from '@hookferry/core/testing/test-retention';
import { uniqueAccountId, uniqueEventId } from '@hookferry/core/testing/unique-ids';
import { QUEUE_PREFIX } from '@hookferry/producer/contract';
import request, { type Response, type Test } from 'supertest';
import { routes } from '../routes/index';
import { readExample, shapeOf } from '../testing/answer-example';
import { type Belongings, saveBelongings } from '../testing/belongings';
import { pathTo, type RouteCase, routeCases } from '../testing/route-cases';
import { startApi, startTestApi, type TestApi } from '../testing/start-test-api';
import { answerExamples, Components, describeRoute } from './operation';

let api: TestApi;
let limited: TestApi;
let withoutRedis: Awaited<ReturnType<typeof startApi>>;
let accountId: AccountId;
let own: Belongings;
beforeAll(async () => {
  api = await startTestApi();
  limited = await startTestApi({ RATE_LIMIT: '1/1h', AUTH_FAILURE_LIMIT: '1/1h', TRUST_PROXY: '1' });
  const proxy = await startRedisProxy(api.redis.url);
  withoutRedis = await startApi({ REDIS_URL: proxy.url });
  await proxy.close();
});
beforeEach(async () => {
  accountId = uniqueAccountId();
  own = await saveBelongings(api.redis, accountId);
});
// Here each answer is compared with the description: see `checkAnswers`.
afterAll(async () => {
  await Promise.all([api, limited, withoutRedis].map((each) => each.close()));
});

interface Sending {
  readonly to?: Pick<TestApi, 'url'>;
  readonly key?: string | undefined;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, unknown>> | string | undefined;
  readonly path?: string;
}

function send(route: RouteCase, sending: Sending = {}): Test {
  const { to = api, key, query = '', headers = {}, path = pathTo(route, own) } = sending;
  const body = 'body' in sending ? sending.body : route.body;
  const agent = request(to.url);
  const test = agent[route.method](path + query).set(headers);
  if (key !== undefined) test.set('authorization', `Bearer ${key}`);
  return body === undefined ? test : test.send(body);
}

async function newKey({ operatorOnly }: RouteCase): Promise<string> {
  return (await api.issueKey({ accountId: operatorOnly ? DEFAULT_ACCOUNT : accountId })).key;
}

async function succeed(route: RouteCase, status: number): Promise<Response> {
  const key = await newKey(route);
  // An export of no attempts has no line.
  if (route.path === '/v1/deliveries/export') await recordAttempt();
  if (route.path === '/v1/listeners' && status === 201) {
    return send(route, { key, body: { ...route.body, name: 'another' } });
  }
  if (status === route.status) return send(route, { key });
  if (route.scope === 'none') return send(route, { body: { code: await newCode(key) } });
  if (status === 201) return putAnew(route, key);
  if (route.path === '/v1/listeners') {
    await send(route, { key });
    return send(route, { key });
  }
  // The second time an event comes under an id of its publisher.
  const body = { ...route.body, id: uniqueEventId() };
  await send(route, { key, body });
  return send(route, { key, body });
}

/** What a PUT makes, where it replaces nothing. */
async function putAnew(route: RouteCase, key: string): Promise<Response> {
  if (route.path.startsWith('/v1/event-types/')) {
    return send(route, { key, path: `/v1/event-types/another.t${uniqueEventId().slice(4)}` });
  }
  const path = pathTo(route, own);
  await request(api.url).delete(path).set('authorization', `Bearer ${key}`);
  return send(route, { key, path });
}

async function recordAttempt(): Promise<void> {
  const [attempt, store] = [buildAttempt(), new DeliveryStore(api.redis.client, testRetention)];
  const parts = { eventId: own.event, endpointId: own.webhook } as DeliveryParts;
  await store.append(parts, { kind: 'attempted', attempt, nextAttemptAt: undefined });
}

async function newCode(key: string): Promise<string> {
  const link = await request(api.url).post('/v1/portal-sessions').set('authorization', `Bearer ${key}`);
  return new URL(link.body.url).hash.replace('#code=', '');
}

async function conflict(route: RouteCase): Promise<Response> {
  const key = await newKey(route);
  if (route.creates) {
    const headers = { 'idempotency-key': uniqueEventId() };
    await send(route, { key, headers });
    return send(route, { key: await newKey(route), headers });
  }
  if (route.path.includes('/transformation')) {
    const operator = await newKey({ ...route, operatorOnly: true });
    const account = request(api.url).patch(`/v1/accounts/${accountId}`);
    await account.set('authorization', `Bearer ${operator}`).send({ quota_bytes: 1 });
    return send(route, { key });
  }
  if (route.of === 'deadLetter')
    return send(route, { key, path: pathTo(route, await claimForTheOther(route)) });
  if (route.path.startsWith('/v1/event-types/'))
    return send(route, { key, path: '/v1/event-types/keyword.quick_win' });
  if (route.path === '/v1/listeners') {
    const webhook = { url: 'https://receiver.example.com', events: ['*'], uid: 'listener.taken' };
    await request(api.url).post('/v1/webhooks').set('authorization', `Bearer ${key}`).send(webhook);
    return send(route, { key, body: { name: 'taken' } });
  }
  if (route.of === 'listener') return send(route, { key, body: { ...route.body, stream: 'other' } });
  if (route.of === 'apiKey') return revokeLast(route);
  if (route.of === 'scheduledEvent')
    return send(route, { key, path: pathTo(route, { ...own, scheduledEvent: own.event }) });
  if (route.of === 'unconfirmed') {
    return send(route, { key, path: pathTo(route, { ...own, unconfirmed: own.contact }) });
  }
  if (route.of === 'contact') {
    return send(route, { key, path: pathTo(route, { ...own, contact: own.unconfirmed }) });
  }
  if (route.method === 'delete') return send(route, { key, path: `/v1/accounts/${DEFAULT_ACCOUNT}` });
  const uid = uniqueEventId();
  if (!route.path.endsWith('/verify')) await send(route, { key, body: { uid } });
  const other = await request(api.url)
    .post('/v1/webhooks')
    .set('authorization', `Bearer ${key}`)
    .send({ url: 'https://receiver.example.com', events: ['*'] });
  const path = `/v1/webhooks/${other.body.id}`;
  // Of which nobody asked for a proof.
  if (route.path.endsWith('/verify')) return send(route, { key, path: `${path}/verify` });
  return send(route, { key, body: { uid }, path });
}

/** Of an account that has one key. */
async function revokeLast(route: RouteCase): Promise<Response> {
  const { key } = await api.issueKey();
  return send(route, { key, path: `/v1/api-keys/${idOfKey(key)}` });
}

/** A delivery's job that failed for good, and that somebody is about to do the other thing with. */
async function claimForTheOther({ method }: RouteCase): Promise<Belongings> {
  const { client } = api.redis;
  const jobId = uniqueEventId();
  await client.hset(`${QUEUE_PREFIX}:deliveries:${jobId}`, { name: 'd', data: '{}' });
  await client.zadd(`${QUEUE_PREFIX}:deliveries:failed`, 1, jobId);
  const store = new DeadLetterStore(client, oneShard(QUEUE_PREFIX), Date.now);
  const deadLetter = deadLetterIdOf('deliveries', jobId);
  await store.claim(deadLetter, method === 'delete' ? 'retry' : 'drop');
  return { ...own, deadLetter };
}

/** How every route is brought to each error that it is described with. */
const PROVOKE: Readonly<Record<number, (route: RouteCase) => Promise<Response>>> = {
  400: async (route) =>
    send(route, {
      key: await newKey(route),
      headers: { 'content-type': 'application/json' },
      body: '{',
    }),
  401: async (route) => send(route),
  403: async (route) =>
    send(route, { key: (await api.issueKey()).key, headers: { 'x-account-id': uniqueAccountId() } }),
  404: async (route) =>
    send(route, {
      ...(route.scope === 'none' && { path: '/v1/event-types/no.such/schema' }),
      key: (await api.issueKey({ accountId: DEFAULT_ACCOUNT })).key,
      headers: { 'x-account-id': uniqueAccountId() },
    }),
  207: async (route) => {
    const { body } = route;
    if (route.status === 207) return send(route, { key: await newKey(route) });
    const event = { specversion: '1.0', id: 'e', source: '/s', ...body };
    const headers = { 'content-type': 'application/cloudevents-batch+json' };
    return send(route, { key: await newKey(route), headers, body: JSON.stringify([event, {}]) });
  },
  304: async (route) => send(route, { headers: { 'if-none-match': '*' } }),
  409: conflict,
  412: async (route) => send(route, { key: await newKey(route), headers: { 'if-match': '"other"' } }),
  413: async (route) =>
    send(route, {
      key: await newKey(route),
      body: { padding: 'p'.repeat(route.maxBodyBytes ?? 6_000) },
    }),
  415: async (route) =>
    send(route, { key: await newKey(route), headers: { 'content-type': 'text/plain' }, body: '{}' }),
  422: async (route) => send(route, { key: await newKey(route), query: '?colour=red' }),
  429: async (route) => {
    if (route.scope === 'none') return guessTwice(route);
    const { key } = await limited.issueKey();
    await send(route, { to: limited, key });
    return send(route, { to: limited, key });
  },
  503: async (route) => send(route, { to: withoutRedis, key: buildApiKey().key }),
};

async function guessTwice(route: RouteCase): Promise<Response> {
  const headers = { 'x-forwarded-for': '192.0.2.7' };
  await send(route, { to: limited, headers });
  return send(route, { to: limited, headers });
}

const described = routes.flatMap((route, index) => {
  const { responses } = describeRoute(route, new Components());
  const statuses = Object.keys(responses as object).filter((status) => status !== 'default');
  // `app.test.ts` holds that both are in the same order.
  const routeCase = routeCases[index] as RouteCase;
  return statuses.map(
    (status) =>
      [`${route.method.toUpperCase()} ${route.path}`, Number(status), routeCase, route.operationId] as const,
  );
});

// `npm run generate` writes them by what is answered here.
const answered: Record<string, Record<string, unknown>> = {};
afterAll(async () => {
  if (process.env.WRITE_EXAMPLES !== '1') return;
  await writeFile(join(__dirname, 'answer-examples.json'), `${JSON.stringify(answered, undefined, 2)}\n`);
});

it.each(described)(
  '%s answers %i as it is described; if only the example differs, run: npm run generate',
  async (_name, status, route, operationId) => {
    const provoke = PROVOKE[status];
    const response = provoke === undefined ? await succeed(route, status) : await provoke(route);
    expect(response.status).toBe(status);
    const example = status < 300 ? readExample(response) : undefined;
    if (example !== undefined) answered[operationId] = { ...answered[operationId], [status]: example };
    const shown = process.env.WRITE_EXAMPLES === '1' ? example : answerExamples[operationId]?.[status];
    expect(shapeOf(example)).toEqual(shapeOf(shown));
  },
);
