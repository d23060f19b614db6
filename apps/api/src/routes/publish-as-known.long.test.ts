import { keywordQuickWin } from '@hookferry/core/accounts/event-types/built-in';
import { AccountStore } from '@hookferry/core/accounts/redis-account-store';
import { ApiKeyStore } from '@hookferry/core/accounts/redis-api-key-store';
import type { AccountId, ApiKey } from '@hookferry/core/domain/account';
import { keys } from '@hookferry/core/domain/keys';
import { EndpointStore } from '@hookferry/core/endpoints/redis-endpoint-store';
import type { Environment } from '@hookferry/core/platform/settings';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { buildEndpoint } from '@hookferry/core/testing/build-endpoint';
import { createClosables } from '@hookferry/core/testing/closables';
import { startRedisProxy } from '@hookferry/core/testing/redis-proxy';
import { type RedisServer, startRedisServer } from '@hookferry/core/testing/redis-server';
import { openTestRedis, type TestRedis } from '@hookferry/core/testing/test-redis';
import { testSealer } from '@hookferry/core/testing/test-sealer';
import { uniqueEndpointId, uniqueEventId } from '@hookferry/core/testing/unique-ids';
import request, { type Response, type Test } from 'supertest';
import { readAcceptedEvents } from '../testing/read-accepted-events';
import { readProblem } from '../testing/read-problem';
import { startApi, startTestApi, type TestApi, untilReady } from '../testing/start-test-api';

const { name: type, example: data } = keywordQuickWin;
const EVENT = { type, data };
const REVOKED = { status: 401, code: 'unauthenticated' };

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

interface Publisher {
  readonly url: string;
  readonly key: string;
  readonly accountId: AccountId;
  readonly record: ApiKey;
}

const post = ({ url, key }: Publisher, path: string, body: object): Test =>
  request(url).post(path).set('authorization', `Bearer ${key}`).send(body);
const publish = (publisher: Publisher, body: object = EVENT): Test => post(publisher, '/v1/events', body);

/** A key whose account this process knows: another process can change both behind its back. */
async function arrangeKnown(
  change: Partial<Pick<ApiKey, 'accountId' | 'scopes' | 'expiresAt'>> = {},
  { url, redis }: Pick<TestApi, 'url' | 'redis'> = api,
) {
  const { key, record } = buildApiKey(change);
  const elsewhere = {
    apiKeyStore: new ApiKeyStore(redis.client),
    accountStore: new AccountStore(redis.client),
    endpointStore: new EndpointStore(redis.client, testSealer),
  };
  await elsewhere.accountStore.create({ id: record.accountId, createdAt: record.createdAt });
  await elsewhere.apiKeyStore.save(record);
  const publisher: Publisher = { url, key, record, accountId: record.accountId };
  expect((await publish(publisher)).status).toBe(202);
  return { ...publisher, elsewhere, revoke: () => elsewhere.apiKeyStore.remove(record) };
}

const storedOf = ({ accountId }: Publisher, of: TestApi = api) => readAcceptedEvents(of, accountId);

/** The commands that clients sent while `work` ran, without those within scripts and of this test. */
async function commandsDuring({ client }: TestRedis, work: () => Promise<unknown>): Promise<string[]> {
  const monitor = await client.monitor();
  const commands: string[] = [];
  try {
    monitor.on('monitor', (_time: string, [name = '', ...args]: string[], source: string) => {
      if (source !== 'lua') commands.push([name, ...args].join(' '));
    });
    await work();
    const seen = new Promise((resolve) =>
      monitor.on('monitor', (_time: string, [, text]: string[]) => text === 'the end' && resolve(undefined)),
    );
    await client.echo('the end');
    await seen;
  } finally {
    monitor.disconnect();
  }
  return commands
    .map((command) => command.split(' ')[0]?.toLowerCase() ?? '')
    .filter((name) => name !== 'echo');
}

/** Of three times: what the process looks for now and then may come in between. */
async function fewestCommandsDuring(redis: TestRedis, work: () => Promise<unknown>): Promise<string[]> {
  const runs: string[][] = [];
  for (let i = 0; i < 3; i += 1) runs.push(await commandsDuring(redis, work));
  return runs.toSorted((a, b) => a.length - b.length)[0] ?? [];
}

describe('a publish by a key and an account that the process knows', () => {
  describe('without a limit of the rate, which asks Redis now and then', () => {
    // Of its own: MONITOR shows what all clients of a server send.
    let server: RedisServer;
    let unlimited: TestApi;
    beforeAll(async () => {
      server = await startRedisServer();
      unlimited = await startTestApi({ RATE_LIMIT: 'off', ACCOUNT_RATE_LIMIT: 'off' }, server.url);
    });
    afterAll(async () => {
      await unlimited.close();
      await server.close();
    });

    it.each([
      ['of one event', '/v1/events', EVENT],
      ['of a batch', '/v1/events/batch', { events: Array.from({ length: 50 }, () => EVENT) }],
    ])('%s sends one command to Redis', async (_of, path, body) => {
      const publisher = await arrangeKnown({}, unlimited);
      await post(publisher, path, body);
      const commands = await fewestCommandsDuring(unlimited.redis, () => post(publisher, path, body));
      expect(commands).toEqual(['evalsha']);
    });

    it('under an id of its own sends three: its claim, the event, its mark', async () => {
      const publisher = await arrangeKnown({}, unlimited);
      await publish(publisher, { ...EVENT, id: uniqueEventId() });
      const commands = await fewestCommandsDuring(unlimited.redis, () =>
        publish(publisher, { ...EVENT, id: uniqueEventId() }),
      );
      expect(commands).toEqual(['evalsha', 'evalsha', 'evalsha']);
    });
  });

  describe('whose key was revoked elsewhere', () => {
    it.each<[string, (publisher: Publisher) => Test]>([
      ['an event', (publisher) => publish(publisher)],
      ['an event with an id', (publisher) => publish(publisher, { ...EVENT, id: 'own' })],
      ['an aimed event', (publisher) => publish(publisher, { ...EVENT, webhook_ids: [uniqueEndpointId()] })],
      ['an event with an Idempotency-Key', (publisher) => publish(publisher).set('idempotency-key', 'a')],
      ['a batch', (publisher) => post(publisher, '/v1/events/batch', { events: [EVENT, EVENT] })],
      ['a batch of refused events', (publisher) => post(publisher, '/v1/events/batch', { events: [{}] })],
      ['an event of an unknown type', (publisher) => publish(publisher, { type: 'no.such', data })],
      ['an event without data', (publisher) => publish(publisher, { type })],
      [
        'no JSON',
        (publisher) =>
          publish(publisher)
            .serialize(() => '{')
            .type('json'),
      ],
      [
        'another media type',
        (publisher) =>
          publish(publisher)
            .type('text/plain')
            .serialize(() => 'x'),
      ],
      ['an invalid Idempotency-Key', (publisher) => publish(publisher).set('idempotency-key', 'a b')],
    ])('is refused with 401 for %s, and nothing is stored', async (_what, send) => {
      const publisher = await arrangeKnown();
      await publisher.revoke();
      const before = await api.redis.client.dbsize();
      const answer = await send(publisher);
      expect(readProblem(answer)).toEqual(REVOKED);
      expect(answer.headers).not.toHaveProperty('ratelimit');
      expect(await storedOf(publisher)).toHaveLength(1);
      // What was counted for rates expires meanwhile.
      expect(await api.redis.client.dbsize()).toBeLessThanOrEqual(before);
    });

    it('leaves the publishes of others alone that came in the same moment', async () => {
      const [revoked, other] = [await arrangeKnown(), await arrangeKnown()];
      await revoked.revoke();
      const senders = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? revoked : other));
      const answers = await Promise.all(
        senders.map((sender) => publish(sender).then(({ status }) => status)),
      );
      expect(answers).toEqual(senders.map((sender) => (sender === revoked ? 401 : 202)));
      expect(await storedOf(revoked)).toHaveLength(1);
      expect(await storedOf(other)).toHaveLength(11);
    });
  });

  it('is refused with 403 when its key has lost the scope elsewhere', async () => {
    const publisher = await arrangeKnown();
    await publisher.elsewhere.apiKeyStore.save({ ...publisher.record, scopes: ['webhooks:read'] });
    expect(readProblem(await publish(publisher))).toEqual({ status: 403, code: 'insufficient_scope' });
    expect(await storedOf(publisher)).toHaveLength(1);
  });

  it('is refused with 401 once its key has expired', async () => {
    const publisher = await arrangeKnown({ expiresAt: Date.now() + 1_000 });
    let answer: Response;
    do answer = await publish(publisher);
    while (answer.status === 202);
    expect(readProblem(answer)).toEqual(REVOKED);
    expect(Date.now()).toBeGreaterThanOrEqual(publisher.record.expiresAt ?? 0);
  });

  it('gets to an endpoint that was added elsewhere just before, and to none that was removed', async () => {
    const publisher = await arrangeKnown();
    const { accountId, elsewhere } = publisher;
    const endpoint = buildEndpoint({ accountId, events: ['*'] });
    const deliveries = () => api.redis.client.zcard(keys.deliveries(endpoint.id));
    await elsewhere.endpointStore.create(endpoint, 10);
    expect((await publish(publisher)).status).toBe(202);
    expect(await deliveries()).toBe(1);
    await publish(publisher);
    expect(await deliveries()).toBe(2);
    await elsewhere.endpointStore.remove(accountId, endpoint.id);
    expect((await publish(publisher)).status).toBe(202);
    expect(await deliveries()).toBe(2);
    expect(await storedOf(publisher)).toHaveLength(4);
  });

  it('is refused once the account stores as much as it may, and taken again when it may store more', async () => {
    const publisher = await arrangeKnown();
    const { accountId, elsewhere } = publisher;
    await elsewhere.accountStore.change(accountId, { quotaBytes: 1, weight: undefined });
    expect(readProblem(await publish(publisher))).toEqual({ status: 409, code: 'quota_exceeded' });
    expect(await storedOf(publisher)).toHaveLength(1);
    await elsewhere.accountStore.change(accountId, { quotaBytes: null, weight: undefined });
    expect((await publish(publisher)).status).toBe(202);
  });

  it('of an operator for another account goes to that account', async () => {
    const operator = await arrangeKnown({ accountId: 'default' as AccountId });
    const { accountId } = await arrangeKnown();
    for (const events of [2, 3]) {
      expect((await publish(operator).set('x-account-id', accountId)).status).toBe(202);
      expect(await readAcceptedEvents(api, accountId)).toHaveLength(events);
    }
  });
});

async function startOwnApi(environment: Environment = {}) {
  const redis = willClose(await openTestRedis());
  const proxy = willClose(await startRedisProxy(redis.url));
  const own = willClose(await startApi({ REDIS_URL: proxy.url, ...environment }));
  await untilReady(own.url);
  return { url: own.url, redis, proxy };
}

describe('a publish as known', () => {
  it('counts a revoked key as a failure of its address', async () => {
    const own = await startOwnApi({ AUTH_FAILURE_LIMIT: '2/1h' });
    const publisher = await arrangeKnown({}, own);
    await publisher.revoke();
    const statuses = [];
    for (let i = 0; i < 3; i += 1) statuses.push((await publish(publisher)).status);
    expect(statuses).toEqual([401, 401, 429]);
  });

  it('takes nothing of the rate limit for a request that is refused as nobody’s', async () => {
    const own = await startOwnApi({ RATE_LIMIT: '2/1h' });
    const publisher = await arrangeKnown({}, own);
    await publisher.revoke();
    expect((await publish(publisher)).status).toBe(401);
    await publisher.elsewhere.apiKeyStore.save(publisher.record);
    expect((await publish(publisher)).status).toBe(202);
    expect(readProblem(await publish(publisher))).toEqual({ status: 429, code: 'rate_limited' });
    await publisher.revoke();
    expect(readProblem(await publish(publisher))).toEqual(REVOKED);
  });

  it('is answered with 503 while Redis is silent, as if nothing were known', async () => {
    const own = await startOwnApi();
    const publisher = await arrangeKnown({}, own);
    own.proxy.freeze();
    const startedAt = Date.now();
    const answer = await publish(publisher);
    expect(readProblem(answer)).toEqual({ status: 503, code: 'storage_unavailable' });
    expect(answer.headers).not.toHaveProperty('ratelimit');
    // One time-out of a command, not two.
    expect(Date.now() - startedAt).toBeLessThan(2_500);
    own.proxy.thaw();
  });

  it.each([
    ['before Redis has the script', 'hold'],
    ['after Redis has run the script', 'swallowAnswerTo'],
  ] as const)('is stored as a whole or not at all when the connection breaks %s', async (_when, cut) => {
    const own = await startOwnApi();
    const publisher = await arrangeKnown({}, own);
    const endpoint = buildEndpoint({ accountId: publisher.accountId, events: ['*'] });
    await publisher.elsewhere.endpointStore.create(endpoint, 10);
    await publish(publisher);
    const broken = own.proxy[cut]('keyword');
    const { status } = await publish(publisher);
    await broken;
    expect([202, 503]).toContain(status);
    const { client } = own.redis;
    const events = await client.zcard(keys.events(publisher.accountId));
    expect(await client.zcard(keys.deliveries(endpoint.id))).toBe(events - 1);
    expect(await client.zcard('bull:deliveries:prioritized')).toBe(events - 1);
    expect(events).toBeGreaterThanOrEqual(status === 202 ? 3 : 2);
    expect(events).toBeLessThanOrEqual(3);
  });
});
