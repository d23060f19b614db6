import { randomBytes } from 'node:crypto';
import { systemClock } from '@hookferry/core/kernel/clock';
import { connectRedis, queuePrefix } from '@hookferry/core/kernel/redis-connect';
import { createRedisProbe } from '@hookferry/core/kernel/redis-probe';
import { watchRedisSafety } from '@hookferry/core/kernel/redis-safety';
import type { Stoppable } from '@hookferry/core/kernel/shutdown';
import { keys } from '@hookferry/core/model/keys';
import { createEmit, type Emit, type SignalListener } from '@hookferry/core/model/signal';
import { BullmqQueueDepth } from '@hookferry/core/queue/bullmq-queue-depth';
import { registerPromEviction, registerPromQueueDepth } from '@hookferry/core/telemetry/prom-gauges';
import { createPromWorkerMetrics } from '@hookferry/core/telemetry/prom-signal-metrics';
import type { Tracing } from '@hookferry/core/telemetry/start-tracing';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { composeConsumers } from './compose-consumers';
import { stallTimeoutOf, type WorkerConfig } from './config';
import { OpsServer } from './ops-server';
import { StallWatch } from './stall-watch';

export interface WorkerProcess {
  readonly emit: Emit;
  /** The port of its ops server, which differs from the configured one if that is 0. */
  readonly port: number;
  /** Stands for this process on record, and is in its log. */
  readonly workerId: string;
  /** In the order in which they are to be stopped. */
  readonly parts: readonly Stoppable[];
}

// Short, since it is on record with each attempt; enough to tell hundreds of processes apart.
const WORKER_ID_BYTES = 3;

// Its default, 10 ms, is half of what an idle process costs.
const EVENT_LOOP_LOOK_MS = 250;

const WRITE_CHECK_MS = 1_000;

/** Builds and starts the worker. Its parts are made and wired here and in the other `compose-*.ts`, nowhere else. */
export async function composeWorker(
  config: WorkerConfig,
  listeners: readonly SignalListener[],
  tracing?: Tracing,
): Promise<WorkerProcess> {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_LOOK_MS });
  const spans = tracing ? [tracing.listen] : [];
  const emit = createEmit([...listeners, createPromWorkerMetrics(registry), ...spans]);
  const clock = systemClock;
  const workerId = randomBytes(WORKER_ID_BYTES).toString('hex');

  const connection = { url: config.REDIS_URL, role: 'working', emit } as const;
  const redis = connectRedis({ ...connection, name: 'worker' });
  watchRedisSafety(redis, emit);
  const queues = { redis, prefix: queuePrefix(config.REDIS_URL) };
  const queueDepth = new BullmqQueueDepth(queues);
  registerPromQueueDepth(registry, queueDepth);
  registerPromEviction(registry, () => redis.info('memory'));

  const { beginSpan } = tracing ?? {};
  const context = { config, queues, connection, registry, workerId, beginSpan, clock, emit };
  const { consumers, watched, releasers, archiveParts, recorders, transport, openQueues } =
    composeConsumers(context);
  const stallWatch = new StallWatch({
    queues: watched,
    hasWaiting: (queue) => queueDepth.hasWaiting(queue),
    write: () => redis.set(keys.writeCheck, '', 'PX', WRITE_CHECK_MS),
    stalledAfterMs: stallTimeoutOf(config),
    emit,
  });
  const isRedisAnswering = createRedisProbe(redis);
  let isStopping = false;
  const opsServer = new OpsServer({
    host: config.WORKER_HOST,
    port: config.WORKER_PORT,
    registry,
    stalledQueue: () => stallWatch.stalledQueue,
    isReady: async () => !isStopping && (await isRedisAnswering()),
  });

  const port = await opsServer.start();
  for (const one of [...consumers, ...releasers, stallWatch]) one.start();

  return {
    emit,
    workerId,
    port,
    parts: [
      { name: 'readiness', stop: async () => void (isStopping = true) },
      // What comes to its end now takes nothing any more, whatever waits.
      { name: 'stall watch', stop: () => stallWatch.stop() },
      { name: 'consumers', stop: () => all(consumers.map((one) => one.stop())) },
      { name: 'releasers', stop: () => all(releasers.map((one) => one.stop())) },
      ...archiveParts,
      ...recorders,
      { name: 'ops server', stop: () => opsServer.stop() },
      { name: 'transport', stop: () => transport.close() },
      { name: 'queues', stop: () => all([...openQueues, queueDepth].map((queue) => queue.close())) },
      { name: 'connection', stop: async () => redis.disconnect() },
      ...(tracing ? [{ name: 'tracing', stop: () => tracing.stop() }] : []),
    ],
  };
}

async function all(stopping: readonly Promise<void>[]): Promise<void> {
  await Promise.all(stopping);
}
