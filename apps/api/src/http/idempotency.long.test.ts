import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { keywordQuickWin } from '@hookferry/core/accounts/event-types/built-in';
import { type AccountId, DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import { keys } from '@hookferry/core/domain/keys';
import { DELIVERIES_QUEUE } from '@hookferry/core/domain/queues';
import { EndpointStore } from '@hookferry/core/endpoints/redis-endpoint-store';
import { openQueue } from '@hookferry/core/queue/bullmq-on-demand-queue';
import { buildEndpoint } from '@hookferry/core/testing/build-endpoint';
import { createClosables } from '@hookferry/core/testing/closables';
import { startRedisProxy } from '@hookferry/core/testing/redis-proxy';
import { testSealer } from '@hookferry/core/testing/test-sealer';
import { uniqueAccountId } from '@hookferry/core/testing/unique-ids';
import { readWaitingIds } from '@hookferry/core/testing/waiting-jobs';
import * as fc from 'fast-check';
import request, { type Response } from 'supertest';
import { saveBelongings } from '../testing/belongings';
import { readAcceptedEvents } from '../testing/read-accepted-events';
import { readProblem } from '../testing/read-problem';
import { pathTo, type RouteCase, routeCases } from '../testing/route-cases';
import { startApi, startTestApi, type TestApi, untilReady } from '../testing/start-test-api';
import { openAnswer, sealAnswer } from './idempotency';

describe('idempotency', () => {
  let api: TestApi;
  let key: string;
  let accountId: AccountId;
  beforeAll(async () => {
    api = await startTestApi();
  });
  beforeEach(async () => {
    ({ key, accountId } = await api.issueKey());
  });
  afterAll(() => api.close());
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  const { name: type, example: data } = keywordQuickWin;
  const event = { type, data };

  interface Sending {
    readonly path?: string;
    readonly apiKey?: string;
    readonly url?: string;
  }

  function post(idempotencyKey: string, body: object, given: Sending = {}) {
    const { path = '/v1/events', apiKey = key, url = api.url } = given;
    return request(url)
      .post(path)
      .set({ authorization: `Bearer ${apiKey}`, 'idempotency-key': idempotencyKey })
      .send(body);
  }

  const answerOf = ({ status, body, headers }: Response) => ({ status, body, location: headers.location });
  const creating = routeCases.filter(({ creates }) => creates);

  /**
   * A request to the route that can be repeated; each call of the function is one more under the same key.
   */
  async function arrange(route: RouteCase) {
    const owner = uniqueAccountId();
    const belongings = await saveBelongings(api.redis, owner);
    const account = route.operatorOnly ? DEFAULT_ACCOUNT : owner;
    const { key: apiKey } = await api.issueKey({ accountId: account });
    const name = randomUUID();
    const path = pathTo(route, belongings);
    return {
      account,
      send: (change: object = {}) => post(name, { ...route.body, ...change }, { path, apiKey }),
    };
  }

  const withBody = creating.filter(({ body }) => body !== undefined);

  it.each(withBody.map((route) => [route.path, route] as const))(
    'POST %s refuses the key for another body with 422',
    async (_path, route) => {
      const { send } = await arrange(route);
      await send();
      expect(readProblem(await send({ colour: 'red' }))).toEqual({
        status: 422,
        code: 'idempotency_key_reused',
        pointers: ['Idempotency-Key'],
      });
    },
  );

  describe.each(creating.map((route) => [route.path, route] as const))('POST %s', (_path, route) => {
    it('gives the same request under the same key the first answer again, and says so', async () => {
      const { send } = await arrange(route);
      const [first, again] = [await send(), await send()];
      expect(first.status).toBe(route.status);
      expect(first.headers).not.toHaveProperty('idempotent-replayed');
      expect(answerOf(again)).toEqual(answerOf(first));
      expect(again.headers['idempotent-replayed']).toBe('true');
    });

    it('is done once of 100 equal requests at the same time; the others learn when to ask again', async () => {
      const { send } = await arrange(route);
      const answers = await Promise.all(Array.from({ length: 100 }, () => send()));
      const done = answers.filter((answer) => answer.status === route.status);
      const running = answers.filter((answer) => answer.status !== route.status);
      expect(done.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1);
      expect(new Set(done.map((answer) => JSON.stringify(answer.body))).size).toBe(1);
      for (const answer of running) {
        expect(readProblem(answer)).toEqual({ status: 409, code: 'request_in_progress' });
        expect(answer.headers['retry-after']).toBe('1');
      }
    });

    it('finishes the same thing when the process died after all was made and before it was answered', async () => {
      const { account, send } = await arrange(route);
      const lost = await send();
      for (const claim of await api.redis.client.keys(`idempotency:{${account}/*`)) {
        await api.redis.client.hdel(claim, 'answer');
        await api.redis.client.hset(claim, 'leased_until', 0);
      }
      const again = await send();
      expect(answerOf(again)).toEqual(answerOf(lost));
      expect(again.headers).not.toHaveProperty('idempotent-replayed');
    });
  });

  describe('an Idempotency-Key', () => {
    it('makes one event of what is sent twice', async () => {
      await post('order-1', event);
      await post('order-1', event);
      expect(await readAcceptedEvents(api, accountId)).toHaveLength(1);
    });

    it('belongs to an account and a route', async () => {
      const { key: foreignKey, accountId: foreignId } = await api.issueKey();
      const answers = [
        await post('order-1', event),
        await post('order-1', event, { apiKey: foreignKey }),
        await post('order-1', { events: [event] }, { path: '/v1/events/batch' }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([202, 202, 207]);
      expect(await readAcceptedEvents(api, accountId)).toHaveLength(2);
      expect(await readAcceptedEvents(api, foreignId)).toHaveLength(1);
    });

    it('belongs to the account that is acted for', async () => {
      const operator = await api.issueKey({ accountId: DEFAULT_ACCOUNT });
      const accounts = [uniqueAccountId(), uniqueAccountId()];
      for (const account of accounts) await saveBelongings(api.redis, account);
      const publishFor = (account: string) =>
        post('order-1', event, { apiKey: operator.key }).set('x-account-id', account);
      const answers = [];
      for (const account of [...accounts, ...accounts]) answers.push(await publishFor(account));
      const ids = answers.map(({ body }) => body.id);
      expect(new Set(ids).size).toBe(2);
      expect(ids.slice(2)).toEqual(ids.slice(0, 2));
      const events = await Promise.all(accounts.map((account) => readAcceptedEvents(api, account)));
      const published = events.map((all) => all.filter(({ id }) => ids.includes(id)).map(({ id }) => id));
      expect(published).toEqual([[ids[0]], [ids[1]]]);
    });

    it.each(['', ' ', 'a b', 'x'.repeat(256), 'ä', 'one, two'])(
      'is refused with 422: "%s"',
      async (wrong) => {
        expect(readProblem(await post(wrong, event))).toEqual({
          status: 422,
          code: 'invalid_request',
          pointers: ['Idempotency-Key'],
        });
      },
    );

    it.each(['!', 'x'.repeat(255), '8e03978e-40d5-43dd-bc93-6894a57f9324', '"quoted"'])(
      'may be any visible ASCII: %s',
      async (right) => {
        expect((await post(right, event)).status).toBe(202);
      },
    );

    it('remembers what is wrong with a request, as that will not change', async () => {
      const wrong = { type, data: { ...data, position: 0 } };
      const large = { type, data: { ...data, keyword: 'k'.repeat(1_000) } };
      for (const [name, body] of Object.entries({ wrong, large })) {
        const first = await post(name, body);
        const again = await post(name, body);
        expect([413, 422]).toContain(first.status);
        expect(readProblem(again)).toEqual(readProblem(first));
        expect(again.headers['idempotent-replayed']).toBe('true');
      }
    });

    it('keeps of a long answer no more than that it was given, and carries nothing out again', async () => {
      const id = (number: number) => `${'x'.repeat(120)}-${number}`;
      const events = Array.from({ length: 500 }, (_, i) => ({ ...event, id: id(i) }));
      const path = '/v1/events/batch';
      const first = await post('order-1', { events }, { path });
      expect([first.status, first.body.data[499].status_code]).toEqual([207, 202]);
      const again = await post('order-1', { events }, { path });
      expect(readProblem(again)).toEqual({ status: 409, code: 'response_not_kept' });
      expect(again.body.detail).toContain(
        createHash('sha256').update(JSON.stringify(first.body)).digest('hex'),
      );
      const [stored = ''] = await api.redis.client.keys(keys.idempotency(accountId, '*'));
      expect((await api.redis.client.hget(stored, 'answer'))?.length).toBeLessThan(1_000);
    });

    it('names of unknown members no more than their beginning', async () => {
      const names = Array.from({ length: 500 }, (_, i) => `${i}${'n'.repeat(10_000)}`);
      const members = Object.fromEntries(names.map((name) => [name, 1]));
      const path = '/v1/events/batch';
      const first = await post('order-1', { events: [], ...members }, { path });
      expect(readProblem(first).status).toBe(422);
      expect(first.text.length).toBeLessThan(64 * 1024);
    });

    it('does not remember a refusal that may pass', async () => {
      await post('first', { ...event, id: 'order-1' });
      const conflicting = { type, data: { ...data, position: 7 }, id: 'order-1' };
      const answers = [await post('second', conflicting), await post('second', conflicting)];
      for (const answer of answers) {
        expect(readProblem(answer)).toEqual({ status: 409, code: 'event_id_conflict' });
        expect(answer.headers).not.toHaveProperty('idempotent-replayed');
      }
    });

    it('of a webhook leaves no secret in the store, readable or not to any other API key of the account', async () => {
      const webhook = { url: 'https://receiver.example.com/', events: ['*'] };
      const { body } = await post('order-1', webhook, { path: '/v1/webhooks' });
      const stored: string[] = [];
      for (const name of await api.redis.client.keys('idempotency:*')) {
        stored.push(...Object.values(await api.redis.client.hgetall(name)));
      }
      expect(stored.length).toBeGreaterThan(0);
      expect(stored.join('\n')).not.toContain(body.secret.slice('whsec_'.length));

      const { key: otherKey } = await api.issueKey({ accountId });
      const refused = await post('order-1', webhook, { path: '/v1/webhooks', apiKey: otherKey });
      expect(readProblem(refused)).toEqual({ status: 409, code: 'conflict' });
    });

    it('makes the same event when a request that Redis did not answer in time is sent again', async () => {
      const proxy = willClose(await startRedisProxy(api.redis.url));
      const remote = willClose(await startApi({ REDIS_URL: proxy.url }));
      await untilReady(remote.url);
      const endpoint = buildEndpoint({ accountId });
      await new EndpointStore(api.redis.client, testSealer).create(endpoint);
      // What is held is the event and the job of its delivery, which has this id at its end, and all behind
      // it.
      const held = proxy.hold(`.${endpoint.id}`);
      const [failed] = await Promise.all([post('order-1', event, { url: remote.url }), held]);
      expect(readProblem(failed)).toEqual({ status: 503, code: 'storage_unavailable' });

      // What failed could not give its claim back over that connection: it is in progress until its lease is
      // over.
      let first = await post('order-1', event);
      while (first.status === 409) {
        expect(readProblem(first).code).toBe('request_in_progress');
        await wait(Number(first.headers['retry-after']) * 1_000);
        first = await post('order-1', event);
      }
      expect(first.status).toBe(202);
      const again = await post('order-1', event);
      expect(answerOf(again)).toEqual(answerOf(first));
      expect(await readAcceptedEvents(api, accountId)).toHaveLength(1);
      const jobs = willClose(openQueue(DELIVERIES_QUEUE, { redis: api.redis.client, prefix: 'bull' }));
      const ids = await readWaitingIds(api.redis.client, jobs);
      expect(ids.filter((id) => id.endsWith(endpoint.id))).toEqual([`${first.body.id}.${endpoint.id}`]);
    });
  });
});

describe('seal answer', () => {
  const options = { apiKey: 'whk_0000000000000000_secret', salt: 'one' };

  describe('a sealed answer', () => {
    it('is opened by the API key that it was sealed with, and gives what went in', () => {
      fc.assert(
        fc.property(fc.string({ unit: 'grapheme' }), (answer) => {
          expect(openAnswer(sealAnswer(answer, options), options)).toBe(answer);
        }),
      );
    });

    it('shows nothing of itself, and never looks the same twice', () => {
      const answer = 'whsec_secret';
      const sealed = sealAnswer(answer, options);
      expect(Buffer.from(sealed, 'base64').toString('latin1')).not.toContain(answer);
      expect(sealAnswer(answer, options)).not.toBe(sealed);
    });

    it.each([
      ['with another API key', { ...options, apiKey: 'whk_1111111111111111_secret' }],
      ['by another salt', { ...options, salt: 'other' }],
    ])('is not opened %s', (_what, other) => {
      expect(openAnswer(sealAnswer('answer', options), other)).toBeUndefined();
    });

    it('is not opened once a bit of it was changed', () => {
      const bytes = Buffer.from(sealAnswer('answer', options), 'base64');
      for (const at of [0, 12, bytes.length - 1]) {
        const changed = Buffer.from(bytes);
        changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
        expect(openAnswer(changed.toString('base64'), options)).toBeUndefined();
      }
    });
  });
});
