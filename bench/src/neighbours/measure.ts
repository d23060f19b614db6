import { setTimeout as wait } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { MeasuredProcess } from '../processes/measured-process';
import { percentile } from '../report/percentile';
import type { Contender, Producer } from './contender';
import { ReceiverProcess } from './receiver-process';

export interface Scene {
  readonly redisUrl: string;
  readonly healthyEndpoints: number;
  readonly hangingEndpoints: number;
  /** Events per second to the healthy endpoints together; the hanging ones get as many, if there are any. */
  readonly eventsPerSecond: number;
  readonly seconds: number;
}

export interface SceneResult {
  /** From the acceptance of an event until it arrives at a healthy endpoint. Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Deliveries per second to healthy endpoints. */
  readonly perSecond: number;
  /** Events that had not arrived at the end. Their age then counts as their time. */
  readonly missing: number;
}

const TICK_MS = 10;
// For what was published last to arrive, when nothing is in its way.
const GRACE_MS = 1_000;
const WARM_UP_EVENTS = 500;

/** How long events to healthy endpoints take, with or without hanging endpoints beside them. */
export async function measureScene(contender: Contender, scene: Scene): Promise<SceneResult> {
  const redis = new Redis(scene.redisUrl, { maxRetriesPerRequest: null });
  await redis.flushdb();
  const receiver = await ReceiverProcess.start();
  const producer = await contender.prepare(redis, urlsOf(receiver.url, scene));
  const worker = new MeasuredProcess(contender.script, {
    REDIS_URL: scene.redisUrl,
    WORKER_CONCURRENCY: '256',
    WORKER_HOST: '127.0.0.1',
    WORKER_PORT: '0',
    DELIVERY_ALLOWED_CIDRS: '127.0.0.0/8',
  });
  try {
    await warmUp(producer, receiver, scene);
    const sentAt = await publishSteadily(producer, scene);
    await wait(GRACE_MS);
    return summarise(sentAt, await receiver.takeArrivals(), scene);
  } finally {
    receiver.stop();
    await worker.stop();
    await producer.close();
    redis.disconnect();
  }
}

function urlsOf(url: string, { healthyEndpoints, hangingEndpoints }: Scene): string[] {
  const paths = (count: number, kind: string) =>
    Array.from({ length: count }, (_, i) => `${url}/${kind}/${i}`);
  return [...paths(healthyEndpoints, 'healthy'), ...paths(hangingEndpoints, 'hanging')];
}

/** Until the worker runs at its usual speed, with its connections open. */
async function warmUp(
  producer: Producer,
  receiver: ReceiverProcess,
  { healthyEndpoints }: Scene,
): Promise<void> {
  for (let i = 0; i < WARM_UP_EVENTS; i += 1) await producer.publish(i % healthyEndpoints, i);
  for (let arrived = 0; arrived < WARM_UP_EVENTS; await wait(TICK_MS)) {
    arrived += (await receiver.takeArrivals()).length;
  }
}

/** Gives when each event to a healthy endpoint was published, by its number. */
async function publishSteadily(producer: Producer, scene: Scene): Promise<readonly number[]> {
  const { healthyEndpoints, hangingEndpoints, eventsPerSecond, seconds } = scene;
  const sentAt: number[] = [];
  const underWay: Promise<void>[] = [];
  const startedAt = Date.now();
  for (let elapsedMs = 0; elapsedMs < seconds * 1_000; elapsedMs = Date.now() - startedAt) {
    for (const due = (elapsedMs / 1_000) * eventsPerSecond; sentAt.length < due; ) {
      const event = sentAt.length;
      sentAt.push(Date.now());
      underWay.push(producer.publish(event % healthyEndpoints, event));
      if (hangingEndpoints > 0)
        underWay.push(producer.publish(healthyEndpoints + (event % hangingEndpoints), event));
    }
    await wait(TICK_MS);
  }
  await Promise.all(underWay);
  return sentAt;
}

function summarise(
  sentAt: readonly number[],
  arrivals: readonly { readonly event: number; readonly at: number }[],
  { seconds }: Scene,
): SceneResult {
  const now = Date.now();
  const arrivedAt = new Map(arrivals.map(({ event, at }) => [event, at]));
  const times = sentAt.map((at, event) => (arrivedAt.get(event) ?? now) - at);
  return {
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
    perSecond: arrivedAt.size / seconds,
    missing: sentAt.length - arrivedAt.size,
  };
}
