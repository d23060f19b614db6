import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { keys } from '@hookferry/core/domain/keys';
import { createEmit, type Emit, type SignalListener } from '@hookferry/core/domain/signal';
import { WorkerReports } from '@hookferry/core/operations/redis-worker-reports';
import { steadyClock, systemClock } from '@hookferry/core/platform/clock';
import { connectRedis, createRedisProbe, queuePrefix } from '@hookferry/core/platform/redis-connect';
import { ConnectionHealth } from '@hookferry/core/platform/redis-keeper';
import { watchRedisSafety } from '@hookferry/core/platform/redis-safety';
import type { Stoppable } from '@hookferry/core/platform/timers';
import { VERSION } from '@hookferry/core/platform/version';
import { QueueStandings } from '@hookferry/core/queue/bullmq-queue-standings';
import { LayoutStore } from '@hookferry/core/queue/redis-layout-store';
import { Resharding } from '@hookferry/core/queue/resharding/resharding';
import { ShardsInForce } from '@hookferry/core/queue/shards-in-force';
import { ChangeFeed, WORKER_GATHER_MS } from '@hookferry/core/stream/change-feed';
import { createRedisChangeStore } from '@hookferry/core/stream/redis-change-store';
import type { Tracing } from '@hookferry/core/telemetry/otel-tracing';
import { AttemptRate, WorkerReporter } from '@hookferry/core/telemetry/worker-reporter';
import { composeConsumers } from './compose-consumers';
import { composeMetrics } from './compose-metrics';
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

const WRITE_CHECK_MS = 1_000;

/** Builds and starts the worker. Its parts are made and wired here and in the other `compose-*.ts`, nowhere else. */
export async function composeWorker(
  config: WorkerConfig,
  listeners: readonly SignalListener[],
  tracing?: Tracing,
): Promise<WorkerProcess> {
  const metrics = composeMetrics();
  const { registry } = metrics;
  const spans = tracing ? [tracing.listen] : [];
  const attempts = new AttemptRate(steadyClock);
  const emit = createEmit([
    ...listeners,
    ...metrics.listeners,
    attempts.listen,
    ...spans,
    (signal) => changeFeed.listen(signal),
  ]);
  const clock = systemClock;
  const startedAt = clock();
  const workerId = randomBytes(WORKER_ID_BYTES).toString('hex');

  const connectionHealth = new ConnectionHealth();
  const connection = { url: config.REDIS_URL, role: 'working', health: connectionHealth, emit } as const;
  const redis = connectRedis({ ...connection, name: 'worker' });
  const changeFeed = new ChangeFeed({
    changeStore: createRedisChangeStore(redis),
    gatherMs: WORKER_GATHER_MS,
    clock,
    emit,
  });
  watchRedisSafety(redis, emit);
  const firstPrefix = queuePrefix(config.REDIS_URL);
  const layoutStore = new LayoutStore(redis, firstPrefix);
  const shards = new ShardsInForce({ layoutStore, wanted: config.QUEUE_SHARDS, firstPrefix, emit });
  const standings = new QueueStandings(redis, shards);

  const { beginSpan } = tracing ?? {};
  const context = { config, redis, shards, connection, workerId, beginSpan, clock, emit };
  const { served, consumers, releaser, archiveParts, recorders, transport, openQueues, shown } =
    composeConsumers(context);
  const resharding = new Resharding({ redis, shards, layoutStore, workerId, clock, emit });
  metrics.showGauges({ ...shown, redis, standings, workerId });
  const reporter = new WorkerReporter({
    workerReports: new WorkerReports(redis),
    worker: { id: workerId, host: hostname(), pid: process.pid, version: VERSION, startedAt },
    slots: shown.slots,
    attempts,
    emit,
  });
  const stallWatch = new StallWatch({
    watched: served.watched,
    hasWaiting: ({ queue, shard }) => standings.hasWaiting(queue, shard),
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
    stuckConnection: () => connectionHealth.stuckConnection,
    isReady: async () => !isStopping && (await isRedisAnswering()),
  });

  const port = await opsServer.start();
  for (const one of [...consumers, releaser, resharding, stallWatch, reporter]) one.start();
  // Without Redis it looks until there is one.
  void shards.start(served.serve);

  return {
    emit,
    workerId,
    port,
    parts: [
      { name: 'readiness', stop: async () => void (isStopping = true) },
      // What comes to its end now takes nothing any more, whatever waits.
      { name: 'stall watch', stop: () => stallWatch.stop() },
      { name: 'consumers', stop: () => all([served, ...consumers].map((one) => one.stop())) },
      { name: 'releasers', stop: () => all([releaser, resharding].map((one) => one.stop())) },
      { name: 'shards', stop: () => shards.stop() },
      { name: 'worker report', stop: () => reporter.stop() },
      ...archiveParts,
      ...recorders,
      { name: 'change feed', stop: () => changeFeed.stop() },
      { name: 'ops server', stop: () => opsServer.stop() },
      { name: 'transport', stop: () => transport.close() },
      { name: 'queues', stop: () => all([...openQueues, standings].map((queue) => queue.close())) },
      { name: 'connection', stop: async () => redis.disconnect() },
      ...(tracing ? [{ name: 'tracing', stop: () => tracing.stop() }] : []),
    ],
  };
}

async function all(stopping: readonly Promise<void>[]): Promise<void> {
  await Promise.all(stopping);
}
