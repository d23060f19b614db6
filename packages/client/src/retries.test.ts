import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { inspect } from 'node:util';
import { type Client, createClient } from './client';
import type { ClientOptions, Retry } from './options';
import { ApiServer, cut, cutAfter, json, problem, type Reply, silence } from './testing/api-server';
import { failureOf } from './testing/failure-of';

const KEY = 'whk_0123456789abcdef_very-secret';
const AT_ONCE = { 'retry-after': '0' };
const LIST = { data: [], next_cursor: null, has_more: false };
const NEW = { body: { url: 'https://example.com/hook', events: ['*'] } };

let server: ApiServer;
let retries: Retry[];
beforeEach(() => {
  retries = [];
});
afterEach(() => server.stop());

async function serve(options: Partial<ClientOptions>, ...replies: [Reply, ...Reply[]]): Promise<Client> {
  server = await ApiServer.start(...replies);
  return createClient({
    baseUrl: server.baseUrl,
    apiKey: KEY,
    onRetry: (retry) => retries.push(retry),
    ...options,
  });
}

const keysSeen = () => server.requests.map(({ headers }) => headers['idempotency-key']);

describe('retries', () => {
  it.each([
    [429, 'rate_limited'],
    [503, 'storage_unavailable'],
    [409, 'request_in_progress'],
  ])('ask again after %i %s, as late as the response says', async (status, code) => {
    const client = await serve({}, problem(status, code, AT_ONCE), json(200, LIST));
    expect(await client.GET('/v1/webhooks')).toEqual(LIST);
    expect(retries).toMatchObject([
      { method: 'GET', path: '/v1/webhooks', retry: 1, delayMs: 0, error: { code, retryAfterSeconds: 0 } },
    ]);
  });

  it.each([
    [404, 'not_found'],
    [409, 'conflict'],
    [500, 'internal_error'],
  ])('are not made after %i %s', async (status, code) => {
    const client = await serve({}, problem(status, code, AT_ONCE));
    expect(await failureOf(client.GET('/v1/webhooks'))).toMatchObject({ status, code });
    expect(server.requests).toHaveLength(1);
  });

  it('end with the last error', async () => {
    const client = await serve({ retries: 2 }, problem(503, 'storage_unavailable', AT_ONCE));
    expect(await failureOf(client.GET('/v1/webhooks'))).toMatchObject({ code: 'storage_unavailable' });
    expect(server.requests).toHaveLength(3);
  });

  it('are none with retries: 0', async () => {
    const client = await serve({ retries: 0 }, problem(503, 'storage_unavailable', AT_ONCE));
    await failureOf(client.GET('/v1/webhooks'));
    expect(server.requests).toHaveLength(1);
  });

  it('are not made when the service asks for a longer wait than anybody expects', async () => {
    const client = await serve({}, problem(429, 'rate_limited', { 'retry-after': '61' }));
    expect(await failureOf(client.GET('/v1/webhooks'))).toMatchObject({ retryAfterSeconds: 61 });
    expect(server.requests).toHaveLength(1);
  });

  it('follow a connection that was cut before the response, and one that was cut within it', async () => {
    const half = cutAfter('{"data":[', 'application/json');
    const client = await serve({}, cut, half, json(200, LIST));
    expect(await client.GET('/v1/webhooks')).toEqual(LIST);
    expect(retries.map(({ error }) => error)).toMatchObject([
      { name: 'WebhooksConnectionError', code: 'connection_failed' },
      { name: 'WebhooksConnectionError', code: 'connection_failed' },
    ]);
  });

  it('follow a response that did not come in time', async () => {
    const client = await serve({ timeoutMs: 200 }, silence, json(200, LIST));
    expect(await client.GET('/v1/webhooks')).toEqual(LIST);
    expect(retries).toMatchObject([
      { error: { code: 'timeout', message: 'GET /v1/webhooks: no response within 200 ms' } },
    ]);
  });

  it('count the time until the end of the response', async () => {
    const client = await serve({ timeoutMs: 200, retries: 0 }, (response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write('{');
    });
    expect(await failureOf(client.GET('/v1/webhooks'))).toMatchObject({ code: 'timeout' });
  });
});

describe('a request that makes something', () => {
  it('is sent again under the same Idempotency-Key, another one under another', async () => {
    const created = json(201, { id: 'wh_1' });
    const client = await serve({}, problem(503, 'storage_unavailable', AT_ONCE), cut, created);
    await client.POST('/v1/webhooks', NEW);
    await client.POST('/v1/webhooks', NEW);
    const [first, second, third, other] = keysSeen();
    expect(first).toMatch(/^[0-9a-f]{32}$/);
    expect([second, third]).toEqual([first, first]);
    expect(other).not.toBe(first);
    expect(new Set(server.requests.map(({ body }) => body))).toEqual(new Set([JSON.stringify(NEW.body)]));
  });

  it('keeps the Idempotency-Key that it is given', async () => {
    const client = await serve({}, json(201, { id: 'wh_1' }));
    await client.POST('/v1/webhooks', { ...NEW, params: { header: { 'Idempotency-Key': 'mine' } } });
    await client.POST('/v1/webhooks', { ...NEW, headers: { 'idempotency-key': 'mine too' } });
    expect(keysSeen()).toEqual(['mine', 'mine too']);
  });
});

describe('a POST without an Idempotency-Key', () => {
  const enable = (client: Client) =>
    client.POST('/v1/webhooks/{id}/enable', { params: { path: { id: 'crm' } } });

  it.each<[string, Reply]>([
    ['a cut connection', cut],
    ['silence', silence],
  ])('is not sent again after %s: it may have worked', async (_, reply) => {
    const client = await serve({ timeoutMs: 200 }, reply);
    expect(await failureOf(enable(client))).toMatchObject({ name: 'WebhooksConnectionError' });
    expect(server.requests).toHaveLength(1);
    expect(keysSeen()).toEqual([undefined]);
  });

  it('is sent again after a response that asks for it', async () => {
    const client = await serve({}, problem(503, 'storage_unavailable', AT_ONCE), json(200, { id: 'wh_1' }));
    expect(await enable(client)).toEqual({ id: 'wh_1' });
  });

  it('is sent again where nobody listens: nothing was sent', async () => {
    server = await ApiServer.start(json(200, {}));
    const unused = createServer().listen(0, '127.0.0.1');
    await once(unused, 'listening');
    const { port } = unused.address() as AddressInfo;
    unused.close();
    await once(unused, 'close');
    const client = createClient({
      baseUrl: `http://127.0.0.1:${port}`,
      apiKey: KEY,
      retries: 1,
      onRetry: (retry) => retries.push(retry),
    });
    const error = await failureOf(enable(client));
    expect(error).toMatchObject({ code: 'connection_failed', cause: { cause: { code: 'ECONNREFUSED' } } });
    expect(String(error)).toContain(
      'POST /v1/webhooks/crm/enable: the connection failed: connect ECONNREFUSED',
    );
    expect(retries).toHaveLength(1);
  });
});

describe("the caller's signal", () => {
  it('ends a request', async () => {
    const controller = new AbortController();
    const client = await serve({}, () => controller.abort('enough'));
    const error = await failureOf(client.GET('/v1/webhooks', { signal: controller.signal }));
    expect(error).toMatchObject({ name: 'WebhooksConnectionError', code: 'aborted', cause: 'enough' });
    expect(server.requests).toHaveLength(1);
  });

  it('ends a wait', async () => {
    const controller = new AbortController();
    const client = await serve(
      { onRetry: () => controller.abort() },
      problem(429, 'rate_limited', { 'retry-after': '60' }),
    );
    const error = await failureOf(client.GET('/v1/webhooks', { signal: controller.signal }));
    expect(error).toMatchObject({ code: 'aborted' });
  });

  it('sends nothing when it had ended before', async () => {
    const client = await serve({}, json(200, LIST));
    const error = await failureOf(client.GET('/v1/webhooks', { signal: AbortSignal.abort() }));
    expect(error).toMatchObject({ code: 'aborted' });
    expect(server.requests).toEqual([]);
  });
});

it.each<[string, Reply]>([
  ['a refusal', problem(401, 'unauthenticated')],
  ['a cut connection', cut],
  ['a page', (response) => response.writeHead(500, { 'content-type': 'text/html' }).end()],
])('no error after %s shows the key', async (_, reply) => {
  const client = await serve({ retries: 0 }, reply);
  const error = await failureOf(client.GET('/v1/webhooks'));
  const shown = inspect(error, { depth: 20, showHidden: true });
  expect(shown).toContain('GET /v1/webhooks');
  expect(shown).not.toContain('very-secret');
});
