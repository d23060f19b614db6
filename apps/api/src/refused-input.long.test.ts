import { brotliCompressSync, gzipSync } from 'node:zlib';
import request, { type Test } from 'supertest';
import { routes as allRoutes } from './routes/index';
import { sameIds } from './testing/belongings';
import { EveryRoute, named, type Sending } from './testing/every-route';
import { readProblem } from './testing/read-problem';
import { type RouteCase, routeCases } from './testing/route-cases';
import { MAX_EVENT_BYTES } from './testing/start-test-api';

let every: EveryRoute;
beforeAll(async () => {
  every = await EveryRoute.start();
});
beforeEach(async () => {
  await every.prepare();
});
afterAll(() => every.close());

const open = (route: RouteCase, sending?: Sending) => every.open(route, sending);
const send = (route: RouteCase, sending?: Sending) => every.send(route, sending);

/** The problem that the request for each row is answered with. All are sent at once. */
function problemsOf(rows: readonly string[], requestOf: (row: string) => Test) {
  return Promise.all(rows.map(async (row) => [row, readProblem(await requestOf(row))]));
}

const ofEach = (rows: readonly string[], problem: object) => rows.map((row) => [row, problem]);

const withId = routeCases.filter(({ of }) => of !== undefined);
const withBody = routeCases.filter(({ body }) => body !== undefined);
const lists = routeCases.filter(({ isList }) => isList);

describe.each(named(withId))('%s', (_name, route) => {
  it('refuses what is no id with 404', async () => {
    const texts = ['x', 'wh_', 'evt_1', '%20', '%2e%2e', '..%2Fwebhooks', 'w'.repeat(500), '%F0%9F%9A%80'];
    expect(await problemsOf(texts, (id) => send(route, { ids: sameIds(id) }))).toEqual(
      ofEach(texts, { status: 404, code: 'not_found' }),
    );
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
    expect(await problemsOf(texts, (text) => sendBytes(text))).toEqual(ofEach(texts, MALFORMED));
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
    expect(await problemsOf(types, (type) => sendBytes(json, { 'content-type': type }))).toEqual(
      ofEach(types, UNSUPPORTED),
    );
  });

  it('refuses a body over the limit with 413 and says what that is', async () => {
    const limit = route.maxBodyBytes ?? MAX_EVENT_BYTES + 4_096;
    const large = JSON.stringify({ ...route.body, padding: 'p'.repeat(limit) });
    const response = await sendBytes(large);
    expect(readProblem(response)).toEqual(TOO_LARGE);
    expect(response.body).toMatchObject({ detail: expect.stringContaining(String(limit)) });
  });

  it('refuses another value in the place of an object with 422', async () => {
    const texts = ['null', '[]', '"text"', '1', 'true'];
    const isRefused = expect.objectContaining({ status: 422, pointers: [''] });
    expect(await problemsOf(texts, (text) => sendBytes(text))).toEqual(ofEach(texts, isRefused));
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
    expect(await problemsOf(limits, (limit) => send(route, { query: `?limit=${limit}` }))).toEqual(
      ofEach(limits, {
        status: 422,
        code: 'invalid_request',
        pointers: ['?/limit'],
      }),
    );
  });

  it('refuses as cursor with 422: nothing, garbage, one that a client made up, null, two', async () => {
    const madeUp = ['{"page":2}', 'null'].map((text) => Buffer.from(text).toString('base64url'));
    const cursors = ['', '%00garbage', ...madeUp, 'bnVsbA&cursor=bnVsbA'];
    expect(await problemsOf(cursors, (cursor) => send(route, { query: `?cursor=${cursor}` }))).toEqual(
      ofEach(cursors, {
        status: 422,
        code: 'invalid_request',
        pointers: ['?/cursor'],
      }),
    );
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
      const response = await request(every.api.url)[method](path);
      return [method, readProblem(response), response.headers.allow];
    });
    const refusal = { status: 405, code: 'method_not_allowed' };
    const allowed = methods.map((name) => name.toUpperCase()).join(', ');
    expect(await Promise.all(answers)).toEqual(others.map((method) => [method, refusal, allowed]));
  });
});
