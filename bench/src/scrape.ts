import { join } from 'node:path';
import type { EventId } from '@hookferry/core/domain/event';
import { keys } from '@hookferry/core/domain/keys';
import { DELIVERIES_QUEUE, oneShard } from '@hookferry/core/domain/queues';
import { systemClock } from '@hookferry/core/platform/clock';
import { createNewId } from '@hookferry/core/platform/ids';
import { connectRedis, queuePrefix, type RedisClient } from '@hookferry/core/platform/redis-connect';
import { DeliveryQueue } from '@hookferry/core/queue/bullmq-delivery-queue';
import type { QueueConnection } from '@hookferry/core/queue/bullmq-on-demand-queue';
import { buildEndpoint } from '@hookferry/core/testing/build-endpoint';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { Queue } from 'bullmq';
import { untilReady } from './processes/built-service';
import { MeasuredProcess } from './processes/measured-process';
import { percentile, printTable } from './report';
import type { SuiteOptions } from './suite';

const WORKER = join(__dirname, '../../apps/worker/dist/main.js');
const FEW = 10_000;
const MANY = 1_000_000;

/** How long a scrape of a worker takes when there is much to count: while it reads for all workers, and while it does not. */
export async function runScrapeSuite({ redisUrl, short, deliveries }: SuiteOptions): Promise<void> {
  const many = deliveries ?? (short ? 5 * FEW : MANY);
  const scrapes = short ? 20 : 200;
  const redis = connectRedis({ url: redisUrl, role: 'working', name: 'bench', emit: () => {} });
  const connection = { redis, prefix: queuePrefix(redisUrl) };
  await redis.flushdb();
  const queue = new Queue(DELIVERIES_QUEUE, { connection: redis, prefix: connection.prefix });
  await queue.pause();
  const port = await findClosedPort();
  const worker = new MeasuredProcess(WORKER, {
    REDIS_URL: redisUrl,
    WORKER_HOST: '127.0.0.1',
    WORKER_PORT: String(port),
    LOG_LEVEL: 'error',
  });
  try {
    const url = `http://127.0.0.1:${port}`;
    await untilReady(url);
    await loadPending(connection, FEW);
    const few = await measure({ redis, worker, url, scrapes, pending: FEW });
    await loadPending(connection, many - FEW);
    const all = await measure({ redis, worker, url, scrapes, pending: many });
    printTable(`Scraping a worker, ${scrapes} times each, ms; processor time a scrape, either kind`, [
      [
        'deliveries pending',
        'reads: p50',
        'p99',
        'shows what was read: p50',
        'p99',
        'CPU: worker',
        'CPU: Redis',
      ],
      [String(FEW), ...few],
      [String(many), ...all],
    ]);
  } finally {
    await queue.close();
    await worker.stop();
    await redis.flushdb();
    redis.disconnect();
  }
}

interface MeasureInput {
  readonly redis: RedisClient;
  readonly worker: MeasuredProcess;
  readonly url: string;
  readonly scrapes: number;
  readonly pending: number;
}

async function measure({ redis, worker, url, scrapes, pending }: MeasureInput): Promise<string[]> {
  const reading: number[] = [];
  const showing: number[] = [];
  const before = [worker.cpuMs(), await redisCpuMs(redis)];
  for (let i = 0; i < scrapes; i += 1) {
    // As if the last turn were over.
    await redis.del(keys.readingsTurn);
    reading.push(await scrape(url, pending));
    showing.push(await scrape(url, pending));
  }
  const after = [worker.cpuMs(), await redisCpuMs(redis)];
  const times = [reading, showing].flatMap((each) => [percentile(each, 0.5), percentile(each, 0.99)]);
  const cpuMs = after.map((ms, i) => (ms - (before[i] ?? 0)) / (2 * scrapes));
  return [...times, ...cpuMs].map((figure) => figure.toFixed(1));
}

/** User and system time so far. */
async function redisCpuMs(redis: RedisClient): Promise<number> {
  const cpu = await redis.info('cpu');
  const seconds = [...cpu.matchAll(/^used_cpu_(?:user|sys):([\d.]+)/gm)].map(([, text]) => Number(text));
  return 1_000 * seconds.reduce((sum, each) => sum + each, 0);
}

/** In milliseconds. */
async function scrape(url: string, pending: number): Promise<number> {
  const startedAt = performance.now();
  const text = await (await fetch(`${url}/metrics`)).text();
  const tookMs = performance.now() - startedAt;
  if (!text.includes(`webhooks_queue_jobs{queue="deliveries",state="wait"} ${pending}\n`)) {
    throw new Error('The scrape does not show what was loaded.');
  }
  return tookMs;
}

const ENDPOINTS = 1_000;
const AT_ONCE = 500;
const TOLD_EVERY = 100_000;

/** Puts so many deliveries to a thousand endpoints onto the queue. Their events are not there: nobody is to send them. */
async function loadPending(connection: QueueConnection, deliveries: number): Promise<void> {
  const queue = new DeliveryQueue(connection.redis, oneShard(connection.prefix));
  const newId = createNewId(systemClock);
  const endpoints = Array.from({ length: ENDPOINTS }, () => buildEndpoint());
  for (let done = 0; done < deliveries; done += AT_ONCE) {
    const count = Math.min(AT_ONCE, deliveries - done);
    const batch = Array.from({ length: count }, (_, i) => {
      const { accountId, id: endpointId } = endpoints[(done + i) % ENDPOINTS] ?? buildEndpoint();
      return { accountId, endpointId, eventId: newId('evt') as EventId };
    });
    await queue.addAll(batch);
    if (done > 0 && done % TOLD_EVERY === 0) process.stderr.write(`  ${done} pending\n`);
  }
  await queue.close();
}
