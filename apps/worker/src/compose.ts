import { randomBytes } from 'node:crypto';
import { AuditCompleter } from '@hookferry/core/accounts/audit/audit-completer';
import { OpenAccounts } from '@hookferry/core/accounts/open-accounts';
import { keepCopies } from '@hookferry/core/accounts/redis-record-copies';
import { closesOf, listenersOf, stopsOf } from '@hookferry/core/core/capability';
import { openCore } from '@hookferry/core/core/open-core';
import { openProcess, STOPPING } from '@hookferry/core/core/open-process';
import { openDelivery } from '@hookferry/core/deliver/open-delivery';
import { DAY_MS } from '@hookferry/core/domain/history-retention';
import { longestOf } from '@hookferry/core/domain/retry-schedule';
import { createEmit, type Emit, type SignalListener } from '@hookferry/core/domain/signal';
import type { RedisLoss } from '@hookferry/core/history/database/pg-witness';
import { HistoryUpkeep } from '@hookferry/core/history/mover/upkeep';
import { digestsOf } from '@hookferry/core/operations/agreed-settings';
import { DaySampler } from '@hookferry/core/operations/day-sampler';
import { IntakeSweeper } from '@hookferry/core/operations/intake-sweeper';
import { PauseWatch } from '@hookferry/core/operations/pause-watch';
import { RollbackWatch } from '@hookferry/core/operations/rollback-watch';
import { AttemptRate, WorkerReporter } from '@hookferry/core/operations/worker-reporter';
import { steadyClock } from '@hookferry/core/platform/clock';
import { formatDuration } from '@hookferry/core/platform/duration';
import { fullVersion } from '@hookferry/core/platform/revision';
import type { Stoppable } from '@hookferry/core/platform/timers';
import { RejectedEvents } from '@hookferry/core/queue/bullmq-rejected-events';
import { DeliveryPlacement } from '@hookferry/core/queue/redis-delivery-placement';
import { Resharding } from '@hookferry/core/queue/resharding/resharding';
import type { Tracing } from '@hookferry/core/telemetry/otel-tracing';
import { capabilities, registryOf, toListenersBy, type WorkerCapability } from './capabilities';
import { SharedCapacity } from './capacity';
import { moveAfterOf, stallTimeoutOf, type WorkerConfig } from './config';
import { FAN_OUT_CONCURRENCY } from './consumers/bullmq-fan-out';
import { openErasureWorker, openReplayWorker } from './consumers/bullmq-stepwise';
import { OpsServer } from './ops-server';
import { ServedShards } from './shard-consumers';
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
  given: readonly SignalListener[],
  tracing?: Tracing,
): Promise<WorkerProcess> {
  const attempts = new AttemptRate(steadyClock);
  const listeners = [...given, attempts.listen];
  const emit = createEmit(listeners);

  // What it shares with other processes, and what makes attempts.
  const workerId = randomBytes(WORKER_ID_BYTES).toString('hex');
  const own = openProcess({ config, role: 'working', name: 'worker', emit });
  const { redis, redisClock, shards } = own;
  const base = { ...own, config, workerId, beginSpan: tracing?.beginSpan };
  const core = openCore({
    ...base,
    database: DATABASE,
    whenCopiesAreAway: 'later',
    servedShards: () => servedShards.list(),
  });
  const { configurationCopy, rebuild } = core.stores;
  if (configurationCopy) keepCopies(redis, configurationCopy);
  const { accountStore, movedHistory } = core.stores;
  const opened: WorkerCapability[] = tracing ? [tracing] : [];
  const deliveryCapacity = new SharedCapacity(config.WORKER_CONCURRENCY);
  const rejectedEvents = new RejectedEvents(redis, shards, own.clock);
  const stores = { ...core.stores, ...base, rejectedEvents };
  const delivery = openDelivery(config, {
    ...stores,
    toListeners: toListenersBy(opened),
    onCapacity: (running) => deliveryCapacity.setCapacity(running),
  });
  const { releaser, oldestEvents } = delivery.parts;
  const { slots, verifier } = delivery;
  const moveAfterMs = moveAfterOf(config);
  const context = { ...stores, ...core, delivery, moveAfterMs };
  opened.push(...capabilities.map((each) => each.open(context)));
  listeners.push(...listenersOf(opened));
  warnOfRetries(config, emit);

  // Its consumers: of each shard; and of replays and erasures, which are few, and all in the first shard.
  const openAccounts = new OpenAccounts(accountStore, steadyClock);
  const lockDurationMs = config.JOB_LOCK_DURATION;
  const servedShards: ServedShards = new ServedShards(
    {
      ...stores,
      publishing: core.publishing,
      attemptParts: delivery.parts,
      placement: new DeliveryPlacement(redis, shards),
      deliveryCapacity,
      lockDurationMs,
      stopDeadlineMs: config.SHUTDOWN_TIMEOUT,
      oldestEvents,
      openAccounts,
      eventCapacity: new SharedCapacity(FAN_OUT_CONCURRENCY),
    },
    config.WORKER_SHARDS,
  );
  const stepwise = { ...stores, lockDurationMs };
  const consumers = [
    openReplayWorker(stepwise, core.replays, shards.first),
    openErasureWorker(stepwise, core.accountErasure, shards.first),
  ];
  const resharding = new Resharding(base);

  // What it does beside deliveries.
  const keepDays = config.HISTORY_RETENTION / DAY_MS;
  const intakeSweeper =
    movedHistory && new IntakeSweeper({ ...stores, ...movedHistory, ...core, openAccounts });
  const historyUpkeep =
    movedHistory &&
    new HistoryUpkeep(
      { ...stores, ...movedHistory, openAccounts, moveAfterMs, keepDays },
      intakeSweeper ? [intakeSweeper] : [],
    );
  const auditCompleter = new AuditCompleter(stores);
  const reporter = new WorkerReporter({
    ...stores,
    version: fullVersion(config.HOOKFERRY_REVISION),
    sendsMail: config.SMTP_URL !== undefined,
    sealingKeys: config.SECRETS_ENCRYPTION_KEY,
    settings: digestsOf(config),
    slots,
    attempts,
  });
  const sampler = new DaySampler({ ...stores, operations: core.operations });
  const stalledAfterMs = stallTimeoutOf(config);
  const stallWatch = new StallWatch({ ...stores, servedShards, stalledAfterMs });
  const pauseWatch = new PauseWatch(stores);
  const rollbackWatch = new RollbackWatch({
    ...stores,
    onLoss: [
      // First: what is sent again needs its webhooks.
      ...(rebuild ? [async ({ since }: RedisLoss) => void (await rebuild.run(since))] : []),
      ...(intakeSweeper ? [(loss: RedisLoss) => intakeSweeper.compareAgain(loss)] : []),
    ],
  });
  let isStopping = false;
  const opsServer = new OpsServer({
    host: config.WORKER_HOST,
    port: config.WORKER_PORT,
    registry: registryOf(opened),
    stallWatch,
    connectionHealth: own.connection.health,
    whyUnready: async () => (isStopping ? STOPPING : await own.whyUnready()),
  });

  await historyUpkeep?.start();
  const port = await opsServer.start();
  const watches = [stallWatch, pauseWatch, rollbackWatch, ...(configurationCopy ? [configurationCopy] : [])];
  const parts = [releaser, verifier, auditCompleter, resharding, ...watches, reporter, sampler];
  // Nothing begins before Redis has told its time, however long that takes.
  const begin = async () => {
    await redisClock.start((isTrusted) => servedShards.setMayServe(isTrusted));
    if (isStopping) return;
    for (const part of [...consumers, ...parts]) part.start();
    for (const capability of opened) capability.start?.();
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
      { name: 'watches', stop: () => stopAll(watches) },
      {
        name: 'consumers',
        stop: () => stopAll([servedShards, verifier, auditCompleter, ...stopsOf(opened), ...consumers]),
      },
      // These release jobs for the consumers, or move them to where consumers take them.
      { name: 'releasers', stop: () => stopAll([releaser, resharding]) },
      { name: 'shards', stop: () => shards.stop() },
      { name: 'history', stop: async () => await historyUpkeep?.stop() },
      { name: 'worker report', stop: () => stopAll([reporter, sampler]) },
      ...delivery.recorders,
      ...core.recorders,
      ...closesOf(opened),
      { name: 'ops server', stop: () => opsServer.stop() },
      ...delivery.connections,
      ...core.connections,
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
