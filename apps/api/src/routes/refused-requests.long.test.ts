import { keywordQuickWin } from '@hookferry/core/accounts/event-types/built-in';
import { type AccountId, DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import { type BoundsCase, readBoundsCorpus } from '@hookferry/core/testing/bounds-corpus';
import request, { type Test } from 'supertest';
import { z } from 'zod';
import { type Belongings, saveBelongings } from '../testing/belongings';
import { readAcceptedEvents } from '../testing/read-accepted-events';
import { readProblem } from '../testing/read-problem';
import { pathTo, type RouteCase, routeCases } from '../testing/route-cases';
import { startTestApi, type TestApi } from '../testing/start-test-api';
import { routes } from './index';

const { settings, cases } = readBoundsCorpus();

let api: TestApi;
beforeAll(async () => {
  // The longest retry schedule has to fit.
  api = await startTestApi({ ...settings, RETENTION: '365d' });
});
afterAll(() => api.close());

describe('bounds', () => {
  let authorization: string;
  beforeAll(async () => {
    authorization = `Bearer ${(await api.issueKey({ accountId: DEFAULT_ACCOUNT })).key}`;
  });

  async function send({ method, path, headers, body }: BoundsCase['request']) {
    const content = body === undefined ? {} : { 'content-type': 'application/json' };
    const response = await fetch(api.url + path, {
      method,
      headers: { authorization, ...content, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: await response.json(),
    };
  }

  async function newWebhook(): Promise<string> {
    const body = { url: 'https://receiver.example.com/', events: ['*'] };
    const created = await send({ method: 'POST', path: '/v1/webhooks', body });
    return (created.body as { id: string }).id;
  }

  describe('the bounds that all languages agree on', () => {
    it('are there', () => expect(cases.length).toBeGreaterThan(130));

    it.each(cases)('hold in the API, $title', async ({ request: sent, expected }) => {
      const needsWebhook = sent.path.includes('{webhook}');
      const path = needsWebhook ? sent.path.replace('{webhook}', await newWebhook()) : sent.path;
      const answer = await send({ ...sent, path });
      const found = expected.code === undefined ? { status: answer.status } : readProblem(answer);
      expect(found).toEqual(expected);
    });
  });
});

// PostgreSQL can't have it, so it would be a failure of the history.
describe('a text with NUL', () => {
  let key: string;
  let own: Belongings;
  beforeAll(async () => {
    const issued = await api.issueKey({ accountId: DEFAULT_ACCOUNT });
    key = issued.key;
    own = await saveBelongings(api.redis, DEFAULT_ACCOUNT);
  });
  const send = (method: RouteCase['method'], path: string) =>
    request(api.url)[method](path).auth(key, { type: 'bearer' });

  const asked = routeCases.flatMap((routeCase, i) => {
    const { query } = routes[i]?.request ?? {};
    const names = query instanceof z.ZodObject ? Object.keys(query.shape) : [];
    return names.map((name) => ({ name, routeCase }));
  });

  it('can be asked for in many ways', () => expect(asked.length).toBeGreaterThan(60));

  it.each(asked)('is refused as $name of $routeCase.path', async ({ name, routeCase }) => {
    const path = `${pathTo({ ...routeCase, query: '' }, own)}?${name}=a%00b`;
    const response = await send(routeCase.method, path);
    expect(readProblem(response)).toMatchObject({ status: 422, pointers: [`?/${name}`] });
  });

  const withId = routeCases.filter(({ path, scope }) => path.includes('/:') && scope !== 'none');
  it.each(withId)('is no id, $method $path', async ({ method, path, body }) => {
    const sending = send(method, path.replace(/:\w+/g, 'a%00b'));
    const response = body === undefined ? await sending : await sending.send(body);
    // The client chooses the name of an event type, so a wrong one is its fault.
    const isChosen = method === 'put' && path.endsWith('/:name');
    expect(readProblem(response).status).toBe(isChosen ? 422 : 404);
  });
});

// Some show a secret, and all are about an account.
it.each(routeCases.filter(({ path }) => path.startsWith('/v1/')))(
  'no cache keeps an answer of $method $path',
  async (routeCase) => {
    const { accountId, key: own } = await api.issueKey();
    const operators = await api.issueKey({ accountId: DEFAULT_ACCOUNT });
    const key = routeCase.operatorOnly ? operators.key : own;
    const path = pathTo(routeCase, await saveBelongings(api.redis, accountId));
    const body = routeCase.body === undefined ? {} : { body: JSON.stringify(routeCase.body) };
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const method = routeCase.method.toUpperCase();
    const response = await fetch(api.url + path, { method, headers, ...body });
    await response.body?.cancel();
    const isPublic = ['/v1/event-types/:name/schema', '/v1/source-addresses'].includes(routeCase.path);
    const expected = isPublic ? /^public/ : /^no-store$/;
    expect([response.status, response.headers.get('cache-control')]).toEqual([
      routeCase.status,
      expect.stringMatching(expected),
    ]);
  },
);

describe('the most of a request', () => {
  // Room for as many events as a batch may have.
  let roomy: TestApi;
  let key: string;
  beforeAll(async () => {
    roomy = await startTestApi({ MAX_EVENT_BYTES: '65536' });
    ({ key } = await roomy.issueKey());
  });
  afterAll(() => roomy.close());

  const many = (count: number) => Array.from({ length: count }, (_, i) => `crm-${i}`);
  const event = { type: keywordQuickWin.name, data: keywordQuickWin.example };

  // Each is looked at before the webhook is, so that none has to be there.
  it.each([
    [
      'webhooks that an event is aimed at',
      '/webhook_ids',
      'post',
      '/v1/events',
      { ...event, webhook_ids: many(101) },
    ],
    ['entries of a page', '?/limit', 'get', '/v1/webhooks?limit=201', undefined],
    ['events of a batch', '/events', 'post', '/v1/events/batch', { events: Array(501).fill(event) }],
    [
      'events a second of a replay',
      '/rate',
      'post',
      '/v1/webhooks/crm/replays',
      { since: '2026-11-20T00:00:00Z', mode: 'all', rate: 1_001 },
    ],
    [
      'members of metadata',
      '/metadata',
      'post',
      '/v1/webhooks',
      {
        url: 'https://receiver.example.com/',
        events: ['*'],
        metadata: Object.fromEntries(many(51).map((name) => [name, ''])),
      },
    ],
  ] as const)('refuses one more than the most of the %s', async (_what, pointer, method, path, body) => {
    const response = await request(roomy.url)[method](path).set('authorization', `Bearer ${key}`).send(body);
    expect({ status: response.status, body: response.body as unknown }).toMatchObject({
      status: 422,
      body: {
        code: 'invalid_request',
        errors: [{ pointer, detail: expect.stringMatching(/at most|from 1 to 200/) }],
      },
    });
  });
});

describe('the right form of what is wrong', () => {
  const webhook = (wrong: object) =>
    ['post', '/v1/webhooks', { url: 'https://receiver.example.com/', events: ['*'], ...wrong }] as const;

  it.each([
    [webhook({ timeout_ms: '5s' }), '/timeout_ms', 'must be a whole number from 1000 to 60000'],
    [webhook({ retry_schedule: '5s' }), '/retry_schedule', 'must be a list'],
    [webhook({ url: 'ftp://receiver.example.com/' }), '/url', 'must be a URL that begins with https://'],
    [webhook({ headers: { 'a b': 'x' } }), '/headers/a b', 'such as X-Tenant'],
    [webhook({ coalesce: { every: 1 } }), '/coalesce/every', 'the known ones are window_ms'],
    [
      webhook({ ordering: 'group', coalesce: { window_ms: 1 }, format: 'cloudevents_batch' }),
      '/coalesce',
      'take cloudevents_structured or cloudevents_binary',
    ],
    [webhook({ filter: 'DE' }), '/filter', 'such as {"order.country":"DE"}'],
    [webhook({ auth: { type: 'oauth2', private_key: 5 } }), '/auth/private_key', 'a string, or an object'],
    [['get', '/v1/deliveries?limit=many'], '?/limit', 'must be a whole number from 1 to 200'],
    [['get', '/v1/deliveries?status=held&status=delivered'], '?/status', 'must be given once'],
    [['get', '/v1/deliveries?Limit=1'], '?/Limit', 'did you mean "limit"?'],
    [['get', '/v1/events?page=2'], '?/page', 'the known ones are limit, cursor'],
    [
      ['post', '/v1/api-keys', { name: 'ci', scopes: [], account_id: 'acme' }],
      '/account_id',
      'header X-Account-Id',
    ],
    [['get', '/v1/account/usage?page=2'], '?/page', 'none can be given here'],
    [['get', '/v1/notifications?contact_id=4711'], '?/contact_id', 'ct_ and 22 of 0-9 a-z'],
    [
      ['post', '/v1/filters/try', { filter: { a: 1 }, event_type: 'a.b' }],
      '/event_type',
      'GET /v1/event-types',
    ],
  ] as const)('is in the error of %j', async ([method, path, body], pointer, form) => {
    const { key } = await api.issueKey();
    const response = await request(api.url)[method](path).set('authorization', `Bearer ${key}`).send(body);
    expect(response.body).toMatchObject({
      code: 'invalid_request',
      errors: expect.arrayContaining([{ pointer, detail: expect.stringContaining(form) }]),
    });
  });
});

describe('members of prototypes', () => {
  let key: string;
  let operatorKey: string;
  let accountId: AccountId;
  let own: Belongings;
  beforeAll(async () => {
    ({ key, accountId } = await api.issueKey());
    ({ key: operatorKey } = await api.issueKey({ accountId: DEFAULT_ACCOUNT }));
    own = await saveBelongings(api.redis, accountId);
  });

  type Method = RouteCase['method'];

  /** JSON as a text: an object literal can't have such a member. */
  function send(method: Method, path: string, json: string, as = key): Test {
    const agent = request(api.url);
    return agent[method](path)
      .set('authorization', `Bearer ${as}`)
      .set('content-type', 'application/json')
      .send({})
      .serialize(() => json);
  }

  const PROTO = '"__proto__":{"status":"disabled"}';
  const { name: type, example } = keywordQuickWin;
  const withBody = routeCases.filter(({ body }) => body !== undefined);

  describe('a member named __proto__', () => {
    it.each(withBody.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route] as const))(
      'is refused at %s as any unknown one is',
      async (_name, route) => {
        const json = `{${PROTO},${JSON.stringify(route.body).slice(1)}`;
        const response = await send(
          route.method,
          pathTo(route, own),
          json,
          route.operatorOnly ? operatorKey : key,
        );
        expect(readProblem(response)).toEqual({
          status: 422,
          code: 'invalid_request',
          pointers: ['/__proto__'],
        });
      },
    );

    const webhook = '"url":"https://receiver.example.com/hooks","events":["*"]';
    it.each<[string, Method, string, string, string]>([
      [
        'metadata',
        'post',
        '/v1/webhooks',
        `{${webhook},"metadata":{"__proto__":"x"}}`,
        '/metadata/__proto__',
      ],
      ['headers', 'post', '/v1/webhooks', `{${webhook},"headers":{"__proto__":"x"}}`, '/headers/__proto__'],
      ['TLS', 'post', '/v1/webhooks', `{${webhook},"tls":{${PROTO}}}`, '/tls/__proto__'],
      ['patched metadata', 'patch', ':webhook', '{"metadata":{"__proto__":"x"}}', '/metadata/__proto__'],
      [
        'patched metadata, by null',
        'patch',
        ':webhook',
        '{"metadata":{"__proto__":null}}',
        '/metadata/__proto__',
      ],
      ['patched headers', 'patch', ':webhook', '{"headers":{"__proto__":"x"}}', '/headers/__proto__'],
    ])('is refused in %s', async (_what, method, at, json, pointer) => {
      const path = at === ':webhook' ? `/v1/webhooks/${own.webhook}` : at;
      const response = await send(method, path, json);
      expect(readProblem(response)).toEqual({ status: 422, code: 'invalid_request', pointers: [pointer] });
    });

    it('is refused in the schema of an event type, and in its example', async () => {
      for (const member of [
        `"schema":{"properties":{${PROTO}}},"example":{}`,
        `"schema":{},"example":{${PROTO}}`,
      ]) {
        const json = `{"description":"Odd",${member}}`;
        const response = await send('put', '/v1/event-types/odd.thing', json, operatorKey);
        expect(readProblem(response).status).toBe(422);
        expect(readProblem(response).pointers).toEqual([expect.stringMatching(/__proto__$/)]);
      }
    });

    it('is refused of one event in a batch, and sinks no other', async () => {
      const event = JSON.stringify({ type, data: example });
      const { body } = await send(
        'post',
        '/v1/events/batch',
        `{"events":[${event},{${PROTO},${event.slice(1)}]}`,
      );
      expect(body.data).toMatchObject([
        { status: 'accepted', status_code: 202 },
        { status_code: 422, error: { errors: [{ pointer: '/events/1/__proto__' }] } },
      ]);
    });

    it('is refused in data whose type does not know it', async () => {
      const json = `{"type":"${type}","data":{${PROTO},${JSON.stringify(example).slice(1)}}`;
      expect(readProblem(await send('post', '/v1/events', json))).toMatchObject({
        pointers: ['/data/__proto__'],
      });
    });

    // Data are never copied member by member: their text is checked, stored, signed and sent.
    it('is delivered as it was written in data of a type that takes any members', async () => {
      const taken = JSON.stringify({ description: 'Any', schema: { type: 'object' }, example: {} });
      expect((await send('put', '/v1/event-types/any.thing', taken, operatorKey)).status).toBeLessThan(300);
      const json = `{"type":"any.thing","data":{${PROTO},"a":{"__proto__":null}}}`;
      expect((await send('post', '/v1/events', json)).status).toBe(202);
      const [event] = (await readAcceptedEvents(api, accountId)).slice(-1);
      expect(event?.body).toBe(json);
      expect({}).not.toHaveProperty('status');
    });
  });
});
