import { randomBytes } from 'node:crypto';
import { systemClock } from '@hookferry/core/kernel/clock';
import { connectRedis, createRedisProbe, queuePrefix } from '@hookferry/core/kernel/redis-connect';
import type { Stoppable } from '@hookferry/core/kernel/shutdown';
import { createEmit, type Emit, type SignalListener } from '@hookferry/core/model/signal';
import { createRedisLayoutStore } from '@hookferry/core/queue/redis-layout-store';
import { Resharding } from '@hookferry/core/queue/resharding';
import { ShardedQueueDepth } from '@hookferry/core/queue/sharded-queue-depth';
import { ShardsInForce } from '@hookferry/core/queue/shards-in-force';
import { registerPromEviction, registerPromQueueDepth } from '@hookferry/core/telemetry/prom-gauges';
import { createPromWorkerMetrics } from '@hookferry/core/telemetry/prom-signal-metrics';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { composeConsumers } from './compose-consumers';
import type { WorkerConfig } from './config';
import { OpsServer } from './ops-server';

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

/** Builds and starts the worker. Its parts are made and wired here and in the other `compose-*.ts`, nowhere else. */
export async function composeWorker(
  config: WorkerConfig,
  listeners: readonly SignalListener[],
): Promise<WorkerProcess> {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_LOOK_MS });
  const emit = createEmit([...listeners, createPromWorkerMetrics(registry)]);
  const clock = systemClock;
  const workerId = randomBytes(WORKER_ID_BYTES).toString('hex');

  const connection = { url: config.REDIS_URL, role: 'working', emit } as const;
  const redis = connectRedis({ ...connection, name: 'worker' });
  const firstPrefix = queuePrefix(config.REDIS_URL);
  const layoutStore = createRedisLayoutStore(redis, firstPrefix);
  const shards = new ShardsInForce({ layoutStore, wanted: config.QUEUE_SHARDS, firstPrefix, emit });
  const queueDepth = new ShardedQueueDepth(redis, shards);
  registerPromQueueDepth(registry, queueDepth);
  registerPromEviction(registry, () => redis.info('memory'));

  const context = { config, redis, shards, connection, registry, workerId, clock, emit };
  const { served, consumers, releasers, archiveParts, recorders, transport, openQueues } =
    composeConsumers(context);
  const resharding = new Resharding({ redis, shards, layoutStore, workerId, clock, emit });
  const opsServer = new OpsServer({
    host: config.WORKER_HOST,
    port: config.WORKER_PORT,
    registry,
    isReady: createRedisProbe(redis),
  });

  const port = await opsServer.start();
  for (const one of [...consumers, ...releasers, resharding]) one.start();
  shards.start(served.serve);

  return {
    emit,
    workerId,
    port,
    parts: [
      { name: 'consumers', stop: () => all([served, ...consumers].map((one) => one.stop())) },
      { name: 'releasers', stop: () => all([...releasers, resharding].map((one) => one.stop())) },
      { name: 'shards', stop: () => shards.stop() },
      ...archiveParts,
      ...recorders,
      { name: 'ops server', stop: () => opsServer.stop() },
      { name: 'transport', stop: async () => transport.close() },
      { name: 'queues', stop: () => all([...openQueues, queueDepth].map((queue) => queue.close())) },
      { name: 'connection', stop: async () => redis.disconnect() },
    ],
  };
}

async function all(stopping: readonly Promise<void>[]): Promise<void> {
  await Promise.all(stopping);
}
