import { randomUUID } from 'node:crypto';
import type { SendResult } from '../domain/transport';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { UNPROVEN_A_MINUTE, UnprovenRequests } from '../endpoints/verification/redis-unproven-requests';
import { responded } from '../testing/arrange-delivery';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId, uniqueEndpointId } from '../testing/unique-ids';
import { AccessTokens } from './access-tokens';
import type { OAuth2Endpoint } from './fetch-token';
import { AccessTokenStore } from './redis-access-token-store';

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

const START = 1_700_000_000_000;
const signal = new AbortController().signal;

const granted = (token: string, seconds = 3_600) =>
  responded(200, {
    body: JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: seconds }),
  });

/** An authorization server, and the processes that ask it for the token of one endpoint. */
function arrange() {
  let now = START;
  const waiting: ((result: SendResult) => void)[] = [];
  const asked = { count: 0 };
  const signals = recordSignals();
  const endpoint: OAuth2Endpoint = {
    id: uniqueEndpointId(),
    accountId: uniqueAccountId(),
    auth: {
      type: 'oauth2',
      changedAt: 1,
      tokenUrl: 'https://a.example.com/',
      clientId: 'c',
      clientSecret: 's',
    },
  };
  const process = () =>
    new AccessTokens({
      accessTokenStore: new AccessTokenStore(redis.client, testSealer),
      unprovenRequests: new UnprovenRequests(redis.client),
      endpointStore: new EndpointStore(redis.client, testSealer),
      transport: (_request, abortSignal) =>
        new Promise((resolve) => {
          asked.count += 1;
          waiting.push(resolve);
          abortSignal.addEventListener('abort', () =>
            resolve({ kind: 'failed', reason: 'network_error', error: 'interrupted', timings: {} }),
          );
        }),
      userAgent: 'hooks',
      attemptTimeoutMs: 1_000,
      newTokenId: randomUUID,
      random: () => 0,
      clock: () => now,
      emit: signals.listen,
    });
  return {
    endpoint,
    asked,
    signals,
    process,
    pass(ms: number) {
      now += ms;
    },
    async untilAsked(count: number) {
      while (asked.count < count) await new Promise((resolve) => setImmediate(resolve));
    },
    /** The server answers the request that has waited for longest, once there is one. */
    async answer(result: SendResult) {
      while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
      waiting.shift()?.(result);
    },
    find: (tokens: AccessTokens, abort = signal) => tokens.find(endpoint, abort),
  };
}

it('asks once for all attempts of all processes', async () => {
  const { process, find, answer, asked } = arrange();
  const [one, other] = [process(), process()];
  const finding = [one, one, other, other, one].map((tokens) => find(tokens));
  await answer(granted('t1'));
  const found = await Promise.all(finding);
  expect(found.map((each) => (each.kind === 'token' ? each.token.token : each.kind))).toEqual(
    Array(5).fill('t1'),
  );
  expect(asked.count).toBe(1);
});

it('remembers a token for a moment, without a look at Redis', async () => {
  const { process, find, answer, endpoint, pass } = arrange();
  const tokens = process();
  const finding = find(tokens);
  await answer(granted('t1'));
  await finding;
  await redis.client.del(`access-token:{${endpoint.id}}`);
  expect(await find(tokens)).toMatchObject({ token: { token: 't1' } });
  pass(2_001);
  const next = find(tokens);
  await answer(granted('t2'));
  expect(await next).toMatchObject({ token: { token: 't2' } });
});

it('fetches the next one before the present one expires, and lets nobody wait for it', async () => {
  const { process, find, answer, pass, asked } = arrange();
  const [one, other] = [process(), process()];
  const first = find(one);
  await answer(granted('t1', 100));
  await first;
  pass(85_000);
  const refreshing = find(one);
  while (asked.count < 2) await new Promise((resolve) => setImmediate(resolve));
  expect(await find(other)).toMatchObject({ token: { token: 't1' } });
  await answer(granted('t2', 100));
  expect(await refreshing).toMatchObject({ token: { token: 't2' } });
});

it('goes on with the present token when the next one can not be had', async () => {
  const { process, find, answer, pass, signals } = arrange();
  const tokens = process();
  const first = find(tokens);
  await answer(granted('t1', 100));
  await first;
  pass(85_000);
  const refreshing = find(tokens);
  await answer(responded(503));
  expect(await refreshing).toMatchObject({ kind: 'token', token: { token: 't1' } });
  expect(signals.named('token.requested').map(({ result }) => result)).toEqual(['granted', 'refused']);
});

it('asks before each use for a token that would end on the way', async () => {
  const { process, find, answer, pass, asked, untilAsked } = arrange();
  const [one, other] = [process(), process()];
  for (const [i, tokens] of [one, one, other].entries()) {
    const finding = find(tokens);
    await untilAsked(i + 1);
    pass(1_000);
    await answer(granted(`t${i}`, 6));
    expect(await finding).toMatchObject({ token: { token: `t${i}`, expiresAt: START + i * 1_000 + 6_000 } });
  }
  expect(asked.count).toBe(3);
});

it('lets no attempt have a token that ends within ten seconds, even if there is no other', async () => {
  const { process, find, answer, pass } = arrange();
  const tokens = process();
  const first = find(tokens);
  await answer(granted('t1', 100));
  await first;
  pass(90_000);
  const next = find(tokens);
  await answer(responded(503));
  expect(await next).toMatchObject({ kind: 'failed' });
});

it('has no token when that had expired before it came', async () => {
  const { process, find, answer, pass, untilAsked } = arrange();
  const finding = find(process());
  await untilAsked(1);
  pass(6_000);
  await answer(granted('t1', 6));
  expect(await finding).toMatchObject({ kind: 'failed', failure: { reason: 'expired' } });
});

it('asks no server for an endpoint that was deleted while it waited for another process', async () => {
  const { process, find, answer, asked, untilAsked } = arrange();
  const [one, other] = [process(), process()];
  const first = find(one);
  await untilAsked(1);
  const second = find(other);
  await answer(granted('t1', 6));
  await first;
  expect(await second).toEqual({ kind: 'interrupted' });
  expect(asked.count).toBe(1);
});

it('tells one attempt of a failure; the others pause', async () => {
  const { process, find, answer, asked } = arrange();
  const [one, other] = [process(), process()];
  const finding = [one, one, other].map((tokens) => find(tokens));
  await answer(responded(500));
  const kinds = (await Promise.all(finding)).map(({ kind }) => kind);
  expect(kinds.toSorted()).toEqual(['failed', 'paused', 'paused']);
  expect(asked.count).toBe(1);
});

it('lets an attempt go whose process has to end, and the others have the token', async () => {
  const { process, find, answer } = arrange();
  const tokens = process();
  const leaving = new AbortController();
  const finding = [find(tokens, leaving.signal), find(tokens)];
  leaving.abort();
  expect(await finding[0]).toEqual({ kind: 'interrupted' });
  await answer(granted('t1'));
  expect(await finding[1]).toMatchObject({ kind: 'token' });
});

it('breaks off when it is closed, and another process asks at once', async () => {
  const { process, find, answer, asked, signals } = arrange();
  const [one, other] = [process(), process()];
  const finding = find(one);
  while (asked.count < 1) await new Promise((resolve) => setImmediate(resolve));
  one.close();
  expect(await finding).toEqual({ kind: 'interrupted' });
  expect(signals.named('token.requested')).toEqual([]);
  await answer(granted('nobody hears it'));
  const next = find(other);
  await answer(granted('t1'));
  expect(await next).toMatchObject({ token: { token: 't1' } });
});

it('asks no server that has proved nothing more often than any other request may', async () => {
  const { process, endpoint, asked, answer } = arrange();
  const verification = { method: 'challenge', status: 'unverified', round: 1, tries: 0 } as const;
  const unverified = () => ({ ...endpoint, id: uniqueEndpointId(), verification });
  const { ofAccountAtHost } = UNPROVEN_A_MINUTE;
  for (let each = 0; each < ofAccountAtHost; each += 1) {
    const finding = process().find(unverified(), signal);
    await answer(granted('one'));
    expect(await finding).toMatchObject({ kind: 'token' });
  }
  const refused = await process().find(unverified(), signal);
  expect(refused).toEqual({ kind: 'paused', until: expect.any(Number) });
  expect(refused.kind === 'paused' && refused.until).toBeGreaterThan(START + 50_000);
  const finding = process().find({ ...endpoint, id: uniqueEndpointId() }, signal);
  await answer(granted('another'));
  expect(await finding).toMatchObject({ kind: 'token' });
  expect(asked.count).toBe(ofAccountAtHost + 1);
});
