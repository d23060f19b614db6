import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { type AccountId, DEFAULT_ACCOUNT, scopes } from '@hookferry/core/domain/account';
import { createClosables } from '@hookferry/core/testing/closables';
import { uniqueAccountId } from '@hookferry/core/testing/unique-ids';
import express from 'express';
import request, { type Test } from 'supertest';
import { HttpServer } from './http/http-server';
import { answerProblems } from './http/problem';
import { beginRequests } from './http/request-state';
import type { Route } from './http/route';
import { routes as allRoutes } from './routes/index';
import { readProblem } from './testing/read-problem';
import {
  type Belongings,
  pathTo,
  type RouteCase,
  routeCases,
  sameIds,
  saveBelongings,
  unknownIds,
} from './testing/route-cases';
import { MAX_EVENT_BYTES, startTestApi, type TestApi } from './testing/start-test-api';

describe('app', () => {
  let api: TestApi;
  let key: string;
  let operatorKey: string;
  let accountId: AccountId;
  let own: Belongings;

  type Issued = Awaited<ReturnType<TestApi['issueKey']>>;

  beforeAll(async () => {
    api = await startTestApi();
  });
  // Made anew after each request that may have changed something: most tests are of requests that are refused. A listener
  // counts as connected for 15 seconds.
  const GOOD_FOR_MS = 5_000;
  let mayBeChanged = true;
  let madeAt = 0;
  beforeEach(async () => {
    if (!mayBeChanged && Date.now() - madeAt < GOOD_FOR_MS) return;
    const issued = [api.issueKey(), api.issueKey({ accountId: DEFAULT_ACCOUNT })];
    [{ key, accountId }, { key: operatorKey }] = (await Promise.all(issued)) as [Issued, Issued];
    own = await saveBelongings(api.redis, accountId);
    [mayBeChanged, madeAt] = [false, Date.now()];
  });
  afterAll(() => api.close());

  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  const keyFor = ({ operatorOnly }: RouteCase) => (operatorOnly ? operatorKey : key);
  const accountFor = ({ operatorOnly }: RouteCase) => (operatorOnly ? DEFAULT_ACCOUNT : accountId);

  interface Sending {
    readonly ids?: Belongings;
    readonly query?: string;
    readonly authorization?: string | undefined;
  }

  /** A request to a route that lacks nothing but a body, with the changes given. */
  /** A path may have a query of its own. */
  function withQueryOf(path: string, query: string): string {
    return path + (path.includes('?') ? query.replace('?', '&') : query);
  }

  function open(route: RouteCase, { ids = own, query = '', ...given }: Sending = {}): Test {
    const test = request(api.url)[route.method](withQueryOf(pathTo(route, ids), query));
    test.on('response', ({ ok }: { readonly ok: boolean }) => {
      // A stream of a listener takes it over.
      mayBeChanged ||= ok && (route.method !== 'get' || route.path.endsWith('/stream'));
    });
    const authorization = 'authorization' in given ? given.authorization : `Bearer ${keyFor(route)}`;
    return authorization === undefined ? test : test.set('authorization', authorization);
  }

  /** A request without a fault, but for the changes given. */
  function send(route: RouteCase, sending: Sending = {}): Test {
    return route.body === undefined ? open(route, sending) : open(route, sending).send(route.body);
  }

  /** The problem that each of these requests is answered with: all are sent at once, since thousands in turn would take a minute. */
  async function problemsOf(requests: ReadonlyMap<string, Test>) {
    const answers = [...requests].map(async ([name, sent]) => [name, readProblem(await sent)] as const);
    return new Map(await Promise.all(answers));
  }

  /** A request for each row, by the name of the row. */
  const requestsOf = (rows: readonly string[], requestOf: (row: string) => Test) =>
    new Map(rows.map((row) => [row, requestOf(row)]));

  /** That each of these requests is answered with this problem. */
  async function expectOfAll(requests: ReadonlyMap<string, Test>, problem: object) {
    const expected = new Map([...requests.keys()].map((name) => [name, problem]));
    expect(await problemsOf(requests)).toEqual(expected);
  }

  const nameOf = ({ method, path }: RouteCase) => `${method.toUpperCase()} ${path}`;
  const named = (routes: readonly RouteCase[]) => routes.map((route) => [nameOf(route), route] as const);
  const ofAnyKey = (route: RouteCase) => route.scope === 'any';
  const scopesFor = ({ scope }: RouteCase) => (scope === 'any' || scope === 'none' ? [] : [scope]);
  const ofAKey = routeCases.filter(({ scope }) => scope !== 'none');
  const withId = routeCases.filter(({ of }) => of !== undefined);
  const ofAnAccount = ofAKey.filter(({ operatorOnly }) => !operatorOnly);
  const ofTheOperator = routeCases.filter(({ operatorOnly }) => operatorOnly);
  const withBody = routeCases.filter(({ body }) => body !== undefined);
  const lists = routeCases.filter(({ isList }) => isList);

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
    it('refuses a key with every scope but its own with 403', async () => {
      const others = scopes.filter((scope) => scope !== route.scope);
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

    it('refuses what is no id with 404', async () => {
      const texts = ['x', 'wh_', 'evt_1', '%20', '%2e%2e', '..%2Fwebhooks', 'w'.repeat(500), '%F0%9F%9A%80'];
      const requests = requestsOf(texts, (id) => send(route, { ids: sameIds(id) }));
      await expectOfAll(requests, { status: 404, code: 'not_found' });
    });

    it('refuses an id that is not well encoded with 404', async () => {
      const response = await send(route, { ids: sameIds('%ff') });
      expect(readProblem(response)).toEqual({ status: 404, code: 'route_not_found' });
    });
  });

  describe.each(named(withBody))('%s', (_name, route) => {
    const MALFORMED = { status: 400, code: 'malformed_json' };
    const UNSUPPORTED = { status: 415, code: 'unsupported_media_type' };
    const TOO_LARGE = { status: 413, code: 'payload_too_large' };
    const json = JSON.stringify(route.body);

    function sendBytes(bytes: string | Buffer, headers: Readonly<Record<string, string>> = {}): Test {
      // Buffers are sent as they are; superagent would make JSON of them otherwise.
      return open(route)
        .set({ 'content-type': 'application/json', ...headers })
        .serialize((body: unknown) => body as string)
        .send(bytes);
    }

    it('refuses what is not JSON with 400', async () => {
      const texts = ['{', '{"a":1,}', "{'a':1}", 'undefined', '{"a":1} {}', '\0'];
      await expectOfAll(
        requestsOf(texts, (text) => sendBytes(text)),
        MALFORMED,
      );
    });

    it('takes the example of its description as it stands', async () => {
      const declared = allRoutes.find(({ method, path }) => method === route.method && path === route.path);
      const example = declared?.request.example as object;
      expect((await open(route).send(example)).status).toBe(route.status);
    });

    it('says where a body stops being JSON', async () => {
      const { body } = await sendBytes('{\n  "a": 1\n  "b": 2\n}');
      expect(body).toMatchObject({ detail: 'The body is not valid JSON from line 3, column 3, on.' });
    });

    it('refuses a body that is not UTF-8 with 400, instead of guessing what was meant', async () => {
      const bytes = Buffer.from(JSON.stringify({ ...route.body, colour: '?' }));
      bytes[bytes.lastIndexOf('?')] = 0xff;
      expect(readProblem(await sendBytes(bytes))).toEqual(MALFORMED);
    });

    it('refuses an empty body with 400 unless it needs none, with a content type and without', async () => {
      const answers = [await sendBytes(''), await open(route)];
      const isRefused = answers.map(({ status, body }) => status === 400 && body.code === MALFORMED.code);
      expect(isRefused).toEqual(route.mayLackBody ? [false, false] : [true, true]);
    });

    it('refuses a body with an encoding with 415, unread', async () => {
      const bodies = {
        br: brotliCompressSync(json),
        GZIP: gzipSync(json),
        'identity, gzip': gzipSync(json),
        // It does not have this one.
        deflate: json,
        // There is none of this name.
        x: json,
      };
      const answers = Object.entries(bodies).map(async ([encoding, bytes]) => {
        const response = await sendBytes(bytes, { 'content-encoding': encoding });
        return [encoding, readProblem(response), response.body.detail, response.headers['accept-encoding']];
      });
      const isNamed = expect.stringContaining('Content-Encoding');
      expect(await Promise.all(answers)).toEqual(
        Object.keys(bodies).map((encoding) => [encoding, UNSUPPORTED, isNamed, 'identity']),
      );
    });

    it('refuses a body that is too deep with 422', async () => {
      const deep = await sendBytes(`${'['.repeat(129)}${']'.repeat(129)}`);
      expect(readProblem(deep)).toEqual({ status: 422, code: 'invalid_request', pointers: [''] });
    });

    it('refuses a body of another type, in another character set or form of Unicode with 415', async () => {
      const types = [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data',
        'application/xml',
        'json',
        'application/json; charset=latin1',
        'application/json; charset="utf-16"',
      ];
      const requests = requestsOf(types, (type) => sendBytes(json, { 'content-type': type }));
      await expectOfAll(requests, UNSUPPORTED);
    });

    it('refuses a body over the limit with 413 and says what that is', async () => {
      const limit = route.maxBodyBytes ?? MAX_EVENT_BYTES + 4_096;
      const large = JSON.stringify({ ...route.body, padding: 'p'.repeat(limit) });
      const response = await sendBytes(large);
      expect(readProblem(response)).toEqual(TOO_LARGE);
      expect(response.body).toMatchObject({ detail: expect.stringContaining(String(limit)) });
    });

    it('refuses another value in the place of an object with 422', async () => {
      const requests = requestsOf(['null', '[]', '"text"', '1', 'true'], (text) => sendBytes(text));
      await expectOfAll(requests, expect.objectContaining({ status: 422, pointers: [''] }));
    });

    it('refuses unknown members with 422, and names each of them, even names that JavaScript inherits', async () => {
      const unknownEndpoints = '"colour":1,"a/b":2,"__proto__":{"url":"x"},"constructor":4,"toString":5';
      const response = await sendBytes(`{${unknownEndpoints},${json.slice(1)}`);
      expect(readProblem(response)).toEqual({
        status: 422,
        code: 'invalid_request',
        pointers: ['/colour', '/a~1b', '/__proto__', '/constructor', '/toString'],
      });
      expect(Object.keys(Object.prototype)).toEqual([]);
    });

    it('does not take for a member what only __proto__ holds', async () => {
      const response = await sendBytes(`{"__proto__":${json}}`);
      expect(readProblem(response)).toMatchObject({
        status: 422,
        pointers: expect.arrayContaining(['/__proto__']),
      });
    });

    it.each([
      ['in another spelling of JSON', { 'content-type': 'Application/JSON; charset=UTF-8' }, json],
      ['that says that it is not compressed', { 'content-encoding': 'Identity' }, json],
      ['with a byte order mark', {}, `\uFEFF${json}`],
      ['as a merge patch', { 'content-type': 'application/merge-patch+json' }, json],
    ])('takes a body %s', async (_what, headers, bytes) => {
      const response = await sendBytes(bytes, headers);
      expect(response.status).toBe(route.status);
    });
  });

  describe.each(named(withBody.filter(({ scope }) => scope !== 'none')))('%s', (_name, route) => {
    it('asks for a key before it reads the body', async () => {
      const response = await open(route, { authorization: undefined })
        .set('content-type', 'application/json')
        .send('{');
      expect(readProblem(response)).toEqual({ status: 401, code: 'unauthenticated' });
    });
  });

  // All others' limit of bytes is so low here that no body reaches the one of values.
  describe.each(named(routeCases.filter(({ maxBodyValues }) => maxBodyValues)))('%s', (_name, route) => {
    const { maxBodyValues = 0 } = route;
    const sendValues = (count: number) =>
      open(route)
        .set('content-type', 'application/json')
        .send(`{"padding":[${'1,'.repeat(count - 2)}1]}`);

    it('refuses a body with too many values with 413, and says how many are taken', async () => {
      const response = await sendValues(maxBodyValues + 1);
      expect(readProblem(response)).toEqual({ status: 413, code: 'payload_too_large' });
      expect(response.body).toMatchObject({ detail: expect.stringContaining(String(maxBodyValues)) });
      expect(readProblem(await sendValues(maxBodyValues))).toMatchObject({ code: 'invalid_request' });
    });
  });

  describe.each(named(lists))('%s', (_name, route) => {
    it('takes 1 and 200 as limit', async () => {
      for (const limit of [1, 200]) {
        expect((await send(route, { query: `?limit=${limit}` })).status).toBe(200);
      }
    });

    it('refuses what is no limit with 422', async () => {
      const limits = ['0', '-1', '201', '1.5', 'many', '', '%20', '1&limit=2', 'Infinity'];
      const requests = requestsOf(limits, (limit) => send(route, { query: `?limit=${limit}` }));
      await expectOfAll(requests, { status: 422, code: 'invalid_request', pointers: ['?/limit'] });
    });

    it('refuses as cursor with 422: nothing, garbage, one that a client made up, null, two', async () => {
      const madeUp = ['{"page":2}', 'null'].map((text) => Buffer.from(text).toString('base64url'));
      const cursors = ['', '%00garbage', ...madeUp, 'bnVsbA&cursor=bnVsbA'];
      const requests = requestsOf(cursors, (cursor) => send(route, { query: `?cursor=${cursor}` }));
      await expectOfAll(requests, { status: 422, code: 'invalid_request', pointers: ['?/cursor'] });
    });

    it('names each fault of a query', async () => {
      expect(readProblem(await send(route, { query: '?limit=0&cursor=x&colour=red&size=1' }))).toMatchObject({
        pointers: ['?/limit', '?/cursor', '?/colour', '?/size'],
      });
    });
  });

  describe.each([...new Set(routeCases.map(({ path }) => path))])('%s', (path) => {
    const methods = routeCases.filter((route) => route.path === path).map(({ method }) => method);
    const others = (['get', 'post', 'put', 'patch', 'delete', 'options'] as const).filter(
      (method) => !methods.some((known) => known === method),
    );

    it('refuses other methods with 405, and says which it allows, to anybody', async () => {
      const answers = others.map(async (method) => {
        const response = await request(api.url)[method](path);
        return [method, readProblem(response), response.headers.allow];
      });
      const refusal = { status: 405, code: 'method_not_allowed' };
      const allowed = methods.map((name) => name.toUpperCase()).join(', ');
      expect(await Promise.all(answers)).toEqual(others.map((method) => [method, refusal, allowed]));
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
    .use(
      beginRequests({
        drain: { isDraining: false },
        newId: (prefix) => `${prefix}_1`,
        clock: () => 0,
        emit: () => {},
      }),
    )
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
