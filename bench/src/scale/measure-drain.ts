import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { MeasuredProcess } from '../processes/measured-process';
import type { RedisProcess } from '../processes/redis-process';
import { SinkProcess } from '../processes/sink-process';
import { type Filling, fill } from './fill';

export interface DrainSetting extends Omit<Filling, 'receiverUrl'> {
  readonly build: string;
  readonly workers: number;
  /** All that hold keys. */
  readonly redis: readonly RedisProcess[];
  /** Measured are these, after as many to begin with: all of them unless given. */
  readonly measured?: number;
}

export interface DrainFigures {
  readonly deliveriesPerSecond: number;
  /** Processor time, in microseconds, of all workers together. */
  readonly workerMicros: number;
  readonly redisMicros: number;
  /** The busiest Redis' processor time, as a multiple of an even share. */
  readonly redisUnevenness: number;
  /** Of Redis after the filling, for each delivery that waits. */
  readonly redisBytes: number;
}

const LOOK_EVERY_MS = 20;
const LIMIT_MS = 600_000;
// Until then processes start, and connections are made.
const WARM_UP = 0.15;

/** How fast workers empty full queues, and what it costs. */
export async function measureDrain(setting: DrainSetting): Promise<DrainFigures> {
  const { redis, redisUrl, deliveries, shards, build, workers: count } = setting;
  const sink = await SinkProcess.start();
  const emptyBytes = sum(redis, (node) => node.residentBytes());
  await fill({ ...setting, receiverUrl: sink.url });
  const redisBytes = (sum(redis, (node) => node.residentBytes()) - emptyBytes) / deliveries;
  const workers = Array.from(
    { length: count },
    () =>
      new MeasuredProcess(join(build, 'apps/worker/dist/main.js'), {
        REDIS_URL: redisUrl,
        QUEUE_SHARDS: String(shards),
        WORKER_HOST: '127.0.0.1',
        WORKER_PORT: '0',
        ALLOW_HTTP_URLS: 'true',
        DELIVERY_ALLOWED_CIDRS: '127.0.0.0/8',
      }),
  );
  try {
    const measured = setting.measured ?? deliveries;
    const first = await waitForCount(sink, Math.floor(measured * WARM_UP));
    const [workersBefore, redisBefore] = [sum(workers, cpu), redis.map(cpu)];
    // The last ones wait for the slowest worker.
    const last = await waitForCount(sink, Math.floor(measured * (1 - WARM_UP / 3)));
    const done = last.received - first.received;
    const redisMs = redis.map((node, i) => cpu(node) - (redisBefore[i] ?? 0));
    const redisTotal = redisMs.reduce((total, ms) => total + ms, 0);
    return {
      deliveriesPerSecond: (done / (last.lastAt - first.lastAt)) * 1_000,
      workerMicros: ((sum(workers, cpu) - workersBefore) / done) * 1_000,
      redisMicros: (redisTotal / done) * 1_000,
      redisUnevenness: (Math.max(...redisMs) * redis.length) / redisTotal,
      redisBytes,
    };
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    sink.stop();
  }
}

const cpu = (part: { cpuMs(): number }) => part.cpuMs();

function sum<Item>(items: readonly Item[], figureOf: (item: Item) => number): number {
  return items.reduce((total, item) => total + figureOf(item), 0);
}

async function waitForCount(sink: SinkProcess, wished: number) {
  const limit = performance.now() + LIMIT_MS;
  for (;;) {
    const count = await sink.count();
    if (count.received >= wished) return count;
    if (performance.now() > limit) throw new Error(`Only ${count.received} of ${wished} deliveries came.`);
    await wait(LOOK_EVERY_MS);
  }
}
