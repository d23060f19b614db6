import { request as send } from 'node:http';
import { keywordQuickWin } from '@hookferry/core/accounts/event-types/built-in';
import { createClosables } from '@hookferry/core/testing/closables';
import { startRedisProxy } from '@hookferry/core/testing/redis-proxy';
import { startApi, startTestApi, type TestApi, untilReady } from '../testing/start-test-api';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

let api: TestApi;
let key: string;
beforeAll(async () => {
  api = await startTestApi({ RATE_LIMIT: '50/1h' });
  ({ key } = await api.issueKey());
});
afterAll(() => api.close());

interface Asked {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** Status and head of an answer as they are on the wire, but for the case of names, with a name for each value that is another one each time. */
async function headOf(
  url: string,
  { method = 'GET', headers = {}, body }: Asked,
): Promise<readonly string[]> {
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const sent = { connection: 'keep-alive', ...headers, ...length };
  return await new Promise((resolve, reject) => {
    send(url, { method, headers: sent }, (answer) => {
      answer.resume().on('end', () => {
        const { rawHeaders, statusCode } = answer;
        const lines = rawHeaders.flatMap((name, i) =>
          i % 2 === 0 ? [`${name.toLowerCase()}: ${nameless(name, rawHeaders[i + 1] ?? '')}`] : [],
        );
        resolve([String(statusCode), ...lines.toSorted()]);
      });
    })
      .on('error', reject)
      .end(body);
  });
}

function nameless(name: string, value: string): string {
  switch (name.toLowerCase()) {
    case 'date':
      return Number.isNaN(Date.parse(value)) ? value : '<date>';
    case 'x-request-id':
      return value.replace(/^req_\w{22}$/, '<id>');
    case 'ratelimit':
      return value.replace(/r=\d+;t=\d+/, '<rate>');
    case 'content-length':
      return value.replace(/^[1-9]\d*$/, '<bytes>');
    case 'retry-after':
      return value.replace(/^\d+$/, '<seconds>');
    default:
      return value;
  }
}

const json = (extra: Record<string, string> = {}) => ({
  'content-type': 'application/json',
  authorization: `Bearer ${key}`,
  ...extra,
});
const event = JSON.stringify({ type: keywordQuickWin.name, data: keywordQuickWin.example });

const COMMON = [
  'connection: keep-alive',
  "content-security-policy: default-src 'none';frame-ancestors 'none'",
  'cross-origin-opener-policy: same-origin',
  'cross-origin-resource-policy: same-origin',
  'date: <date>',
  'keep-alive: timeout=65',
  'referrer-policy: no-referrer',
  'strict-transport-security: max-age=31536000',
  'x-content-type-options: nosniff',
  'x-frame-options: DENY',
];
const ID = 'x-request-id: <id>';
const NO_STORE = 'cache-control: no-store';
const JSON_BODY = ['content-length: <bytes>', 'content-type: application/json; charset=utf-8'];
const PROBLEM = ['content-length: <bytes>', 'content-type: application/problem+json; charset=utf-8'];
const RATE = ['ratelimit-policy: "default";q=50;w=3600', 'ratelimit: "default";<rate>'];

const list = (status: number, ...lines: readonly string[]) => [
  String(status),
  ...[...COMMON, ...lines].toSorted(),
];

describe('the whole head of an answer', () => {
  it.each<[string, string, () => Asked, readonly string[]]>([
    [
      'of an accepted event',
      '/v1/events',
      () => ({ method: 'POST', headers: json(), body: event }),
      list(202, ID, NO_STORE, ...RATE, ...JSON_BODY),
    ],
    [
      'with the id that a proxy gave',
      '/v1/events',
      () => ({ method: 'POST', headers: json({ 'x-request-id': 'of-a-proxy' }), body: event }),
      list(202, 'x-request-id: of-a-proxy', NO_STORE, ...RATE, ...JSON_BODY),
    ],
    ['of a page', '/v1/events', () => ({ headers: json() }), list(200, ID, NO_STORE, ...RATE, ...JSON_BODY)],
    [
      'of an answer without a body',
      '/v1/webhooks/ep_0000000000000000000000',
      () => ({ method: 'DELETE', headers: json() }),
      list(404, ID, NO_STORE, ...RATE, ...PROBLEM),
    ],
    [
      'of no JSON',
      '/v1/events',
      () => ({ method: 'POST', headers: json(), body: '{' }),
      list(400, ID, NO_STORE, ...RATE, ...PROBLEM),
    ],
    [
      'of an invalid event',
      '/v1/events',
      () => ({ method: 'POST', headers: json(), body: '{}' }),
      list(422, ID, NO_STORE, ...RATE, ...PROBLEM),
    ],
    [
      'of another media type',
      '/v1/events',
      () => ({ method: 'POST', headers: json({ 'content-type': 'text/plain' }), body: 'x' }),
      list(415, ID, NO_STORE, ...RATE, ...PROBLEM),
    ],
    [
      'of a compressed body',
      '/v1/events',
      () => ({ method: 'POST', headers: json({ 'content-encoding': 'gzip' }), body: 'x' }),
      list(415, ID, NO_STORE, 'accept-encoding: identity', ...RATE, ...PROBLEM),
    ],
    [
      'without a key',
      '/v1/events',
      () => ({}),
      list(401, ID, NO_STORE, 'www-authenticate: Bearer', ...PROBLEM),
    ],
    ['of an unknown path', '/v1/nothing', () => ({}), list(404, ID, ...PROBLEM)],
    ['of a badly encoded path', '/v1/webhooks/%ff', () => ({ headers: json() }), list(404, ID, ...PROBLEM)],
    [
      'of another method',
      '/v1/events',
      () => ({ method: 'PUT' }),
      list(405, ID, 'allow: GET, POST', ...PROBLEM),
    ],
    ['of a long URL', `/v1/events?${'a'.repeat(9_000)}`, () => ({}), list(414, ID, ...PROBLEM)],
    [
      'of HEAD',
      '/v1/events',
      () => ({ method: 'HEAD', headers: json() }),
      list(200, ID, NO_STORE, ...RATE, ...JSON_BODY),
    ],
    [
      'of a probe',
      '/healthz',
      () => ({}),
      list(200, ID, 'content-length: <bytes>', 'content-type: application/json; charset=utf-8'),
    ],
    [
      'of the API description',
      '/openapi.json',
      () => ({}),
      list(200, ID, 'content-length: <bytes>', 'content-type: application/json; charset=utf-8'),
    ],
  ])('%s', async (_of, path, asked, expected) => {
    expect(await headOf(`${api.url}${path}`, asked())).toEqual(expected);
  });

  it('of a request that is one too many', async () => {
    const redis = api.redis;
    const own = willClose(await startApi({ REDIS_URL: redis.url, RATE_LIMIT: '1/1h' }));
    await untilReady(own.url);
    const issued = await api.issueKey();
    const headers = { authorization: `Bearer ${issued.key}` };
    await headOf(`${own.url}/v1/events`, { headers });
    expect(await headOf(`${own.url}/v1/events`, { headers })).toEqual(
      list(
        429,
        ID,
        NO_STORE,
        'ratelimit-policy: "default";q=1;w=3600',
        'ratelimit: "default";<rate>',
        'retry-after: <seconds>',
        ...PROBLEM,
      ),
    );
  });

  it('while Redis is away', async () => {
    const proxy = willClose(await startRedisProxy(api.redis.url));
    const own = willClose(await startApi({ REDIS_URL: proxy.url }));
    await untilReady(own.url);
    const issued = await api.issueKey();
    const headers = { authorization: `Bearer ${issued.key}`, 'content-type': 'application/json' };
    await headOf(`${own.url}/v1/events`, { method: 'POST', headers, body: event });
    proxy.freeze();
    for (const path of ['/v1/events', '/v1/events/batch']) {
      expect(await headOf(`${own.url}${path}`, { method: 'POST', headers, body: event })).toEqual(
        list(503, ID, NO_STORE, 'retry-after: <seconds>', ...PROBLEM),
      );
    }
    proxy.thaw();
  });
});
