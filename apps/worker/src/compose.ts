import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { type Capability, closesOf, listenersOf, stopsOf } from '@hookferry/core/core/capability';
import { longestOf } from '@hookferry/core/domain/retry-schedule';
import { createEmit, type Emit, type SignalListener } from '@hookferry/core/domain/signal';
import type { BeginSpan } from '@hookferry/core/domain/trace';
import { DaySampler } from '@hookferry/core/operations/day-sampler';
import { DayStore } from '@hookferry/core/operations/redis-day-store';
import { WorkerReports } from '@hookferry/core/operations/redis-worker-reports';
import { AttemptRate, WorkerReporter } from '@hookferry/core/operations/worker-reporter';
import { steadyClock } from '@hookferry/core/platform/clock';
import { formatDuration } from '@hookferry/core/platform/duration';
import { createAtomic } from '@hookferry/core/platform/redis-atomic';
import { RedisClock } from '@hookferry/core/platform/redis-clock';
import { connectRedis, createRedisProbe, queuePrefix } from '@hookferry/core/platform/redis-connect';
import { ConnectionHealth } from '@hookferry/core/platform/redis-keeper';
import { watchRedisSafety } from '@hookferry/core/platform/redis-safety';
import type { Stoppable } from '@hookferry/core/platform/timers';
import { VERSION } from '@hookferry/core/platform/version';
import { LayoutStore } from '@hookferry/core/queue/redis-layout-store';
import { Resharding } from '@hookferry/core/queue/resharding/resharding';
import { ShardsInForce } from '@hookferry/core/queue/shards-in-force';
import { capabilities, registryOf, toListenersBy, type WorkerCapability } from './capabilities';
import { stallTimeoutOf, type WorkerConfig } from './config';
import { openErasureWorker, openReplayWorker } from './consumers/bullmq-stepwise';
import { openContext } from './context';
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

/** Traces, which begin before the process opens anything. */
type Tracing = Capability & { readonly beginSpan: BeginSpan };

/** Build and start the worker, whether Redis responds yet or not. */
export async function composeWorker(
  config: WorkerConfig,
  given: readonly SignalListener[],
  tracing?: Tracing,
): Promise<WorkerProcess> {
  const attempts = new AttemptRate(steadyClock);
  const listeners = [...given, attempts.listen];
  const emit = createEmit(listeners);
  const workerId = randomBytes(WORKER_ID_BYTES).toString('hex');

  const connectionHealth = new ConnectionHealth();
  const connection = { url: config.REDIS_URL, role: 'working', health: connectionHealth, emit } as const;
  const redis = connectRedis({ ...connection, name: 'worker' });
  const redisClock = new RedisClock({ redis, emit });
  const clock = redisClock.now;
  const atomic = createAtomic(redis);
  const dayStore = new DayStore(redis, atomic);
  warnOfRetries(config, emit);
  watchRedisSafety(redis, emit);
  const isRedisAnswering = createRedisProbe(redis);

  const firstPrefix = queuePrefix(config.REDIS_URL);
  const layoutStore = new LayoutStore(redis, firstPrefix);
  const wanted = config.QUEUE_SHARDS;
  const shards = new ShardsInForce({ layoutStore, wanted, firstPrefix, atomic, emit });
  const { beginSpan } = tracing ?? {};
  const opened: WorkerCapability[] = tracing ? [tracing] : [];
  const { context, servedShards, verifier, auditSettler, historyUpkeep, recorders, connections } =
    openContext({
      config,
      redis,
      connection,
      shards,
      atomic,
      workerId,
      beginSpan,
      toListeners: toListenersBy(opened),
      clock,
      redisClock,
      emit,
    });
  opened.push(...capabilities.map((each) => each.open(context)));
  listeners.push(...listenersOf(opened));

  const { releaser, standings, slots } = context;
  // They are few, and all in the first shard.
  const consumers = [openReplayWorker(context, shards.first), openErasureWorker(context, shards.first)];
  const resharding = new Resharding({ redis, shards, layoutStore, workerId, clock, emit });
  const workerReports = new WorkerReports(redis, atomic);
  const reporter = new WorkerReporter({
    workerReports,
    worker: {
      id: workerId,
      host: hostname(),
      pid: process.pid,
      version: VERSION,
      startedAt: clock(),
      sendsMail: config.SMTP_URL !== undefined,
    },
    slots,
    attempts,
    redisClock,
    emit,
  });
  const sampler = new DaySampler({ ...context, workerReports, dayStore, clock, emit });
  const stalledAfterMs = stallTimeoutOf(config);
  const stallWatch = new StallWatch({ servedShards, standings, redis, atomic, stalledAfterMs, emit });
  let isStopping = false;
  const opsServer = new OpsServer({
    host: config.WORKER_HOST,
    port: config.WORKER_PORT,
    registry: registryOf(opened),
    stallWatch,
    connectionHealth,
    isReady: async () => !isStopping && redisClock.isTrusted && (await isRedisAnswering()),
  });

  await historyUpkeep?.start();
  const port = await opsServer.start();
  const parts = [releaser, verifier, auditSettler, resharding, stallWatch, reporter, sampler];
  // Nothing begins before Redis has told its time, however long that takes.
  const begin = async () => {
    await redisClock.start((isTrusted) => servedShards.setMayServe(isTrusted));
    if (isStopping) return;
    for (const part of [...consumers, ...parts, ...opened]) part.start?.();
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
        stop: () => stopAll([servedShards, verifier, auditSettler, ...consumers, ...stopsOf(opened)]),
      },
      // These release jobs for the consumers, or move them to where consumers take them.
      { name: 'releasers', stop: () => stopAll([releaser, resharding]) },
      { name: 'shards', stop: () => shards.stop() },
      { name: 'history', stop: async () => await historyUpkeep?.stop() },
      { name: 'worker report', stop: () => stopAll([reporter, sampler]) },
      ...recorders,
      ...closesOf(opened),
      { name: 'ops server', stop: () => opsServer.stop() },
      ...connections,
      { name: 'connection', stop: async () => redis.disconnect() },
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
