import { type Client, createClient } from './client';
import type { ClientOptions } from './options';
import { ApiServer, json, problem, type Reply } from './testing/api-server';
import { failureOf } from './testing/failure-of';

const KEY = 'whk_0123456789abcdef_very-secret';
const WEBHOOK = { id: 'wh_1', url: 'https://example.com/hook', events: ['*'] };

let server: ApiServer;
afterEach(() => server.stop());

async function serve(options: Partial<ClientOptions>, ...replies: [Reply, ...Reply[]]): Promise<Client> {
  server = await ApiServer.start(...replies);
  return createClient({ baseUrl: server.baseUrl, apiKey: KEY, retries: 0, ...options });
}

describe('a call', () => {
  it('asks with the key, and resolves with the data', async () => {
    const client = await serve({}, json(200, WEBHOOK));
    const webhook = await client.GET('/v1/webhooks/{id}', { params: { path: { id: 'my crm' } } });
    expect(webhook).toEqual(WEBHOOK);
    expect(server.requests).toMatchObject([
      { method: 'GET', url: '/v1/webhooks/my%20crm', headers: { authorization: `Bearer ${KEY}` }, body: '' },
    ]);
    expect(server.requests[0]?.headers['user-agent']).toMatch(/^hookferry-client\/\d/);
  });

  it('sends a body as JSON, a query, and headers of its own', async () => {
    const client = await serve({}, json(200, WEBHOOK), json(200, { data: [] }));
    await client.PATCH('/v1/webhooks/{id}', {
      params: { path: { id: 'crm' }, header: { 'If-Match': '"7"' } },
      body: { rate_limit: null, metadata: { team: 'größe' } },
      headers: { 'x-request-id': 'mine' },
    });
    await client.GET('/v1/webhooks', { params: { query: { status: 'enabled', limit: 2 } } });
    expect(server.requests).toMatchObject([
      {
        method: 'PATCH',
        headers: { 'content-type': 'application/json', 'if-match': '"7"', 'x-request-id': 'mine' },
        body: '{"rate_limit":null,"metadata":{"team":"größe"}}',
      },
      { url: '/v1/webhooks?status=enabled&limit=2' },
    ]);
  });

  it('resolves with undefined where the response brings nothing', async () => {
    const client = await serve({}, (response) => response.writeHead(204).end());
    expect(await client.DELETE('/v1/webhooks/{id}', { params: { path: { id: 'crm' } } })).toBeUndefined();
  });

  it('acts for an account, under a path, and by a name of its own', async () => {
    server = await ApiServer.start(json(200, { data: [] }));
    const client = createClient({
      baseUrl: `${server.baseUrl}/hooks/`,
      apiKey: KEY,
      account: 'acme',
      userAgent: 'deploy/3',
    });
    await client.GET('/v1/event-types');
    expect(server.requests).toMatchObject([
      { url: '/hooks/v1/event-types', headers: { 'x-account-id': 'acme', 'user-agent': 'deploy/3' } },
    ]);
  });

  it('shows the headers of the response to who asks for them', async () => {
    const client = await serve({}, json(200, WEBHOOK, { etag: '"7"' }));
    let etag: string | null = null;
    await client.GET('/v1/webhooks/{id}', {
      params: { path: { id: 'crm' } },
      onResponse: ({ headers }) => {
        etag = headers.get('etag');
      },
    });
    expect(etag).toBe('"7"');
  });

  it('uses the fetch that it is given', async () => {
    const urls: string[] = [];
    const client = await serve(
      {
        fetch: async (request) => {
          urls.push(request.url);
          return await fetch(request);
        },
      },
      json(200, { data: [] }),
    );
    await client.GET('/v1/event-types');
    expect(urls).toEqual([`${server.baseUrl}/v1/event-types`]);
  });

  it('takes a number in a path, such as that of a version', async () => {
    const client = await serve({}, json(200, {}));
    const path = { id: 'wh_1', version: 3 };
    await client.POST('/v1/webhooks/{id}/transformation/versions/{version}/restore', { params: { path } });
    expect(server.requests.map(({ url }) => url)).toEqual([
      '/v1/webhooks/wh_1/transformation/versions/3/restore',
    ]);
  });

  it.each(['', '.', '..', undefined])('refuses %j as an id, which would be another path', async (id) => {
    const client = await serve({}, json(200, {}));
    const path = { id: id as string };
    await expect(client.DELETE('/v1/webhooks/{id}', { params: { path } })).rejects.toThrow(
      'DELETE /v1/webhooks/{id}: params.path.id must be an id',
    );
    expect(server.requests).toEqual([]);
  });
});

describe('an error of the API', () => {
  it('has everything that the problem says', async () => {
    const errors = [{ pointer: '/url', detail: 'must be an absolute URL' }];
    const client = await serve({}, problem(422, 'invalid_request', {}, { errors }));
    const error = await failureOf(client.POST('/v1/webhooks', { body: { url: 'x', events: ['*'] } }));
    expect(error).toMatchObject({
      name: 'WebhooksApiError',
      status: 422,
      code: 'invalid_request',
      detail: 'It is invalid_request.',
      errors,
      requestId: 'req_1',
      retryAfterSeconds: undefined,
      message:
        'POST /v1/webhooks: 422 invalid_request: It is invalid_request. /url: must be an absolute URL. (request req_1)',
    });
  });

  it('says when it makes sense to ask again', async () => {
    const client = await serve({}, problem(429, 'rate_limited', { 'retry-after': '7' }));
    expect(await failureOf(client.GET('/v1/webhooks'))).toMatchObject({ retryAfterSeconds: 7, errors: [] });
  });

  it.each<[string, Reply, string]>([
    ['a page of a proxy', (r) => r.writeHead(502, { 'content-type': 'text/html' }).end('<p>'), 'text/html'],
    [
      'a page in place of data',
      (r) => r.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
      'baseUrl',
    ],
    [
      'JSON that is none',
      (r) => r.writeHead(200, { 'content-type': 'application/json' }).end('{'),
      'baseUrl',
    ],
    ['a redirect', (r) => r.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(), 'is a redirect'],
  ])('is also what says that the response is %s', async (_, reply, words) => {
    const client = await serve({}, reply);
    const error = await failureOf(client.GET('/v1/webhooks'));
    expect(error).toMatchObject({ name: 'WebhooksApiError', code: 'unexpected_response' });
    expect(String(error)).toContain(words);
    expect(server.requests).toHaveLength(1);
  });
});

describe('paginate', () => {
  it('gives the items of all pages, and asks for a page when it comes to it', async () => {
    const pages = [
      json(200, { data: [{ id: 'a' }, { id: 'b' }], next_cursor: 'c 1', has_more: true }),
      json(200, { data: [{ id: 'c' }], next_cursor: null, has_more: false }),
    ] as const;
    const client = await serve({}, ...pages);
    const seen: (readonly [string, number])[] = [];
    for await (const { id } of client.paginate('/v1/webhooks', { params: { query: { limit: 2 } } })) {
      seen.push([id, server.requests.length]);
    }
    expect(seen).toEqual([
      ['a', 1],
      ['b', 1],
      ['c', 2],
    ]);
    expect(server.requests.map(({ url }) => url)).toEqual([
      '/v1/webhooks?limit=2',
      '/v1/webhooks?limit=2&cursor=c%201',
    ]);
  });

  it.each([[{}], [{ data: null }], [null], [[]], ['list']])(
    'is unexpected_response where the response %j has no list',
    async (response) => {
      const client = await serve({}, json(200, response));
      expect(await failureOf(client.paginate('/v1/webhooks').next())).toMatchObject({
        name: 'WebhooksApiError',
        status: 200,
        code: 'unexpected_response',
      });
    },
  );

  describe('while the older part of a list is not reachable', () => {
    const away = { type: 'x', title: 'x', status: 503, detail: 'Away.', code: 'history_unavailable' };
    const replies = [
      json(200, { data: [{ id: 'a' }], next_cursor: 'c', has_more: true, history: 'unavailable' }),
      json(503, { ...away, request_id: 'req_1' }),
    ] as const;

    it('ends there, and says so, for who wants to know', async () => {
      const client = await serve({}, ...replies);
      const onHistoryUnavailable = jest.fn();
      const seen = [];
      for await (const { id } of client.paginate('/v1/events', { onHistoryUnavailable })) seen.push(id);
      expect([seen, onHistoryUnavailable.mock.calls.length]).toEqual([['a'], 1]);
      expect(server.requests.map(({ url }) => url)).toEqual(['/v1/events']);
    });

    it('takes no part for the whole of it otherwise', async () => {
      const client = await serve({ retries: 0 }, ...replies);
      const list = client.paginate('/v1/events');
      expect((await list.next()).value).toEqual({ id: 'a' });
      expect(await failureOf(list.next())).toMatchObject({ code: 'history_unavailable' });
    });
  });

  it('goes over a list that belongs to something', async () => {
    const client = await serve({}, json(200, { data: [], next_cursor: null, has_more: false }));
    const list = client.paginate('/v1/webhooks/{id}/deliveries', { params: { path: { id: 'crm' } } });
    expect(await list.next()).toEqual({ done: true, value: undefined });
    expect(server.requests).toMatchObject([{ url: '/v1/webhooks/crm/deliveries' }]);
  });
});
