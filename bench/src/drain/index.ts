import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { compareFigures, type Figure, inRounds, printVerdicts } from '../path/compare';
import { MeasuredProcess, RedisProcess } from '../processes/measured-process';
import { writeJson } from '../report';
import type { SuiteOptions } from '../suite';
import { dataOf, EVENT_TYPE } from '../traffic/events';
import { type Progress, ReceiverProcess } from '../traffic/receiver';
import { type Filling, fill } from './fill';
import { runScaleScenes } from './scale';

const ENDPOINTS = 10;
const DELIVERIES = 20_000;
const DELIVERIES_SHORT = 1_000;
const ROUNDS = 3;

/** A worker that is measured: its program, and how its queue is filled. */
interface Contender {
  readonly name: string;
  readonly script: string;
  fill(filling: Filling): Promise<void>;
}

const plain: Contender = {
  name: 'plain worker',
  script: join(__dirname, 'plain-worker.js'),
  fill: fillPlainly,
};

function serviceOf(build: string): Contender {
  return {
    name: 'this service',
    script: join(build, 'apps/worker/dist/main.js'),
    fill,
  };
}

/** Draining a full queue with one worker, beside the hand-written one, in turn, so that the machine's moods even out. */
export async function runDrainSuite(options: SuiteOptions): Promise<void> {
  if (options.scene !== undefined) return await runScaleScenes(options);
  const rounds = options.rounds ?? (options.short ? 1 : ROUNDS);
  const deliveries = options.deliveries ?? (options.short ? DELIVERIES_SHORT : DELIVERIES);
  const service = serviceOf(options.build);
  const raw = await inRounds({
    rounds,
    sides: [plain, service],
    measure: async (contenders) => {
      const results: DrainFigures[] = [];
      for (const contender of contenders) results.push(await drain(contender, deliveries));
      return results;
    },
    inShort: ({ deliveriesPerSecond }) => `${Math.round(deliveriesPerSecond)} deliveries/s`,
  });
  const ratios = compareFigures(drainFigures, raw.plain, raw.service);
  printVerdicts(`Draining ${deliveries} waiting deliveries, one worker (median of ${rounds})`, ratios, [
    plain.name,
    service.name,
  ]);
  await writeJson(options.json, { ratios, raw });
}

const drainFigures: readonly Figure<DrainFigures>[] = [
  { name: 'deliveries per second', of: (r) => r.deliveriesPerSecond, kind: 'ratio', atLeast: 1.2 },
  { name: 'worker CPU per delivery, µs', of: (r) => r.workerMicros, kind: 'ratio' },
  { name: 'Redis CPU per delivery, µs', of: (r) => r.redisMicros, kind: 'ratio' },
];

export interface DrainOptions {
  /** How many are delivered before the measurement begins. One unless given. */
  readonly warmUp?: number;
  /** What fills the queue, in the place of this benchmark's own. */
  readonly filling?: Partial<Pick<Filling, 'endpoints' | 'endpoint' | 'groups'>>;
}

/** What this service's worker makes of a queue that is full of so many deliveries. */
export async function drainService(
  build: string,
  deliveries: number,
  options?: DrainOptions,
): Promise<DrainFigures> {
  return await drain(serviceOf(build), deliveries, options);
}

async function drain(
  { script, fill: fillFor }: Contender,
  deliveries: number,
  { warmUp = 1, filling = {} }: DrainOptions = {},
): Promise<DrainFigures> {
  const redis = await RedisProcess.start();
  const settings = workerSettings(redis.url);
  try {
    return await measureDrain({
      redis: [redis],
      deliveries,
      // An account for each endpoint.
      fill: (receiverUrl) =>
        fillFor({
          redisUrl: redis.url,
          receiverUrl,
          deliveries,
          endpoints: ENDPOINTS,
          perAccount: 1,
          ...filling,
        }),
      startWorkers: () => [new MeasuredProcess(script, settings)],
      from: warmUp,
      until: deliveries,
    });
  } finally {
    await redis.stop();
  }
}

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

const CHUNK = 500;

async function fillPlainly({ redisUrl, receiverUrl, deliveries, endpoints }: Filling): Promise<void> {
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: null });
  for (let i = 0; i < endpoints; i += 1) {
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    await redis.hset(`endpoint:${i}`, { url: receiverUrl, secret });
  }
  const queue = new Queue('deliveries', { connection: redis });
  for (let start = 0; start < deliveries; start += CHUNK) {
    const numbers = Array.from({ length: Math.min(CHUNK, deliveries - start) }, (_, i) => start + i);
    await queue.addBulk(
      numbers.map((i) => ({
        name: 'deliver',
        data: { endpointId: String(i % endpoints), type: EVENT_TYPE, data: dataOf(i) },
        opts: { attempts: 10, backoff: { type: 'exponential', delay: 5_000 } },
      })),
    );
  }
  await queue.close();
  redis.disconnect();
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
const LOOK_EVERY_MS = 20;
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
    const first = await waitForCount(receiver, setting.from);
    const [workersBefore, redisBefore] = [sum(workers, cpu), redis.map(cpu)];
    const last = await waitForCount(receiver, setting.until);
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
    await Promise.all(workers.map((worker) => worker.stop()));
    receiver.stop();
  }
}

const cpu = (part: { cpuMs(): number }) => part.cpuMs();

function sum<Item>(items: readonly Item[], figureOf: (item: Item) => number): number {
  return items.reduce((total, item) => total + figureOf(item), 0);
}

async function waitForCount(receiver: ReceiverProcess, wished: number): Promise<Progress> {
  const limit = performance.now() + LIMIT_MS;
  for (;;) {
    const progress = await receiver.progressOf(STREAM);
    if (progress.count >= wished) return progress;
    if (performance.now() > limit) throw new Error(`Only ${progress.count} of ${wished} deliveries came.`);
    await wait(LOOK_EVERY_MS);
  }
}
