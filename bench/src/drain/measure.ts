import { setTimeout as wait } from 'node:timers/promises';
import type { MeasuredProcess, RedisProcess } from '../processes/measured-process';
import { ReceiverProcess } from '../traffic/receiver';

/** What a worker needs to deliver to this machine. */
export function workerSettings(redisUrl: string): Readonly<Record<string, string>> {
  return {
    REDIS_URL: redisUrl,
    WORKER_CONCURRENCY: '256',
    WORKER_HOST: '127.0.0.1',
    WORKER_PORT: '0',
    ALLOW_HTTP_URLS: 'true',
    DELIVERY_ALLOWED_CIDRS: '127.0.0.0/8',
  };
}

export interface DrainSetting {
  /** All that hold keys. */
  readonly redis: readonly RedisProcess[];
  readonly deliveries: number;
  /** Makes as many deliveries wait. */
  fill(receiverUrl: string): Promise<void>;
  startWorkers(): readonly MeasuredProcess[];
  /** How many have come when the measurement begins and ends. */
  readonly from: number;
  readonly until: number;
}

export interface DrainFigures {
  readonly deliveriesPerSecond: number;
  /** Processor time for a delivery, in microseconds, of all workers together. */
  readonly workerMicros: number;
  readonly redisMicros: number;
  /** The busiest Redis' processor time, as a multiple of an even share. */
  readonly redisUnevenness: number;
  /** Of Redis after the filling, for each delivery that waits. */
  readonly redisBytes: number;
}

const STREAM = 'drain';
const SETTLE_MS = 500;
// A bound, so that a worker that stops delivering ends the benchmark.
const LIMIT_MS = 600_000;

/** How fast workers empty full queues, and what it costs. */
export async function measureDrain(setting: DrainSetting): Promise<DrainFigures> {
  const { redis, deliveries } = setting;
  const receiver = await ReceiverProcess.start();
  let workers: readonly MeasuredProcess[] = [];
  try {
    const emptyBytes = sum(redis, (node) => node.residentBytes());
    await setting.fill(receiver.urlOf('ok', STREAM));
    const redisBytes = (sum(redis, (node) => node.residentBytes()) - emptyBytes) / deliveries;
    workers = setting.startWorkers();
    const first = await receiver.waitForAll(STREAM, setting.from, LIMIT_MS);
    const [workersBefore, redisBefore] = [sum(workers, cpu), redis.map(cpu)];
    const last = await receiver.waitForAll(STREAM, setting.until, LIMIT_MS);
    // What is done about the last ones once they were received belongs to their cost.
    if (setting.until >= deliveries) await wait(SETTLE_MS);
    const done = last.count - first.count;
    const redisMs = redis.map((node, i) => cpu(node) - (redisBefore[i] ?? 0));
    const redisTotal = redisMs.reduce((total, ms) => total + ms, 0);
    return {
      deliveriesPerSecond: (done / (last.lastAt - first.lastAt)) * 1_000_000,
      workerMicros: ((sum(workers, cpu) - workersBefore) / done) * 1_000,
      redisMicros: (redisTotal / done) * 1_000,
      redisUnevenness: (Math.max(...redisMs) * redis.length) / redisTotal,
      redisBytes,
    };
  } finally {
    await Promise.all(workers.map((worker) => worker.close()));
    receiver.close();
  }
}

const cpu = (part: { cpuMs(): number }) => part.cpuMs();

function sum<Item>(items: readonly Item[], figureOf: (item: Item) => number): number {
  return items.reduce((total, item) => total + figureOf(item), 0);
}
