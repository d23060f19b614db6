import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import {
  type AccountId,
  DEFAULT_ACCOUNT,
  hasScope,
  type Scope,
  scopes,
} from '@hookferry/core/domain/account';
import { createClosables } from '@hookferry/core/testing/closables';
import { uniqueAccountId } from '@hookferry/core/testing/unique-ids';
import express from 'express';
import request from 'supertest';
import { HttpServer } from './http/http-server';
import { answerProblems } from './http/problem';
import type { Route } from './http/route';
import { routes as allRoutes } from './routes/index';
import { beginTestRequest } from './testing/begin-test-request';
import { type Belongings, saveBelongings, unknownIds } from './testing/belongings';
import { EveryRoute, named, type Sending } from './testing/every-route';
import { readProblem } from './testing/read-problem';
import { type RouteCase, routeCases } from './testing/route-cases';
import { startTestApi, type TestApi } from './testing/start-test-api';

describe('app', () => {
  let every: EveryRoute;
  let api: TestApi;
  let key: string;
  let operatorKey: string;
  let accountId: AccountId;
  let own: Belongings;
  beforeAll(async () => {
    every = await EveryRoute.start();
    ({ api } = every);
  });
  beforeEach(async () => {
    ({ key, accountId, operatorKey, own } = await every.prepare());
  });
  afterAll(() => every.close());

  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  const keyFor = ({ operatorOnly }: RouteCase) => (operatorOnly ? operatorKey : key);
  const accountFor = ({ operatorOnly }: RouteCase) => (operatorOnly ? DEFAULT_ACCOUNT : accountId);

  const send = (route: RouteCase, sending?: Sending) => every.send(route, sending);

  const ofAnyKey = (route: RouteCase) => route.scope === 'any';
  const scopesFor = ({ scope }: RouteCase) => (scope === 'any' || scope === 'none' ? [] : [scope]);
  const ofAKey = routeCases.filter(({ scope }) => scope !== 'none');
  const withId = routeCases.filter(({ of }) => of !== undefined);
  const ofAnAccount = ofAKey.filter(({ operatorOnly }) => !operatorOnly);
  const ofTheOperator = routeCases.filter(({ operatorOnly }) => operatorOnly);
  const withBody = routeCases.filter(({ body }) => body !== undefined);

  it('is tested with each of its routes', () => {
    const identityOf = ({ method, path, scope, operatorOnly }: RouteCase | Route) => ({
      method,
      path,
      scope,
      operatorOnly,
    });
    expect(allRoutes.map(identityOf)).toEqual(routeCases.map(identityOf));
    // Those with a shape for a body or a query are those that take one.
    expect(allRoutes.filter((route) => route.request.body).length).toBe(withBody.length);
    expect(allRoutes.filter((route) => route.request.mayLackBody).length).toBe(
      withBody.filter(({ mayLackBody }) => mayLackBody).length,
    );
    const withQuery = routeCases.filter(({ isList, takesQuery }) => isList ?? takesQuery);
    expect(allRoutes.filter((route) => route.request.query).length).toBe(withQuery.length);
    expect(allRoutes.map(({ creates }) => creates)).toEqual(routeCases.map(({ creates }) => creates));
  });

  describe.each(named(routeCases))('%s', (_name, route) => {
    it('answers a request without a fault, to a key that has no other scope', async () => {
      const narrow = await api.issueKey({ accountId: accountFor(route), scopes: scopesFor(route) });
      const response = await send(route, { authorization: `Bearer ${narrow.key}` });
      expect(response.status).toBe(route.status);
      expect(response.headers['x-request-id']).toMatch(/^req_[0-9a-z]{22}$/);
    });

    it('refuses an unknown query parameter with 422', async () => {
      const response = await send(route, { query: '?colour=red' });
      expect(readProblem(response)).toEqual({
        status: 422,
        code: 'invalid_request',
        pointers: ['?/colour'],
      });
    });
  });

  describe.each(named(ofAKey))('%s', (_name, route) => {
    it('refuses anything but a good key with 401', async () => {
      const issued = keyFor(route);
      const headers: Readonly<Record<string, string | undefined>> = {
        'no key': undefined,
        'something else than a key': 'Bearer secret',
        'another scheme': `Basic ${issued}`,
        'a key that is not known': `Bearer whk_0000000000000000_${'0'.repeat(40)}`,
        'a key with another secret part': `Bearer ${issued.slice(0, 21)}${'0'.repeat(40)}`,
      };
      const answers = Object.entries(headers).map(async ([what, authorization]) => {
        const response = await send(route, { authorization });
        return [what, readProblem(response), response.headers['www-authenticate']];
      });
      const refusal = { status: 401, code: 'unauthenticated' };
      expect(await Promise.all(answers)).toEqual(
        Object.keys(headers).map((what) => [what, refusal, 'Bearer']),
      );
    });
  });

  describe.each(named(ofAKey.filter((route) => !ofAnyKey(route))))('%s', (_name, route) => {
    it('refuses a key with every scope but its own, and the one that implies it, with 403', async () => {
      const others = scopes.filter((scope) => !hasScope({ scopes: [scope] }, route.scope as Scope));
      const narrow = await api.issueKey({ accountId: accountFor(route), scopes: others });
      const response = await send(route, { authorization: `Bearer ${narrow.key}` });
      expect(readProblem(response)).toEqual({ status: 403, code: 'insufficient_scope' });
      expect(response.body.detail).toContain(`"${route.scope}"`);
    });
  });

  describe.each(named(ofAnAccount))('%s', (_name, route) => {
    const act = (account: string, authorization: string) =>
      send(route, { authorization }).set('x-account-id', account);

    it('acts for the account that an operator names', async () => {
      expect((await act(accountId, `Bearer ${operatorKey}`)).status).toBe(route.status);
    });

    it("refuses an account that there is not to an operator, and any but its own to everybody else's key", async () => {
      const unknown = await act(uniqueAccountId(), `Bearer ${operatorKey}`);
      expect(readProblem(unknown)).toEqual({ status: 404, code: 'not_found' });
      const unknownEndpoint = await api.issueKey();
      for (const account of [accountId, uniqueAccountId(), DEFAULT_ACCOUNT, '*']) {
        const refused = await act(account, `Bearer ${unknownEndpoint.key}`);
        expect(readProblem(refused)).toEqual({ status: 403, code: 'operator_only' });
      }
      expect((await act(accountId, `Bearer ${key}`)).status).toBe(route.status);
    });
  });

  describe.each(named(ofAnAccount.filter((route) => !ofAnyKey(route))))('%s', (_name, route) => {
    it("refuses an operator's key that lacks the scope of the route, whomever it acts for", async () => {
      const { key: narrow } = await api.issueKey({
        accountId: DEFAULT_ACCOUNT,
        scopes: scopes.filter((scope) => scope !== route.scope),
      });
      expect(
        readProblem(await send(route, { authorization: `Bearer ${narrow}` }).set('x-account-id', accountId)),
      ).toEqual({
        status: 403,
        code: 'insufficient_scope',
      });
    });
  });

  describe.each(named(ofTheOperator))('%s', (_name, route) => {
    it("refuses every other account's key with 403, whatever there is", async () => {
      for (const ids of [own, unknownIds()]) {
        const response = await send(route, { ids, authorization: `Bearer ${key}` });
        expect(readProblem(response)).toEqual({ status: 403, code: 'operator_only' });
      }
    });
  });

  describe.each(named(ofAnAccount.filter(({ of }) => of !== undefined)))('%s', (_name, route) => {
    it("refuses an unknown id and another account's id with the same 404", async () => {
      const foreign = await saveBelongings(api.redis, uniqueAccountId());
      const answers = await Promise.all([
        send(route, { ids: unknownIds() }),
        send(route, { ids: foreign }),
        // A client that may act for the owner of `foreign` as well still acts for one account at a time.
        send(route, { ids: foreign, authorization: `Bearer ${operatorKey}` }),
        send(route, { ids: foreign, authorization: `Bearer ${operatorKey}` }).set('x-account-id', accountId),
      ]);
      const notFound = { status: 404, code: 'not_found' };
      expect(answers.map(readProblem)).toEqual([notFound, notFound, notFound, notFound]);
      expect(new Set(answers.map(({ body }) => body.detail)).size).toBe(1);
    });
  });

  describe.each(named(withId))('%s', (_name, route) => {
    it('refuses an unknown id with 404', async () => {
      const response = await send(route, { ids: unknownIds() });
      expect(readProblem(response)).toEqual({ status: 404, code: 'not_found' });
    });
  });

  describe('any other path', () => {
    it.each([
      '/',
      '/v1',
      '/v1/',
      '/v1/nothing',
      '/v2/webhooks',
      '/v1/webhooks/a/b/c',
      '/admin',
      '//v1/webhooks',
    ])('is refused with 404: %s', async (path) => {
      for (const method of ['get', 'post', 'delete'] as const) {
        const response = await request(api.url)[method](path);
        expect(readProblem(response)).toEqual({ status: 404, code: 'route_not_found' });
      }
    });

    it.each([
      ['/v1/webhook', '/v1/webhooks'],
      ['/v1/webhooks/wh_1/deliverys', '/v1/webhooks/wh_1/deliveries'],
      ['/webhooks', '/v1/webhooks'],
      ['/v1/replays', '/v1/webhooks/{id}/replays'],
      ['/v1/nothing-like-it', undefined],
    ])('names the route that %s most likely means: %s', async (path, meant) => {
      const { body } = await request(api.url).get(path);
      const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
      expect((body as { detail: string }).detail).toBe(`There is no GET ${path}.${hint}`);
    });

    it.each(['/v1/%', '/%ff', '/v1/%c0%ae'])(
      'is refused with 404 when it is not well encoded: %s',
      async (path) => {
        expect(readProblem(await request(api.url).get(path))).toEqual({
          status: 404,
          code: 'route_not_found',
        });
      },
    );
  });

  describe('every answer', () => {
    const get = (path: string) => request(api.url).get(path);

    it('has the request id that a proxy has given it, and one of our own instead of one that we would not log', async () => {
      const given = await get('/v1/webhooks').set('x-request-id', 'proxy-17_A');
      expect(given.headers['x-request-id']).toBe('proxy-17_A');
      expect(given.body.request_id).toBe('proxy-17_A');
      for (const id of ['a b', 'a"b', 'x'.repeat(65), '']) {
        const replaced = await get('/v1/webhooks').set('x-request-id', id);
        expect(replaced.headers['x-request-id']).toMatch(/^req_[0-9a-z]{22}$/);
      }
    });

    it('lets browsers do nothing with it, and tells nobody what it was made with', async () => {
      const { headers } = await get('/v1/webhooks');
      expect(headers).toMatchObject({
        'content-security-policy': "default-src 'none';frame-ancestors 'none'",
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'strict-transport-security': 'max-age=31536000',
      });
      expect(headers).not.toHaveProperty('x-powered-by');
      expect(headers).not.toHaveProperty('etag');
    });

    it('is announced, with its route, its status and whose it is', async () => {
      const quiet = willClose(await startTestApi());
      const { key: ownKey, accountId: account } = await quiet.issueKey();
      await request(quiet.url).get(`/v1/webhooks/${own.webhook}`).set('authorization', `Bearer ${ownKey}`);
      expect(await quiet.signals.first('request.completed')).toEqual({
        name: 'request.completed',
        code: 'not_found',
        keyId: expect.stringMatching(/^[0-9a-z]{16}$/),
        requestId: expect.stringMatching(/^req_/),
        method: 'GET',
        route: '/v1/webhooks/:id',
        status: 404,
        durationMs: expect.any(Number),
        clientAddress: '127.0.0.1',
        accountId: account,
      });
    });

    it('is counted under one label when it belongs to no route, or clients could make as many as they like', async () => {
      await get('/v1/stranger-1');
      await get('/v1/stranger-2');
      const { text } = await get('/metrics');
      expect(text).toContain('route="none",status="404"');
      expect(text).not.toContain('stranger');
    });

    it('is counted under one label when its method is not one of HTTP, or not one of its path', async () => {
      for (const method of ['MKCOL', 'UNLINK', 'M-SEARCH', 'PUT']) {
        for (const path of ['/v1/webhooks', '/v1/events']) await fetch(api.url + path, { method });
      }
      const { text } = await get('/metrics');
      expect(text).toContain('method="_OTHER",route="none",status="405"');
      expect(text).toContain('method="PUT",route="none",status="405"');
      expect(text).not.toMatch(/MKCOL|UNLINK|M-SEARCH|method="PUT",route="\/v1\/(webhooks|events)"/);
    });
  });

  describe('the probes', () => {
    it.each(['/healthz', '/readyz', '/metrics'])('answer at %s without a key', async (path) => {
      expect((await request(api.url).get(path)).status).toBe(200);
    });

    it('show what Prometheus reads', async () => {
      const { headers, text } = await request(api.url).get('/metrics');
      expect(headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
      expect(text).toContain('process_cpu_seconds_total');
      expect(text).toContain('webhooks_http_request_duration_seconds_count');
    });
  });
});

describe('refuse bad head', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  const app = express()
    .use(beginTestRequest)
    .use((_request, response) => void response.json({}))
    .use(answerProblems(() => {}));

  const pathOf = (length: number) => `/${'x'.repeat(length - 1)}`;

  // What the client sends by itself: host, accept-encoding, connection.
  const OWN_HEADERS = 3;
  const headers = (count: number) =>
    Object.fromEntries(Array.from({ length: count - OWN_HEADERS }, (_, at) => [`x-${at}`, '1']));

  async function sendRaw(bytes: string): Promise<string> {
    const server = willClose(
      new HttpServer(app, { maxConnections: 1, newId: () => 'req_1', emit: () => {} }),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write(bytes);
    return readText(socket);
  }

  describe('the head of a request', () => {
    it('may have a URL of 8 KiB, and is refused with 414 beyond', async () => {
      expect((await request(app).get(pathOf(8_192))).status).toBe(200);
      const refused = await request(app).get(pathOf(8_193));
      expect(readProblem(refused)).toEqual({ status: 414, code: 'uri_too_long' });
    });

    it('has a Host, or is refused with 400 (but for HTTP/1.0)', async () => {
      const hostless = await sendRaw('GET / HTTP/1.1\r\nconnection: close\r\n\r\n');
      expect(hostless).toContain('400 Bad Request');
      expect(hostless).toContain('"code":"malformed_request"');
      expect(await sendRaw('GET / HTTP/1.0\r\n\r\n')).toContain('200 OK');
    });

    it('may have 100 headers, and is refused with 431 beyond', async () => {
      expect((await request(app).get('/').set(headers(100))).status).toBe(200);
      const refused = await request(app).get('/').set(headers(101));
      expect(readProblem(refused)).toEqual({ status: 431, code: 'headers_too_large' });
    });
  });
});
