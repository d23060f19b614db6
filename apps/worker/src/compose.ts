import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { longestOf } from '@hookferry/core/domain/retry-schedule';
import { createEmit, type Emit, type SignalListener } from '@hookferry/core/domain/signal';
import { AccountLoads } from '@hookferry/core/operations/account-loads';
import { DaySampler } from '@hookferry/core/operations/day-sampler';
import { DayStore } from '@hookferry/core/operations/redis-day-store';
import { AttemptRate, WorkerReporter } from '@hookferry/core/operations/worker-reporter';
import { steadyClock } from '@hookferry/core/platform/clock';
import { formatDuration } from '@hookferry/core/platform/duration';
import { createAtomic } from '@hookferry/core/platform/redis-atomic';
import { RedisClock } from '@hookferry/core/platform/redis-clock';
import { connectRedis, createRedisProbe, queuePrefix } from '@hookferry/core/platform/redis-connect';
import { ConnectionHealth } from '@hookferry/core/platform/redis-keeper';
import { watchRedisSafety } from '@hookferry/core/platform/redis-safety';
import { createKeepFor, type Stoppable } from '@hookferry/core/platform/timers';
import { VERSION } from '@hookferry/core/platform/version';
import { LayoutStore } from '@hookferry/core/queue/redis-layout-store';
import { Resharding } from '@hookferry/core/queue/resharding/resharding';
import { ShardsInForce } from '@hookferry/core/queue/shards-in-force';
import { ChangeFeed, WORKER_GATHER_MS } from '@hookferry/core/stream/change-feed';
import { ChangeStore } from '@hookferry/core/stream/redis-change-store';
import type { Tracing } from '@hookferry/core/telemetry/otel-tracing';
import { registerPromGauges } from '@hookferry/core/telemetry/prom-gauges';
import {
  createPromRegistry,
  processGauges,
  readEventLoopLagMs,
} from '@hookferry/core/telemetry/prom-registry';
import {
  ReadingsStore,
  readRedisLoads,
  registerPromSharedGauges,
  SharedReadings,
  sharedGauges,
} from '@hookferry/core/telemetry/prom-shared-gauges';
import {
  registerPromSignalMetrics,
  workerSignalMetrics,
} from '@hookferry/core/telemetry/prom-signal-metrics';
import { AccountShares, workerGauges } from '@hookferry/core/telemetry/prom-worker-gauges';
import type { Registry } from 'prom-client';
import { stallTimeoutOf, type WorkerConfig } from './config';
import { openErasureWorker, openReplayWorker } from './consumers/bullmq-stepwise';
import { openContext, type WorkerContext } from './context';
import { OpsServer } from './ops-server';
import { StallWatch } from './stall-watch';

export interface WorkerProcess {
  readonly emit: Emit;
  /** The port of its ops server, which differs from the configured one if that is 0. */
  readonly port: number;
  /** Names this process in records and in its log. */
  readonly workerId: string;
  /** In the order in which they must stop. */
  readonly parts: readonly Stoppable[];
}

// Short, since each recorded attempt has it; enough to tell hundreds of processes apart.
const WORKER_ID_BYTES = 3;

/** Build and start the worker, whether Redis responds yet or not. */
export async function composeWorker(
  config: WorkerConfig,
  listeners: readonly SignalListener[],
  tracing?: Tracing,
): Promise<WorkerProcess> {
  const registry = createPromRegistry();
  const shares = new AccountShares(steadyClock);
  const attempts = new AttemptRate(steadyClock);
  const spans = tracing ? [tracing.listen] : [];
  const emit = createEmit([
    ...listeners,
    registerPromSignalMetrics(registry, workerSignalMetrics),
    shares.listen,
    attempts.listen,
    ...spans,
    (signal) => changeFeed.listen(signal),
    (signal) => accountLoads.listen(signal),
  ]);
  const workerId = randomBytes(WORKER_ID_BYTES).toString('hex');

  const connectionHealth = new ConnectionHealth();
  const connection = { url: config.REDIS_URL, role: 'working', health: connectionHealth, emit } as const;
  const redis = connectRedis({ ...connection, name: 'worker' });
  const redisClock = new RedisClock({ redis, emit });
  const clock = redisClock.now;
  const changeFeed = new ChangeFeed({
    changeStore: new ChangeStore(redis),
    gatherMs: WORKER_GATHER_MS,
    clock,
    emit,
  });
  const atomic = createAtomic(redis);
  const accountLoads = new AccountLoads({ dayStore: new DayStore(redis, atomic), clock, emit });
  warnOfRetries(config, emit);
  watchRedisSafety(redis, emit);
  const isRedisAnswering = createRedisProbe(redis);

  const firstPrefix = queuePrefix(config.REDIS_URL);
  const layoutStore = new LayoutStore(redis, firstPrefix);
  const wanted = config.QUEUE_SHARDS;
  const shards = new ShardsInForce({ layoutStore, wanted, firstPrefix, atomic, emit });
  const { beginSpan } = tracing ?? {};
  const { context, ...opened } = openContext({
    config,
    redis,
    connection,
    shards,
    atomic,
    workerId,
    beginSpan,
    clock,
    redisClock,
    emit,
  });
  showGauges(registry, context, shares);

  const { servedShards, verifier, notifier, auditSettler, historyUpkeep } = opened;
  const { releaser, standings, slots, workerReports } = context;
  // They are few, and all in the first shard.
  const consumers = [
    openReplayWorker(context, opened.replays, shards.first),
    openErasureWorker(context, opened.erasure, shards.first),
  ];
  const resharding = new Resharding({ redis, shards, layoutStore, workerId, clock, emit });
  const sendsMail = context.mailer !== undefined;
  const reporter = new WorkerReporter({
    workerReports,
    worker: {
      id: workerId,
      host: hostname(),
      pid: process.pid,
      version: VERSION,
      startedAt: clock(),
      sendsMail,
    },
    slots,
    attempts,
    redisClock,
    emit,
  });
  const sampler = new DaySampler({ operations: opened.operations, clock, emit });
  const stalledAfterMs = stallTimeoutOf(config);
  const stallWatch = new StallWatch({ servedShards, standings, redis, atomic, stalledAfterMs, emit });
  let isStopping = false;
  const opsServer = new OpsServer({
    host: config.WORKER_HOST,
    port: config.WORKER_PORT,
    registry,
    stallWatch,
    connectionHealth,
    isReady: async () => !isStopping && redisClock.isTrusted && (await isRedisAnswering()),
  });

  await historyUpkeep?.start();
  const port = await opsServer.start();
  const parts = [releaser, verifier, notifier, auditSettler, resharding, stallWatch, reporter, sampler];
  // Nothing begins before Redis has told its time, however long that takes.
  const begin = async () => {
    await redisClock.start((isTrusted) => servedShards.setMayServe(isTrusted));
    if (isStopping) return;
    for (const part of [...consumers, ...parts]) part.start();
    await shards.start((current) => servedShards.serve(current));
  };
  void begin();

  return {
    emit,
    workerId,
    port,
    parts: [
      { name: 'readiness', stop: async () => void (isStopping = true) },
      { name: 'clock', stop: () => redisClock.stop() },
      // Parts that stop from here on take no more jobs, whatever waits.
      { name: 'stall watch', stop: () => stallWatch.stop() },
      {
        name: 'consumers',
        stop: () => stopAll([servedShards, verifier, notifier, auditSettler, ...consumers]),
      },
      // These release jobs for the consumers, or move them to where consumers take them.
      { name: 'releasers', stop: () => stopAll([releaser, resharding]) },
      { name: 'shards', stop: () => shards.stop() },
      { name: 'history', stop: async () => await historyUpkeep?.stop() },
      { name: 'worker report', stop: () => stopAll([reporter, sampler]) },
      ...opened.recorders,
      { name: 'account loads', stop: () => accountLoads.stop() },
      { name: 'change feed', stop: () => changeFeed.stop() },
      { name: 'ops server', stop: () => opsServer.stop() },
      ...opened.connections,
      { name: 'connection', stop: async () => redis.disconnect() },
      ...(tracing ? [{ name: 'tracing', stop: () => tracing.stop() }] : []),
    ],
  };
}

async function stopAll(parts: readonly { stop(): Promise<void> }[]): Promise<void> {
  await Promise.all(parts.map((part) => part.stop()));
}

/** Deliveries to endpoints without a schedule of their own would not get all of their attempts. */
function warnOfRetries({ RETRY_SCHEDULE, RETENTION }: WorkerConfig, emit: Emit): void {
  const longestMs = longestOf(RETRY_SCHEDULE);
  if (longestMs < RETENTION) return;
  const detail = `RETRY_SCHEDULE takes up to ${formatDuration(longestMs)}, and RETENTION is ${formatDuration(RETENTION)}.`;
  emit({ name: 'retry_schedule.too_long', detail });
}

// One reading serves several gauges.
const LOADS_KEPT_MS = 1_000;

/** Show the state of the worker and its Redis whenever metrics are requested. */
function showGauges(registry: Registry, context: WorkerContext, shares: AccountShares): void {
  const { redis, workerId, quota, standings, heldCounts, scheduledQueue, openBreakers, clock, redisClock } =
    context;
  const { slots, concurrency, overList, moveAfterMs } = context;
  registerPromGauges(registry, processGauges, {
    standings: () => quota.standings(),
    ping: () => redis.ping(),
    eventLoopLagMs: () => readEventLoopLagMs(registry),
    skewMs: () => redisClock.skewMs,
    clock: steadyClock,
  });
  registerPromGauges(registry, workerGauges, { slots, concurrency, shares });
  const readings = new SharedReadings(new ReadingsStore(redis, workerId), sharedGauges, {
    readDepths: () => standings.readDepths(),
    readOldestWaiting: () => standings.readOldestWaiting(clock()),
    readHeld: () => heldCounts.read(),
    readScheduled: createKeepFor(LOADS_KEPT_MS, () => scheduledQueue.readStanding(), steadyClock),
    countDisabledEndpoints: () => context.endpointHealth.countDisabled(),
    countOpenBreakers: () => openBreakers.count(clock()),
    readRedisLoads: createKeepFor(LOADS_KEPT_MS, () => readRedisLoads(redis), steadyClock),
    history: overList && {
      count: () => overList.count(),
      lateMs: async () => Math.max(clock() - moveAfterMs - ((await overList.oldest()) ?? clock()), 0),
      countAside: () => overList.countAside(),
    },
  });
  registerPromSharedGauges(registry, readings);
}
