import { join } from 'node:path';
import { createRedisApiKeyStore } from '@webhooks/core/api-keys/redis-api-key-store';
import { connectRedis, type RedisClient } from '@webhooks/core/redis/redis-connect';
import { buildApiKey } from '@webhooks/core/testing/build-api-key';
import { findClosedPort } from '@webhooks/core/testing/local-server';
import { MeasuredProcess } from '../processes/measured-process';
import { untilReady } from '../processes/until-ready';
import { percentile } from '../report/percentile';
import { printTable } from '../report/print-table';
import type { SuiteOptions } from '../suite';
import { type History, loadHistory } from './load-history';

const API = join(__dirname, '../../../apps/api/dist/main.js');
const WARM_UP = 50;

/** How long reading what happened takes when there is much of it, one request at a time, over HTTP. */
export async function runHistorySuite({ redisUrl, short, deliveries }: SuiteOptions): Promise<void> {
  const count = deliveries ?? (short ? 20_000 : 1_000_000);
  const requests = short ? 100 : 500;
  const redis = connectRedis({
    url: redisUrl,
    role: 'working',
    name: 'bench',
    batched: true,
    emit: () => {},
  });
  await redis.flushdb();
  const { key, record } = buildApiKey();
  await createRedisApiKeyStore(redis).save(record);

  const before = await usedBytes(redis);
  const history = await loadHistory({ redis, accountId: record.accountId, deliveries: count });
  const bytes = ((await usedBytes(redis)) - before) / count;

  const port = await findClosedPort();
  const api = new MeasuredProcess(API, {
    REDIS_URL: redisUrl,
    API_HOST: '127.0.0.1',
    API_PORT: String(port),
    LOG_LEVEL: 'error',
  });
  try {
    const url = `http://127.0.0.1:${port}`;
    await untilReady(url);
    const rows: string[][] = [];
    for (const [label, pathOf] of Object.entries(routesOf(history))) {
      await measure(url, key, pathOf, WARM_UP);
      const cpuBefore = api.cpuMs();
      const durations = await measure(url, key, pathOf, requests);
      const cpuMs = (api.cpuMs() - cpuBefore) / requests;
      const figures = [percentile(durations, 0.5), percentile(durations, 0.99), cpuMs];
      rows.push([label, ...figures.map((figure) => figure.toFixed(1))]);
    }
    printTable(`Reading ${count} deliveries on record, ${requests} requests each, ms`, [
      ['', 'p50', 'p99', 'CPU of the API'],
      ...rows,
    ]);
    printTable('Memory of Redis', [
      ['', 'bytes'],
      ['a delivery and its event', bytes.toFixed(0)],
    ]);
  } finally {
    await api.stop();
    redis.disconnect();
  }
}

type PathOf = (i: number) => string;

function routesOf({ endpointIds, samples }: History): Record<string, PathOf> {
  const endpoint: PathOf = (i) => endpointIds[i % endpointIds.length] ?? '';
  const sample = (i: number) => samples[(i * 7) % samples.length];
  const event: PathOf = (i) => sample(i)?.eventId ?? '';
  const delivery: PathOf = (i) => `${event(i)}.${sample(i)?.endpointId}`;
  return {
    'GET /v1/webhooks/{id}/deliveries': (i) => `/v1/webhooks/${endpoint(i)}/deliveries`,
    '… ?status=exhausted': (i) => `/v1/webhooks/${endpoint(i)}/deliveries?status=exhausted`,
    '… ?status_class=4xx (there is none)': (i) => `/v1/webhooks/${endpoint(i)}/deliveries?status_class=4xx`,
    '… ?event_type=… (there is none)': (i) => `/v1/webhooks/${endpoint(i)}/deliveries?event_type=x`,
    'GET /v1/deliveries/{id}': (i) => `/v1/deliveries/${delivery(i)}`,
    'GET /v1/events': () => '/v1/events',
    '… ?type=… (there is none)': () => '/v1/events?type=x',
    'GET /v1/events/{id}': (i) => `/v1/events/${event(i)}`,
    'GET /v1/events/{id}/deliveries': (i) => `/v1/events/${event(i)}/deliveries`,
  };
}

/** How long each request took, in milliseconds. */
async function measure(url: string, key: string, pathOf: PathOf, requests: number): Promise<number[]> {
  const durations: number[] = [];
  for (let i = 0; i < requests; i += 1) {
    const startedAt = performance.now();
    const response = await fetch(url + pathOf(i), { headers: { authorization: `Bearer ${key}` } });
    await response.arrayBuffer();
    durations.push(performance.now() - startedAt);
    if (response.status !== 200) throw new Error(`${pathOf(i)} was answered with ${response.status}.`);
  }
  return durations;
}

async function usedBytes(redis: RedisClient): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
}
