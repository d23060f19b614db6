import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { AuditSettler } from '@hookferry/core/accounts/audit/audit-settler';
import { OpenAccounts } from '@hookferry/core/accounts/resolve-account';
import { type Core, openCore } from '@hookferry/core/core/open-core';
import { openDelivery } from '@hookferry/core/deliver/open-delivery';
import { DAY_MS } from '@hookferry/core/domain/history-retention';
import { longestOf } from '@hookferry/core/domain/retry-schedule';
import { createEmit, type Emit, type SignalListener } from '@hookferry/core/domain/signal';
import { HistoryWriter } from '@hookferry/core/history/database/pg-history-writer';
import { AuditMover } from '@hookferry/core/history/mover/audit-mover';
import { Mover } from '@hookferry/core/history/mover/mover';
import { ReachRestore } from '@hookferry/core/history/mover/restore-reach';
import { OverSweep } from '@hookferry/core/history/mover/sweep-over';
import { HistoryUpkeep } from '@hookferry/core/history/mover/upkeep';
import { HandOver } from '@hookferry/core/listeners/hand-over';
import { ListenerStore } from '@hookferry/core/listeners/redis-listener-store';
import { MAILBOX_SILENCE_MS, RedisMailbox } from '@hookferry/core/listeners/redis-mailbox';
import { Mailer } from '@hookferry/core/notifications/nodemailer-mailer';
import { Notifier } from '@hookferry/core/notifications/notifier';
import { ContactStore } from '@hookferry/core/notifications/redis-contact-store';
import { NotificationStore } from '@hookferry/core/notifications/redis-notification-store';
import { AccountLoads } from '@hookferry/core/operations/account-loads';
import { DaySampler } from '@hookferry/core/operations/day-sampler';
import { DayStore } from '@hookferry/core/operations/redis-day-store';
import { WorkerReports } from '@hookferry/core/operations/redis-worker-reports';
import { AttemptRate, WorkerReporter } from '@hookferry/core/operations/worker-reporter';
import { Turns } from '@hookferry/core/platform/batches';
import { steadyClock } from '@hookferry/core/platform/clock';
import { formatDuration } from '@hookferry/core/platform/duration';
import { createNewId } from '@hookferry/core/platform/ids';
import { createAtomic } from '@hookferry/core/platform/redis-atomic';
import { RedisClock } from '@hookferry/core/platform/redis-clock';
import { connectRedis, createRedisProbe, queuePrefix } from '@hookferry/core/platform/redis-connect';
import { ConnectionHealth } from '@hookferry/core/platform/redis-keeper';
import { watchRedisSafety } from '@hookferry/core/platform/redis-safety';
import type { Stoppable } from '@hookferry/core/platform/timers';
import { VERSION } from '@hookferry/core/platform/version';
import { FanOuts } from '@hookferry/core/publish/store-fan-out';
import { AccountJobs } from '@hookferry/core/queue/bullmq-account-jobs';
import { RejectedEvents } from '@hookferry/core/queue/bullmq-rejected-events';
import { DeliveryPlacement } from '@hookferry/core/queue/redis-delivery-placement';
import { LayoutStore } from '@hookferry/core/queue/redis-layout-store';
import { Resharding } from '@hookferry/core/queue/resharding/resharding';
import { ShardsInForce } from '@hookferry/core/queue/shards-in-force';
import { ChangeFeed, WORKER_GATHER_MS } from '@hookferry/core/stream/change-feed';
import { ChangeStore } from '@hookferry/core/stream/redis-change-store';
import type { Tracing } from '@hookferry/core/telemetry/otel-tracing';
import { createPromRegistry } from '@hookferry/core/telemetry/prom-registry';
import {
  registerPromSignalMetrics,
  workerSignalMetrics,
} from '@hookferry/core/telemetry/prom-signal-metrics';
import { AccountShares } from '@hookferry/core/telemetry/prom-worker-gauges';
import { SharedCapacity } from './capacity';
import { stallTimeoutOf, type WorkerConfig } from './config';
import { FAN_OUT_CONCURRENCY } from './consumers/bullmq-fan-out';
import { openErasureWorker, openReplayWorker } from './consumers/bullmq-stepwise';
import { OpsServer } from './ops-server';
import { ServedShards } from './shard-consumers';
import { showGauges } from './show-gauges';
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
// Two movers, which write at the same time, and one that makes days, drops them, or erases; the readers are for replays.
const DATABASE = { applicationName: 'hookferry-worker', readers: 3, writers: 3 };

/** Build and start the worker, whether Redis responds yet or not. */
export async function composeWorker(
  config: WorkerConfig,
  listeners: readonly SignalListener[],
  tracing?: Tracing,
): Promise<WorkerProcess> {
  // Its signals.
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

  // Its connection, clock and shards.
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
  const dayStore = new DayStore(redis, atomic);
  const accountLoads = new AccountLoads({ dayStore, clock, emit });
  warnOfRetries(config, emit);
  watchRedisSafety(redis, emit);
  const isRedisAnswering = createRedisProbe(redis);
  const firstPrefix = queuePrefix(config.REDIS_URL);
  const layoutStore = new LayoutStore(redis, firstPrefix);
  const wanted = config.QUEUE_SHARDS;
  const shards = new ShardsInForce({ layoutStore, wanted, firstPrefix, atomic, emit });

  // What it shares with other processes, and what makes attempts.
  const { beginSpan } = tracing ?? {};
  const base = { config, redis, shards, atomic, workerId, beginSpan, clock, redisClock, emit };
  const core = openCore({ ...base, database: DATABASE, servedShards: () => servedShards.list() });
  const { standings, accountStore, deliveryQueue } = core.stores;
  const mailbox = new RedisMailbox({
    redis,
    connect: () => connectRedis({ ...connection, name: 'worker-mailbox', silenceMs: MAILBOX_SILENCE_MS }),
    emit,
  });
  const handOver = new HandOver({
    listenerStore: new ListenerStore(redis),
    mailbox,
    timeoutMs: config.DELIVERY_TIMEOUT,
    keptBytes: config.RESPONSE_BYTES_KEPT,
  });
  const deliveryCapacity = new SharedCapacity(config.WORKER_CONCURRENCY);
  const stores = { ...base, ...core.stores, newId: createNewId(clock) };
  const delivery = openDelivery(config, {
    ...stores,
    toListeners: (request, abortSignal) => handOver.send(request, abortSignal),
    onCapacity: (running) => deliveryCapacity.setCapacity(running),
  });
  const { releaser, concurrency, oldestEvents } = delivery.parts;
  const { slots, verifier } = delivery;
  const moveAfterMs = config.HISTORY_MOVE_AFTER;
  showGauges(registry, { ...base, stores: core.stores, slots, concurrency, shares, moveAfterMs });

  // Its consumers: of each shard; and of replays and erasures, which are few, and all in the first shard.
  const rejectedEvents = new RejectedEvents(redis, shards, clock);
  const accountJobs = new AccountJobs(redis, shards);
  const openAccounts = new OpenAccounts(accountStore, steadyClock);
  const lockDurationMs = config.JOB_LOCK_DURATION;
  const servedShards: ServedShards = new ServedShards(
    {
      ...stores,
      attemptParts: delivery.parts,
      placement: new DeliveryPlacement(redis, shards, deliveryQueue),
      deliveryCapacity,
      lockDurationMs,
      stopDeadlineMs: config.SHUTDOWN_TIMEOUT,
      deadLetters: rejectedEvents,
      oldestEvents,
      openAccounts,
      eventCapacity: new SharedCapacity(FAN_OUT_CONCURRENCY),
      maxEventBytes: config.MAX_EVENT_BYTES,
      routingTurns: new Turns(),
      fanOuts: new FanOuts(),
      fanOutTurns: new Turns(),
    },
    config.WORKER_SHARDS,
  );
  const stepwise = { ...stores, lockDurationMs, accountJobs };
  const consumers = [openReplayWorker(stepwise, shards.first), openErasureWorker(stepwise, shards.first)];
  const resharding = new Resharding({ redis, shards, layoutStore, workerId, clock, emit });

  // What it does beside deliveries.
  const historyUpkeep = openUpkeep({ ...stores, openAccounts, moveAfterMs }, core.stores.movedHistory);
  const auditSettler = new AuditSettler(stores);
  const mailer = openMailer(config);
  const notifier = new Notifier({
    ...stores,
    ...delivery,
    ...delivery.parts,
    contactStore: new ContactStore(redis, stores.sealer),
    notificationStore: new NotificationStore(redis, atomic),
    mailer,
    messageStyle: config.PUBLIC_URL === undefined ? undefined : { publicUrl: config.PUBLIC_URL },
    failingAfterMs: config.NOTIFY_FAILING_AFTER,
    ratePolicy: { below: config.NOTIFY_SUCCESS_BELOW / 100, forMs: config.NOTIFY_SUCCESS_BELOW_FOR },
    readNewestDeadLetter: () => rejectedEvents.newestAt(),
  });
  const workerReports = new WorkerReports(redis, atomic);
  const reporter = new WorkerReporter({
    workerReports,
    worker: {
      id: workerId,
      host: hostname(),
      pid: process.pid,
      version: VERSION,
      startedAt: clock(),
      sendsMail: mailer !== undefined,
    },
    slots,
    attempts,
    redisClock,
    emit,
  });
  const sampler = new DaySampler({ ...stores, workerReports, dayStore });
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
      ...delivery.recorders,
      ...core.recorders,
      { name: 'account loads', stop: () => accountLoads.stop() },
      { name: 'change feed', stop: () => changeFeed.stop() },
      { name: 'ops server', stop: () => opsServer.stop() },
      ...delivery.connections,
      { name: 'mail', stop: async () => mailer?.close() },
      { name: 'mailbox', stop: () => mailbox.close() },
      {
        name: 'queues of the worker',
        stop: async () => void (await Promise.all([rejectedEvents.close(), accountJobs.close()])),
      },
      ...core.connections,
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

function openMailer({ SMTP_URL: smtpUrl, MAIL_FROM: from }: WorkerConfig): Mailer | undefined {
  return smtpUrl === undefined || from === undefined ? undefined : new Mailer({ smtpUrl, from });
}

type UpkeepParts = Omit<
  ConstructorParameters<typeof Mover>[0] &
    ConstructorParameters<typeof OverSweep>[0] &
    ConstructorParameters<typeof ReachRestore>[0] &
    ConstructorParameters<typeof AuditMover>[0],
  'historyWriter' | 'keepDays' | keyof MovedHistory
> & { readonly config: WorkerConfig; readonly redisClock: RedisClock };

type MovedHistory = NonNullable<Core['stores']['movedHistory']>;

/** What keeps the history up to date, if there is one. */
function openUpkeep(given: UpkeepParts, moved: MovedHistory | undefined): HistoryUpkeep | undefined {
  if (moved === undefined) return undefined;
  const { config, clock } = given;
  const moving = {
    ...given,
    ...moved,
    historyWriter: new HistoryWriter(moved.historyDatabase, clock),
    keepDays: config.HISTORY_RETENTION / DAY_MS,
  };
  const writers = [
    new Mover(moving),
    new OverSweep(moving),
    new ReachRestore(moving),
    new AuditMover(moving),
  ];
  return new HistoryUpkeep({ ...moving, database: moved.historyDatabase, writers });
}
