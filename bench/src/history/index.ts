import { join } from 'node:path';
import { createRedisApiKeyStore } from '@hookferry/core/accounts/redis-api-key-store';
import { connectRedis, type RedisClient } from '@hookferry/core/platform/redis-connect';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { MeasuredProcess } from '../processes/measured-process';
import { untilReady } from '../processes/until-ready';
import { percentile } from '../report/percentile';
import { printTable } from '../report/print-table';
import type { SuiteOptions } from '../suite';
import { loadFanOut } from './load-fan-out';
import { type History, loadHistory } from './load-history';
import { measure } from './measure';
import { accountRoutes, fanOutRoutes, listRoutes, type Route, type RoutesInput } from './routes';

const API = join(__dirname, '../../../apps/api/dist/main.js');
const AT_ONCE = 4;
const COLUMNS = ['', 'p50', 'p99', `p50, ${AT_ONCE} at once`, `p99, ${AT_ONCE} at once`, 'CPU of the API'];

/** How long reading what happened takes when there is much of it, over HTTP. */
export async function runHistorySuite({
  redisUrl,
  short,
  deliveries,
  rounds,
  scene,
}: SuiteOptions): Promise<void> {
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
  const apiKeyStore = createRedisApiKeyStore(redis);
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
      if (scene !== undefined && scene !== name) continue;
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
      const page = await getJson(`${url}${list}?limit=1&until=${until}`, key);
      return String(page.next_cursor);
    },
  };
}

async function measureRoutes({ url, key, api, routes, requests }: MeasureRoutesInput): Promise<string[][]> {
  const get = (path: string) => getJson(url + path, key);
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

async function getJson(url: string, key: string): Promise<Record<string, unknown>> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  const body = await response.text();
  if (response.status !== 200) throw new Error(`${url} was answered with ${response.status}.`);
  return JSON.parse(body) as Record<string, unknown>;
}

async function usedBytes(redis: RedisClient): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
}
