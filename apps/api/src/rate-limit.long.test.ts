import { keywordQuickWin } from '@hookferry/core/accounts/event-types/built-in';
import { ApiKeyStore } from '@hookferry/core/accounts/redis-api-key-store';
import type { AccountId } from '@hookferry/core/domain/account';
import type { Environment } from '@hookferry/core/platform/settings';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { createClosables } from '@hookferry/core/testing/closables';
import { openTestRedis } from '@hookferry/core/testing/test-redis';
import { uniqueAccountId } from '@hookferry/core/testing/unique-ids';
import request from 'supertest';
import { readProblem } from './testing/read-problem';
import { startApi, untilReady } from './testing/start-test-api';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

/** Several API processes on one Redis, and keys for them. */
async function startApis(environment: Environment, processes = 1) {
  const redis = willClose(await openTestRedis());
  const apiKeyStore = new ApiKeyStore(redis.client);
  const start = async () => {
    const api = willClose(await startApi({ REDIS_URL: redis.url, ...environment }));
    await untilReady(api.url);
    return api;
  };
  const apis = await Promise.all(Array.from({ length: processes }, start));
  return {
    apis,
    async issueKey(accountId?: AccountId) {
      const { key, record } = buildApiKey(accountId === undefined ? {} : { accountId });
      await apiKeyStore.save(record);
      return key;
    },
  };
}

const list = (url: string, key: string) =>
  request(url).get('/v1/webhooks').set('authorization', `Bearer ${key}`);

const LONG = { RATE_LIMIT: '3/1h' };

describe('the rate limit', () => {
  it('serves as many requests of a key as it may make, tells it how it stands, and refuses the next with 429', async () => {
    const {
      apis: [api],
      issueKey,
    } = await startApis(LONG);
    const [url, key] = [api?.url ?? '', await issueKey()];
    for (const left of [2, 1, 0]) {
      const { status, headers } = await list(url, key);
      expect({ status, policy: headers['ratelimit-policy'], limit: headers.ratelimit }).toEqual({
        status: 200,
        policy: '"default";q=3;w=3600',
        limit: expect.stringMatching(new RegExp(`^"default";r=${left};t=3(5\\d\\d|600)$`)),
      });
    }
    const refused = await list(url, key);
    expect(readProblem(refused)).toEqual({ status: 429, code: 'rate_limited' });
    expect(refused.headers['ratelimit-policy']).toBe('"default";q=3;w=3600');
    expect(refused.headers.ratelimit).toMatch(/^"default";r=0;t=3(5\d\d|600)$/);
    expect(refused.headers['retry-after']).toBe(/t=(\d+)/.exec(refused.headers.ratelimit ?? '')?.[1]);
  });

  it('serves the key again when the window is over', async () => {
    const {
      apis: [api],
      issueKey,
    } = await startApis({ RATE_LIMIT: '1/1s' });
    const [url, key] = [api?.url ?? '', await issueKey()];
    while ((await list(url, key)).status !== 429);
    let answer = await list(url, key);
    while (answer.status !== 200) answer = await list(url, key);
    expect(answer.headers.ratelimit).toBe('"default";r=0;t=1');
  });

  it('counts what a key asks of several processes together, and each key apart', async () => {
    const { apis, issueKey } = await startApis({ RATE_LIMIT: '5/1h' }, 2);
    const key = await issueKey();
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, at) => list(apis[at % 2]?.url ?? '', key)),
    );
    const statuses = answers.map(({ status }) => status).toSorted((one, other) => one - other);
    expect(statuses).toEqual([...Array(5).fill(200), ...Array(7).fill(429)]);
    for (const { url } of apis) expect((await list(url, await issueKey())).status).toBe(200);
  });

  it('counts requests that are refused for something else, and says so there too', async () => {
    const {
      apis: [api],
      issueKey,
    } = await startApis(LONG);
    const [url, key] = [api?.url ?? '', await issueKey()];
    const wrong = () => list(url, key).query({ limit: 'x' });
    for (const left of [2, 1, 0]) {
      const answer = await wrong();
      expect(readProblem(answer).status).toBe(422);
      expect(answer.headers.ratelimit).toContain(`r=${left};`);
    }
    expect(readProblem(await wrong()).status).toBe(429);
  });

  it('takes nothing from a key of which only the id is known', async () => {
    const {
      apis: [api],
      issueKey,
    } = await startApis(LONG);
    const [url, key] = [api?.url ?? '', await issueKey()];
    for (let guess = 0; guess < 5; guess += 1) {
      const { status, headers } = await list(url, `${key.slice(0, 21)}${String(guess).repeat(40)}`);
      expect({ status, limit: headers.ratelimit }).toEqual({ status: 401, limit: undefined });
    }
    expect((await list(url, key)).status).toBe(200);
  });

  it('counts each event of a batch, and serves none of one that is too long for what is left', async () => {
    const {
      apis: [api],
      issueKey,
    } = await startApis({ RATE_LIMIT: '10/1h' });
    const [url, key] = [api?.url ?? '', await issueKey()];
    const publish = (count: number) =>
      request(url)
        .post('/v1/events/batch')
        .set('authorization', `Bearer ${key}`)
        .send({ events: Array(count).fill({ type: 'keyword.quick_win', data: keywordQuickWin.example }) });
    const first = await publish(4);
    expect({ status: first.status, limit: first.headers.ratelimit }).toEqual({
      status: 207,
      limit: expect.stringContaining('r=6;'),
    });
    const tooLong = await publish(7);
    expect(readProblem(tooLong)).toEqual({ status: 429, code: 'rate_limited' });
    // The request itself was one.
    expect(tooLong.headers.ratelimit).toContain('r=5;');
    expect((await publish(5)).status).toBe(207);
    expect((await publish(1)).status).toBe(429);
    expect(api?.signals.named('event.accepted')).toHaveLength(9);
  });

  it('holds for all keys of an account together, and is another one if that is said', async () => {
    for (const [environment, served] of [
      [{}, 5],
      [{ ACCOUNT_RATE_LIMIT: '8/1h' }, 8],
      [{ ACCOUNT_RATE_LIMIT: 'off' }, 10],
    ] as const) {
      const { apis, issueKey } = await startApis({ RATE_LIMIT: '5/1h', ...environment }, 2);
      const accountId = uniqueAccountId();
      const issued = [await issueKey(accountId), await issueKey(accountId)];
      const ask = (at: number) => list(apis[at % 2]?.url ?? '', issued[at % 4 < 2 ? 0 : 1] ?? '');
      const answers = await Promise.all(Array.from({ length: 24 }, (_, at) => ask(at)));
      // A process may have taken a point of the account for a request that its key had none for. The next one spends it,
      // unless the key's last point is with the other process.
      for (let at = 0; at < 4; at += 1) answers.push(await ask(at));
      const count = answers.filter(({ status }) => status === 200).length;
      expect([served - 1, served]).toContain(count);
      expect((await list(apis[0]?.url ?? '', await issueKey())).status).toBe(200);
    }
  });

  it('says that it is the account whose limit was reached', async () => {
    const {
      apis: [api],
      issueKey,
    } = await startApis({ RATE_LIMIT: '5/1h', ACCOUNT_RATE_LIMIT: '2/1h' });
    const accountId = uniqueAccountId();
    const [url, one, other] = [api?.url ?? '', await issueKey(accountId), await issueKey(accountId)];
    for (const key of [one, other]) expect((await list(url, key)).status).toBe(200);
    const refused = await list(url, one);
    expect(readProblem(refused)).toEqual({ status: 429, code: 'rate_limited' });
    expect(refused.headers['ratelimit-policy']).toBe('"default";q=2;w=3600');
    expect(refused.body.detail).toContain('of this account');
  });

  it('can be off', async () => {
    const {
      apis: [api],
      issueKey,
    } = await startApis({ RATE_LIMIT: 'off' });
    const { status, headers } = await list(api?.url ?? '', await issueKey());
    expect({ status, limit: headers.ratelimit }).toEqual({ status: 200, limit: undefined });
  });
});

describe('the limit of failed authentications', () => {
  const AFTER_TWO = { AUTH_FAILURE_LIMIT: '2/1h' };
  const WRONG = `whk_0000000000000000_${'0'.repeat(40)}`;
  const fail = (url: string, forwardedFor?: string) => {
    const test = list(url, WRONG);
    return forwardedFor === undefined ? test : test.set('x-forwarded-for', forwardedFor);
  };

  it('refuses an address that failed too often with 429, but not the keys that are known to be good', async () => {
    const {
      apis: [api],
      issueKey,
    } = await startApis(AFTER_TWO);
    const [url, good, late] = [api?.url ?? '', await issueKey(), await issueKey()];
    await list(url, good);
    for (const _ of [1, 2]) expect(readProblem(await fail(url)).status).toBe(401);
    const refused = await fail(url);
    expect(readProblem(refused)).toEqual({ status: 429, code: 'rate_limited' });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3_000);
    expect((await list(url, good)).status).toBe(200);
    expect((await list(url, late)).status).toBe(429);
  });

  it('does not believe X-Forwarded-For by default, neither there nor in what is announced', async () => {
    const {
      apis: [api],
    } = await startApis(AFTER_TWO);
    for (const from of ['192.0.2.1', '192.0.2.2']) await fail(api?.url ?? '', from);
    expect((await fail(api?.url ?? '', '192.0.2.3')).status).toBe(429);
    const addresses = api?.signals.named('request.completed').map(({ clientAddress }) => clientAddress);
    expect(new Set(addresses)).toEqual(new Set(['127.0.0.1']));
  });

  it.each(['1', '127.0.0.0/8'])(
    'counts by the address that a trusted proxy adds: TRUST_PROXY=%s',
    async (trusted) => {
      const {
        apis: [api],
      } = await startApis({ ...AFTER_TWO, TRUST_PROXY: trusted });
      const url = api?.url ?? '';
      // What stands before the proxy's own addition is the client's invention.
      for (const invented of ['198.51.100.1', '198.51.100.2']) await fail(url, `${invented}, 192.0.2.1`);
      expect((await fail(url, '192.0.2.1')).status).toBe(429);
      expect((await fail(url, '192.0.2.2')).status).toBe(401);
      expect(api?.signals.named('request.completed').at(-1)).toMatchObject({ clientAddress: '192.0.2.2' });
    },
  );
});
