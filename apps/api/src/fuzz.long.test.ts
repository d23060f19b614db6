import { Agent, type IncomingHttpHeaders, request as sendHttp } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ApiKeyStore } from '@hookferry/core/accounts/redis-api-key-store';
import { DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import type { Signal } from '@hookferry/core/domain/signal';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { openTestRedis, type TestRedis } from '@hookferry/core/testing/test-redis';
import { TEST_ENCRYPTION_KEY } from '@hookferry/core/testing/test-sealer';
import * as fc from 'fast-check';
import { type Api, composeApi } from './compose';
import { readApiConfig } from './config';
import { saveBelongings, unknownIds } from './testing/belongings';
import { readProblem } from './testing/read-problem';
import { pathTo, routeCases } from './testing/route-cases';
import { untilReady } from './testing/start-test-api';

// FUZZ_REQUESTS=10000 FUZZ_SEED=… for more of them, or for the ones that failed.
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 2_000);
const SEED = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
const AT_A_TIME = 8;
// What a process may grow in half the requests without growing with each of them.
const HEAP_SLACK_BYTES = 4 * 1024 * 1024;

interface Bad {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

let redis: TestRedis;
let api: Api;
let key: string;
let paths: string[];
const failures: Signal[] = [];
const agent = new Agent({ keepAlive: true, maxSockets: AT_A_TIME });

beforeAll(async () => {
  redis = await openTestRedis();
  const settings = {
    API_HOST: '127.0.0.1',
    API_PORT: '0',
    RATE_LIMIT: 'off',
    AUTH_FAILURE_LIMIT: 'off',
    DRAIN_DELAY: '0s',
    SECRETS_ENCRYPTION_KEY: TEST_ENCRYPTION_KEY,
  };
  const config = readApiConfig({ REDIS_URL: redis.url, MAX_EVENT_BYTES: '4096', ...settings });
  api = await composeApi(config, [
    (signal) => {
      if (signal.name === 'request.failed') failures.push(signal);
    },
  ]);
  await untilReady(`http://127.0.0.1:${api.port}`);
  const issued = buildApiKey({ accountId: DEFAULT_ACCOUNT });
  key = issued.key;
  await new ApiKeyStore(redis.client).save(issued.record);
  const own = await saveBelongings(redis, DEFAULT_ACCOUNT);
  paths = routeCases.flatMap((route) => [pathTo(route, own), pathTo(route, unknownIds())]);
});
afterAll(async () => {
  agent.destroy();
  for (const part of api.parts) await part.stop();
  await redis.close();
});

const oddNames = fc.constantFrom(
  '__proto__',
  'constructor',
  'toString',
  '',
  'a/b',
  '\u0000',
  '\ud800',
  'data',
);
const oddTexts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    '\u0000',
    '\ud800',
    '\u202e',
    '🧨'.repeat(20),
    'x'.repeat(3_000),
    '-0',
    'null',
    '../../etc',
  ),
);
const oddValues = fc.oneof(
  oddTexts,
  fc.constantFrom<unknown>(null, true, [], {}, -0, 1e308, 2 ** 53, -1, 0.1, [[]], [null]),
  fc.jsonValue({ maxDepth: 3 }),
);

/** A body that a route takes, with some of its members changed, removed or added. */
const changedBodies = fc
  .tuple(
    fc.constantFrom(...routeCases.flatMap(({ body }) => (body === undefined ? [] : [body]))),
    fc.array(fc.tuple(fc.nat(5), oddNames, oddValues), { minLength: 1, maxLength: 3 }),
  )
  .map(([body, changes]) => {
    const members = Object.entries<unknown>(body);
    for (const [at, name, value] of changes) {
      if (at < members.length) members[at] = [members[at]?.[0] ?? name, value];
      else members.push([name, value]);
    }
    const texts = members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
    return `{${texts.join(',')}}`;
  });

const bodies = fc.oneof(
  changedBodies,
  fc.tuple(changedBodies, fc.double({ min: 0, max: 1, noNaN: true })).map(([text, part]) => {
    return text.slice(0, Math.floor(text.length * part));
  }),
  oddValues.map((value) => JSON.stringify(value)),
  fc.tuple(fc.constantFrom('[', '{"data":'), fc.constantFrom(100, 2_000, 9_000)).map(([open, depth]) => {
    return open.repeat(depth) + (open === '[' ? ']' : '1}').repeat(depth);
  }),
  fc.constantFrom(
    '{"type":1e999}',
    '{"a":1,"a":2}',
    '9'.repeat(400),
    '{"data":"\\ud800"}',
    '\ufeff{}',
    'x'.repeat(9_000),
  ),
);

const oddPaths = fc.oneof(
  fc.constantFrom(
    '/%',
    '/%ff',
    '/v1/%2e%2e/webhooks',
    '/v1/webhooks/%00',
    '/v1//webhooks',
    '/v1/webhooks/',
    '*',
  ),
  fc
    .string({ unit: 'grapheme-ascii', maxLength: 30 })
    .map((text) => `/v1/webhooks/${encodeURIComponent(text)}`),
  fc.webPath().map((path) => `/v1/deliveries/${path}`),
  fc.constant(`/v1/${'x'.repeat(9_000)}`),
);

const oddHeaders = fc.oneof(
  fc.constant({}),
  fc.constantFrom<Record<string, string>>(
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/json; charset=utf-16' },
    { 'content-type': 'application/json; charset="' },
    { 'content-type': ';' },
    { 'content-encoding': 'gzip' },
    { 'content-encoding': 'x' },
    { 'x-account-id': '\u00ff' },
    { 'x-account-id': 'a'.repeat(5_000) },
    { 'x-request-id': '"' },
    { 'x-forwarded-for': ',,,' },
    { 'x-long': 'x'.repeat(15_000) },
    { authorization: 'Bearer' },
    { authorization: 'Bearer whk_' },
    { expect: '200-ok' },
  ),
);

const queries = fc.oneof(
  { weight: 3, arbitrary: fc.constant('') },
  fc.webQueryParameters().map((text) => `?${text}`),
  fc.constantFrom(
    '?limit=1e9',
    '?limit=1&limit=2',
    '?cursor=%00',
    '?__proto__=1',
    '?a[b]=c',
    '?%',
    '?limit=%ff',
  ),
);

// Without HEAD, which has no body to look at.
const methods = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('POST', 'PATCH') },
  fc.constantFrom('GET', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'PROPFIND'),
);

function badRequests(): fc.Arbitrary<Bad> {
  const known = fc.constantFrom(...paths);
  return fc.record({
    method: methods,
    path: fc
      .tuple(fc.oneof({ weight: 4, arbitrary: known }, oddPaths), queries)
      .map(([path, query]) => path + query),
    headers: oddHeaders.map((headers) => ({
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...headers,
    })),
    body: bodies,
  });
}

function send({ method, path, headers, body }: Bad): Promise<Answer> {
  return new Promise((resolve, reject) => {
    // Or Node would send the body of a GET without saying that it does, and so as a request of its own.
    const framed = { ...headers, 'content-length': Buffer.byteLength(body) };
    const sent = sendHttp({ port: api.port, host: '127.0.0.1', agent, method, path, headers: framed });
    sent.once('error', reject);
    sent.once('response', (response) => {
      const { statusCode: status = 0 } = response;
      readText(response).then(
        (text) => resolve({ status, headers: textsOf(response.headers), text }),
        reject,
      );
    });
    sent.end(body);
  });
}

function textsOf(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

/** What is wrong with the answer to a bad request; `undefined` for nothing. */
async function faultIn(bad: Bad): Promise<string | undefined> {
  const answer = await send(bad);
  if (answer.status >= 500) return `status ${answer.status}`;
  if (answer.status < 400) return undefined;
  try {
    readProblem({ ...answer, body: JSON.parse(answer.text) });
    return undefined;
  } catch (error) {
    return `${answer.status} ${answer.text}: ${String(error)}`;
  }
}

function createCollectGarbage(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

it(`answers whatever it is sent, never with a fault of its own, and keeps nothing of it (seed ${SEED})`, async () => {
  const collectGarbage = createCollectGarbage();
  const heapAfter: number[] = [];
  for (let quarter = 0; quarter < 4; quarter += 1) {
    const sample = fc.sample(badRequests(), { seed: SEED + quarter, numRuns: REQUESTS / 4 });
    while (sample.length > 0) {
      const batch = sample.splice(-AT_A_TIME);
      const validationErrors = await Promise.all(batch.map(faultIn));
      const at = validationErrors.findIndex((fault) => fault !== undefined);
      expect({ fault: validationErrors[at], ...(at < 0 ? {} : batch[at]) }).toEqual({ fault: undefined });
    }
    collectGarbage();
    heapAfter.push(process.memoryUsage().heapUsed);
  }
  expect(failures).toEqual([]);
  const [, second = 0, , last = 0] = heapAfter;
  expect(last - second).toBeLessThan(HEAP_SLACK_BYTES);
}, 300_000);
