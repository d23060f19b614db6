import { setTimeout as wait } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { MeasuredProcess } from '../processes/measured-process';
import { SinkProcess } from '../processes/sink-process';
import type { Contender } from './contender';

export interface DrainOptions {
  readonly redisUrl: string;
  readonly deliveries: number;
  readonly concurrency: number;
}

export interface DrainResult {
  readonly deliveriesPerSecond: number;
  /** The worker process's processor time, in microseconds. */
  readonly workerMicrosPerDelivery: number;
  /** Redis' processor time, in microseconds. */
  readonly redisMicrosPerDelivery: number;
}

const LOOK_EVERY_MS = 20;
// A bound, so that a worker that stops delivering ends the benchmark.
const LIMIT_MS = 120_000;

/** How fast one worker empties a queue of waiting deliveries, from its first delivery to its last. */
export async function drain(contender: Contender, options: DrainOptions): Promise<DrainResult> {
  const redis = new Redis(options.redisUrl, { maxRetriesPerRequest: null });
  const sink = await SinkProcess.start();
  await redis.flushdb();
  await contender.fill({ ...options, redis, receiverUrl: sink.url });

  const worker = new MeasuredProcess(contender.script, {
    REDIS_URL: options.redisUrl,
    WORKER_CONCURRENCY: String(options.concurrency),
    WORKER_HOST: '127.0.0.1',
    WORKER_PORT: '0',
    ALLOW_HTTP_URLS: 'true',
    DELIVERY_ALLOWED_CIDRS: '127.0.0.0/8',
  });
  try {
    const first = await waitForCount(sink, 1);
    const start = {
      at: first.lastAt,
      count: first.received,
      cpuMs: worker.cpuMs(),
      redisMs: await redisCpuMs(redis),
    };
    const last = await waitForCount(sink, options.deliveries);
    const delivered = last.received - start.count;
    return {
      deliveriesPerSecond: (delivered / (last.lastAt - start.at)) * 1_000,
      workerMicrosPerDelivery: ((worker.cpuMs() - start.cpuMs) / delivered) * 1_000,
      redisMicrosPerDelivery: (((await redisCpuMs(redis)) - start.redisMs) / delivered) * 1_000,
    };
  } finally {
    await worker.stop();
    sink.stop();
    redis.disconnect();
  }
}

async function waitForCount(sink: SinkProcess, wished: number) {
  const limit = Date.now() + LIMIT_MS;
  for (;;) {
    const count = await sink.count();
    if (count.received >= wished) return count;
    if (Date.now() > limit) throw new Error(`Only ${count.received} of ${wished} deliveries came.`);
    await wait(LOOK_EVERY_MS);
  }
}

async function redisCpuMs(redis: Redis): Promise<number> {
  const info = await redis.info('cpu');
  const seconds = (name: string) => Number(new RegExp(`${name}:([\\d.]+)`).exec(info)?.[1] ?? Number.NaN);
  return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1_000;
}
