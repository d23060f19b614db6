import { setTimeout as wait } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { MeasuredProcess, RedisProcess } from '../processes/measured-process';
import { ReceiverProcess } from '../traffic/receiver';

/** What a worker needs to deliver to this machine. */
export function workerSettings(redisUrl: string, atOnce = 256): Readonly<Record<string, string>> {
  return {
    REDIS_URL: redisUrl,
    WORKER_CONCURRENCY: String(atOnce),
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
  /** What Redis executes for a delivery: commands, those that scripts call among them. */
  readonly commands: number;
  /** How many of them are scripts. */
  readonly scripts: number;
  /** Of Redis' memory after the filling, for each delivery that waits: its place on the queue, in an order, and so on. */
  readonly waitingBytes: number;
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
    await setting.fill(receiver.urlOf('ok', STREAM));
    const waitingBytes = await totalOf(redis, bytesOfWaiting);
    workers = setting.startWorkers();
    const first = await receiver.waitForAll(STREAM, setting.from, LIMIT_MS);
    const [workersBefore, redisBefore] = [sum(workers, cpu), redis.map(cpu)];
    const callsBefore = await callsOf(redis);
    const last = await receiver.waitForAll(STREAM, setting.until, LIMIT_MS);
    // What is done about the last ones once they were received belongs to their cost.
    if (setting.until >= deliveries) await wait(SETTLE_MS);
    const done = last.count - first.count;
    const redisMs = redis.map((node, i) => cpu(node) - (redisBefore[i] ?? 0));
    const redisTotal = redisMs.reduce((total, ms) => total + ms, 0);
    const calls = await callsOf(redis);
    return {
      deliveriesPerSecond: (done / (last.lastAt - first.lastAt)) * 1_000_000,
      workerMicros: ((sum(workers, cpu) - workersBefore) / done) * 1_000,
      redisMicros: (redisTotal / done) * 1_000,
      redisUnevenness: (Math.max(...redisMs) * redis.length) / redisTotal,
      commands: (calls.commands - callsBefore.commands) / done,
      scripts: (calls.scripts - callsBefore.scripts) / done,
      waitingBytes: waitingBytes / deliveries,
    };
  } finally {
    await Promise.all(workers.map((worker) => worker.close()));
    receiver.close();
  }
}

/** How many commands these have executed so far, and how many of them are scripts. */
async function callsOf(nodes: readonly RedisProcess[]) {
  const callsIn = (info: string, wanted: RegExp) =>
    sum([...info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)], ([, command = '', calls]) =>
      wanted.test(command) ? Number(calls) : 0,
    );
  const commandsOf = (wanted: RegExp) =>
    totalOf(nodes, async (node) => callsIn(await node.info('commandstats'), wanted));
  return { commands: await commandsOf(/^/), scripts: await commandsOf(/^(eval|fcall)/) };
}

// Keys of the queues and with their tag, and those of an order. All others are records, which stay.
const OF_WAITING = /(^|\{)bull[\d:}]|^(order|turn|lines|ready|coalescing):/;

/** The memory that all keys take that are about waiting alone. */
async function bytesOfWaiting(node: Redis): Promise<number> {
  let bytes = 0;
  for await (const keys of node.scanStream({ count: 1_000 }) as AsyncIterable<string[]>) {
    const replies = await node
      .pipeline(
        keys.filter((key) => OF_WAITING.test(key)).map((key) => ['memory', 'usage', key, 'samples', '0']),
      )
      .exec();
    bytes += sum(replies ?? [], ([, reply]) => Number(reply));
  }
  return bytes;
}

async function totalOf(
  nodes: readonly RedisProcess[],
  figureOf: (node: Redis) => Promise<number>,
): Promise<number> {
  const figures: number[] = [];
  for (const { url } of nodes) {
    const node = new Redis(url);
    figures.push(await figureOf(node));
    node.disconnect();
  }
  return sum(figures, (figure) => figure);
}

const cpu = (part: { cpuMs(): number }) => part.cpuMs();

function sum<Item>(items: readonly Item[], figureOf: (item: Item) => number): number {
  return items.reduce((total, item) => total + figureOf(item), 0);
}
