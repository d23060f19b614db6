import { join } from 'node:path';
import { ApiKeyStore } from '@hookferry/core/accounts/redis-api-key-store';
import { connectRedis } from '@hookferry/core/platform/redis-connect';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { untilReady } from '../processes/built-service';
import { MeasuredProcess } from '../processes/measured-process';
import { percentile, printTable } from '../report';
import type { SuiteOptions } from '../suite';
import { type History, loadFanOut, loadHistory, type Sample } from './load-history';
import { runMovedHistory } from './moved-history';
import { usedBytes } from './moved-stage';
import { atIndex, getJson, measure, minuteOf, type PathOf, type Route } from './routes';

const API = join(__dirname, '../../../apps/api/dist/main.js');
// The scenes about what is in Redis, and the name of all of them.
const IN_REDIS = ['redis', 'lists', 'account', 'fan-out'];
const AT_ONCE = 4;
const COLUMNS = ['', 'p50', 'p99', `p50, ${AT_ONCE} at once`, `p99, ${AT_ONCE} at once`, 'CPU of the API'];

/** What the history in PostgreSQL costs; the other scenes are about what is in Redis. */
export async function runHistorySuite(options: SuiteOptions): Promise<void> {
  if (IN_REDIS.includes(options.scene ?? '')) await runInRedis(options);
  else await runMovedHistory(options);
}

/** How long reading what happened takes when there is much of it in Redis, over HTTP. */
async function runInRedis({ redisUrl, short, deliveries, rounds, scene }: SuiteOptions): Promise<void> {
  const count = deliveries ?? (short ? 20_000 : 1_000_000);
  const requests = rounds ?? (short ? 20 : 1_000);
  const webhooks = short ? 500 : 10_000;
  const redis = connectRedis({
    url: redisUrl,
    role: 'working',
    name: 'bench',
    emit: () => {},
  });
  await redis.flushdb();
  const { key, record } = buildApiKey();
  const other = buildApiKey();
  const apiKeyStore = new ApiKeyStore(redis);
  for (const issued of [record, other.record]) await apiKeyStore.save(issued);

  const before = await usedBytes(redis);
  const startedAt = performance.now();
  const history = await loadHistory({ redis, accountId: record.accountId, deliveries: count });
  const loadedInS = (performance.now() - startedAt) / 1_000;
  const bytes = ((await usedBytes(redis)) - before) / count;
  await loadFanOut({ redis, accountId: other.record.accountId, endpoints: webhooks });

  const port = await findClosedPort();
  const api = new MeasuredProcess(API, {
    REDIS_URL: redisUrl,
    API_HOST: '127.0.0.1',
    API_PORT: String(port),
    LOG_LEVEL: 'error',
    RATE_LIMIT: '1000000/1s',
  });
  try {
    const url = `http://127.0.0.1:${port}`;
    await untilReady(url);
    const input = inputOf(url, key, history);
    const scenes = {
      lists: { title: `Reading ${count} deliveries on record`, key, routesOf: () => listRoutes(input) },
      account: { title: `All ${count} of an account`, key, routesOf: () => accountRoutes(input) },
      'fan-out': { title: `One event to ${webhooks} webhooks`, key: other.key, routesOf: fanOutRoutes },
    };
    for (const [name, { title, key: sceneKey, routesOf }] of Object.entries(scenes)) {
      if (scene !== 'redis' && scene !== name) continue;
      const rows = await measureRoutes({ url, key: sceneKey, api, requests, routes: await routesOf() });
      printTable(`${title}, ${requests} requests each, ms`, [COLUMNS, ...rows]);
    }
    printTable('Putting them on record', [
      ['', ''],
      ['bytes in Redis for a delivery and its event', bytes.toFixed(0)],
      ['loaded in, s', loadedInS.toFixed(0)],
    ]);
  } finally {
    await api.stop();
    redis.disconnect();
  }
}

interface MeasureRoutesInput {
  readonly url: string;
  readonly key: string;
  readonly api: MeasuredProcess;
  readonly routes: readonly Route[];
  readonly requests: number;
}

function inputOf(url: string, key: string, history: History): RoutesInput {
  return {
    ...history,
    cursorAt: async (list, time) => {
      const until = new Date(time + 1).toISOString();
      const page = await getJson(`${url}${list}?limit=1&until=${until}`, withKey(key));
      return String(page.next_cursor);
    },
  };
}

async function measureRoutes({ url, key, api, routes, requests }: MeasureRoutesInput): Promise<string[][]> {
  const get = (path: string) => getJson(url + path, withKey(key));
  const rows: string[][] = [];
  for (const [label, pathOf] of routes) {
    await measure({ get, pathOf, requests: Math.ceil(requests / 10), atOnce: 1 });
    const cpuBefore = api.cpuMs();
    const alone = await measure({ get, pathOf, requests, atOnce: 1 });
    const cpuMs = (api.cpuMs() - cpuBefore) / requests;
    const together = await measure({ get, pathOf, requests, atOnce: AT_ONCE });
    const times = [alone, together].flatMap((each) => [percentile(each, 0.5), percentile(each, 0.99)]);
    rows.push([label, ...[...times, cpuMs].map((figure) => figure.toFixed(1))]);
    process.stderr.write(`  ${label}\n`);
  }
  return rows;
}

interface RoutesInput extends History {
  /** The page of a list of deliveries that begins at a time: what has come before it is not seen. */
  readonly cursorAt: (list: string, time: number) => Promise<string>;
}

// Not as many as there are samples: each is a request of its own.
const CURSORS = 50;

/** What is asked for, and how it is called in the report. */
async function listRoutes(input: RoutesInput): Promise<readonly Route[]> {
  const { endpointIds, samples } = input;
  // A step that is prime to their number goes through all of them, back and forth in time.
  const sample = (i: number) => atIndex(samples, i * 7);
  const list: PathOf = (i) => `/v1/webhooks/${atIndex(endpointIds, i)}/deliveries`;
  const deep = await deepPages(input, ({ endpointId }) => `/v1/webhooks/${endpointId}/deliveries`);
  return [
    ['GET /v1/webhooks/{id}/deliveries', list],
    ['… ?limit=200', (i) => `${list(i)}?limit=200`],
    ['… ?cursor=…', (i) => atIndex(deep, i)],
    ['… ?since=…&until=…', (i) => `${list(i)}?${minuteOf(sample(i).createdAt)}`],
    ['… ?status=delivered', (i) => `${list(i)}?status=delivered`],
    ['… ?status=exhausted, one in 50', (i) => `${list(i)}?status=exhausted`],
    ['… ?status=held, there is none', (i) => `${list(i)}?status=held`],
    ['… ?status_class=5xx, one in 50', (i) => `${list(i)}?status_class=5xx`],
    ['… ?status_class=4xx, there is none', (i) => `${list(i)}?status_class=4xx`],
    ['… ?event_type=…, all are', (i) => `${list(i)}?event_type=keyword.quick_win`],
    ['… ?event_type=…, there is none', (i) => `${list(i)}?event_type=none.such`],
    ['GET /v1/deliveries/{id}', (i) => `/v1/deliveries/${sample(i).eventId}.${sample(i).endpointId}`],
    ['GET /v1/events', () => '/v1/events'],
    ['… ?since=…&until=…', (i) => `/v1/events?${minuteOf(sample(i).createdAt)}`],
    ['… ?type=…, there is none', () => '/v1/events?type=none.such'],
    ['GET /v1/events/{id}', (i) => `/v1/events/${sample(i).eventId}`],
    ['GET /v1/events/{id}/deliveries', (i) => `/v1/events/${sample(i).eventId}/deliveries`],
  ];
}

// From the middle of the time on.
async function deepPages(
  { samples, cursorAt }: RoutesInput,
  listOf: (sample: Sample) => string,
): Promise<readonly string[]> {
  const middle = Math.floor(samples.length / 2);
  return await Promise.all(
    samples.slice(middle, middle + CURSORS).map(async (sample) => {
      const list = listOf(sample);
      return `${list}?cursor=${await cursorAt(list, sample.createdAt)}`;
    }),
  );
}

/** What is asked for of all deliveries of an account: there is no list of them. */
async function accountRoutes(input: RoutesInput): Promise<readonly Route[]> {
  const list = '/v1/deliveries';
  const sample = (i: number) => atIndex(input.samples, i * 7);
  const deep = await deepPages(input, () => list);
  return [
    [`GET ${list}`, () => list],
    ['… ?limit=200', () => `${list}?limit=200`],
    ['… ?cursor=…', (i) => atIndex(deep, i)],
    ['… ?since=…&until=…', (i) => `${list}?${minuteOf(sample(i).createdAt)}`],
    ['… ?status=exhausted, one in 50', () => `${list}?status=exhausted`],
    ['… ?status=held, there is none', () => `${list}?status=held`],
    ['… ?outcome=http_4xx, there is none', () => `${list}?outcome=http_4xx`],
    ['… ?event_type=…, there is none', () => `${list}?event_type=none.such`],
    ['… ?webhook_id=…', (i) => `${list}?webhook_id=${sample(i).endpointId}`],
    ['… ?event_id=…', (i) => `${list}?event_id=${sample(i).eventId}`],
  ];
}

/** What is asked for of an account with an event that went to thousands of webhooks. */
function fanOutRoutes(): readonly Route[] {
  return [
    ['GET /v1/deliveries', () => '/v1/deliveries'],
    ['… ?limit=200', () => '/v1/deliveries?limit=200'],
    ['… ?status=exhausted, there is none', () => '/v1/deliveries?status=exhausted'],
    ['… ?status=held, there is none', () => '/v1/deliveries?status=held'],
    ['GET /v1/webhooks', () => '/v1/webhooks'],
    ['… ?include=health', () => '/v1/webhooks?include=health'],
    ['… ?include=health&limit=200', () => '/v1/webhooks?include=health&limit=200'],
  ];
}

function withKey(key: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${key}` };
}
