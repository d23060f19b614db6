import { randomUUID } from 'node:crypto';
import { AuditSettler } from '@hookferry/core/accounts/audit/audit-settler';
import { OpenAccounts } from '@hookferry/core/accounts/resolve-account';
import { openCore } from '@hookferry/core/core/open-core';
import { AccessTokens } from '@hookferry/core/deliver/access-tokens';
import { Ed25519Signatures } from '@hookferry/core/deliver/ed25519-signatures';
import { BatchSizes } from '@hookferry/core/deliver/flow/batch-sizes';
import { Concurrency } from '@hookferry/core/deliver/flow/concurrency';
import { Releaser } from '@hookferry/core/deliver/flow/releaser';
import { measureTurn, Slots } from '@hookferry/core/deliver/flow/slots';
import { AccessTokenStore } from '@hookferry/core/deliver/redis-access-token-store';
import { AttemptStore } from '@hookferry/core/deliver/redis-attempt-store';
import { Verifier } from '@hookferry/core/deliver/verify-endpoint';
import { DAY_MS } from '@hookferry/core/domain/history-retention';
import type { Emit } from '@hookferry/core/domain/signal';
import type { BeginSpan } from '@hookferry/core/domain/trace';
import type { Transport } from '@hookferry/core/domain/transport';
import { HealthRecorder } from '@hookferry/core/endpoints/health/health-recorder';
import { ReceiverCertificates } from '@hookferry/core/endpoints/tls/redis-receiver-certificates';
import { UnprovenRequests } from '@hookferry/core/endpoints/verification/redis-unproven-requests';
import type { PgDatabase } from '@hookferry/core/history/database/pg-database';
import { HistoryWriter } from '@hookferry/core/history/database/pg-history-writer';
import { AuditMover } from '@hookferry/core/history/mover/audit-mover';
import { Mover } from '@hookferry/core/history/mover/mover';
import { ReachRestore } from '@hookferry/core/history/mover/restore-reach';
import { OverSweep } from '@hookferry/core/history/mover/sweep-over';
import { HistoryUpkeep } from '@hookferry/core/history/mover/upkeep';
import { Turns } from '@hookferry/core/platform/batches';
import { type Clock, steadyClock } from '@hookferry/core/platform/clock';
import { createNewId } from '@hookferry/core/platform/ids';
import type { Atomic } from '@hookferry/core/platform/redis-atomic';
import type { RedisClock } from '@hookferry/core/platform/redis-clock';
import type { ConnectOptions, RedisClient } from '@hookferry/core/platform/redis-connect';
import type { Stoppable } from '@hookferry/core/platform/timers';
import { PROJECT_URL, VERSION } from '@hookferry/core/platform/version';
import { FanOuts } from '@hookferry/core/publish/store-fan-out';
import { AccountJobs } from '@hookferry/core/queue/bullmq-account-jobs';
import { OldestEvents } from '@hookferry/core/queue/bullmq-oldest-events';
import { RejectedEvents } from '@hookferry/core/queue/bullmq-rejected-events';
import { DeliveryPlacement } from '@hookferry/core/queue/redis-delivery-placement';
import type { ShardsInForce } from '@hookferry/core/queue/shards-in-force';
import { TransformPool } from '@hookferry/core/transform/transform-pool';
import { transformLimitsOf } from '@hookferry/core/transform/transform-settings';
import { SharedCapacity } from './capacity';
import type { WorkerConfig } from './config';
import { FAN_OUT_CONCURRENCY } from './consumers/bullmq-fan-out';
import { openTransport } from './open-transport';
import { ServedShards, type ShardContext } from './shard-consumers';

// Two movers, which write at the same time, and one that makes days, drops them, or erases; the readers are for replays.
const DATABASE = { applicationName: 'hookferry-worker', readers: 3, writers: 3 };

// The slots bound how many runs wait.
const BOUND_BY_SLOTS = {
  maxWaitingOfAccount: Number.POSITIVE_INFINITY,
  maxWaiting: Number.POSITIVE_INFINITY,
};
const USER_AGENT = `Hookferry/${VERSION} (+${PROJECT_URL})`;

/** The parts of the process before it opens anything in Redis. */
export interface ProcessContext {
  readonly config: WorkerConfig;
  readonly redis: RedisClient;
  /** Options of connections to Redis, for those that block. */
  readonly connection: Omit<ConnectOptions, 'name'>;
  readonly shards: ShardsInForce;
  readonly atomic: Atomic;
  readonly workerId: string;
  /** Absent: traces are not wanted. */
  readonly beginSpan?: BeginSpan | undefined;
  /** Sends requests that are for a listener. */
  readonly toListeners: Transport;
  /** That of Redis. */
  readonly clock: Clock;
  readonly redisClock: Pick<RedisClock, 'isTrusted' | 'known' | 'skewMs'>;
  readonly emit: Emit;
}

/**
 * Everything that the worker's consumers and use cases need. Each function names the few members that it
 * uses.
 */
export type WorkerContext = ReturnType<typeof openContext>['context'];

/**
 * Open all stores and queues of the worker, over an open connection. Nothing is started. `recorders` still
 * write when the process stops; they and the consumers need `connections` until then. Both are in the order
 * in which they must stop.
 */
export function openContext(process: ProcessContext) {
  const { config, redis, shards, workerId, clock, emit } = process;
  const { stores: core, ...opened } = openCore({
    ...process,
    database: DATABASE,
    servedShards: () => servedShards.list(),
  });
  const { accountStore, healthStore, deliveryQueue, sealer } = core;
  const deadLetters = new RejectedEvents(redis, shards, clock);
  const accountJobs = new AccountJobs(redis, shards);
  const receiverCertificates = new ReceiverCertificates(process);
  const transport = openTransport({ ...process, receiverCertificates });
  const transformPool = new TransformPool({ limits: transformLimitsOf(config, BOUND_BY_SLOTS), emit });
  const stores = {
    ...process,
    ...core,
    moveAfterMs: config.HISTORY_MOVE_AFTER,
    deadLetters,
    accountJobs,
    receiverCertificates,
    accessTokenStore: new AccessTokenStore(redis, sealer),
    transformPool,
    attemptStore: new AttemptStore(core.retention),
    unprovenRequests: new UnprovenRequests(redis),
    oldestEvents: new OldestEvents(redis, shards),
    placement: new DeliveryPlacement(redis, shards, deliveryQueue),
    random: Math.random,
  };
  const accessTokens = new AccessTokens({
    ...stores,
    transport: transport.send,
    userAgent: USER_AGENT,
    attemptTimeoutMs: config.DELIVERY_TIMEOUT,
    newTokenId: randomUUID,
  });
  const admission = openAdmission(stores);
  const healthRecorder = new HealthRecorder({
    healthStore,
    workerId,
    limitOf: (endpointId) => admission.concurrency.limitOf(endpointId),
    clock,
    emit,
  });
  const context = {
    ...stores,
    ...admission,
    healthRecorder,
    transport: transport.send,
    accessTokens,
    ed25519Signatures: new Ed25519Signatures(),
    eventCapacity: new SharedCapacity(FAN_OUT_CONCURRENCY),
    maxEventBytes: config.MAX_EVENT_BYTES,
    routingTurns: new Turns(),
    fanOuts: new FanOuts(),
    fanOutTurns: new Turns(),
    lockDurationMs: config.JOB_LOCK_DURATION,
    stopDeadlineMs: config.SHUTDOWN_TIMEOUT,
    attemptTimeoutMs: config.DELIVERY_TIMEOUT,
    retrySchedule: config.RETRY_SCHEDULE,
    requestStyle: {
      userAgent: USER_AGENT,
      signatureHeader: { name: config.SIGNATURE_HEADER, prefix: config.SIGNATURE_PREFIX },
      tellsTrace: config.TRACEPARENT_TO_RECEIVERS,
      cloudEvents: { source: config.SOURCE, publicUrl: config.PUBLIC_URL },
    },
    openAccounts: new OpenAccounts(accountStore, steadyClock),
    newId: createNewId(clock),
  };
  const servedShards: ServedShards = new ServedShards(context satisfies ShardContext, config.WORKER_SHARDS);
  const recorders: readonly Stoppable[] = [
    { name: 'health recorder', stop: () => healthRecorder.stop() },
    ...opened.recorders,
  ];
  const queues = [deadLetters, accountJobs];
  const connections: readonly Stoppable[] = [
    { name: 'access tokens', stop: async () => accessTokens.close() },
    { name: 'transport', stop: () => transport.close() },
    { name: 'transformations', stop: () => transformPool.close() },
    {
      name: 'queues of the worker',
      stop: async () => void (await Promise.all(queues.map((queue) => queue.close()))),
    },
    ...opened.connections,
  ];
  return {
    context,
    servedShards,
    verifier: new Verifier(context),
    auditSettler: new AuditSettler(context),
    historyUpkeep: core.movedHistory && openUpkeep({ ...context, ...core.movedHistory }),
    recorders,
    connections,
  };
}

type UpkeepContext = ProcessContext &
  Omit<ConstructorParameters<typeof Mover>[0], 'historyWriter' | 'moveAfterMs' | 'keepDays'> &
  Omit<ConstructorParameters<typeof OverSweep>[0], 'moveAfterMs'> &
  ConstructorParameters<typeof ReachRestore>[0] &
  Omit<ConstructorParameters<typeof AuditMover>[0], 'historyWriter' | 'keepDays'> & {
    readonly historyDatabase: PgDatabase;
  };

function openUpkeep(context: UpkeepContext): HistoryUpkeep {
  const { config, historyDatabase, clock } = context;
  const moving = {
    ...context,
    historyWriter: new HistoryWriter(historyDatabase, clock),
    moveAfterMs: config.HISTORY_MOVE_AFTER,
    keepDays: config.HISTORY_RETENTION / DAY_MS,
  };
  const writers = [
    new Mover(moving),
    new OverSweep(moving),
    new ReachRestore(moving),
    new AuditMover(moving),
  ];
  return new HistoryUpkeep({ ...moving, database: historyDatabase, writers });
}

// One endpoint may use a quarter of the slots, and all of them while no other endpoint needs any.
const ENDPOINT_SHARE = 4;
// Several times the response time of a healthy receiver.
const PERMIT_PATIENCE_MS = 100;
// Unknown endpoints together may use half of the slots.
const UNKNOWN_SHARE = 2;
// This many slow slots for each quick one: sixteen busy endpoints may begin to hang at once before others
// notice.
const SLOW_FACTOR = 4;

type AdmissionContext = Pick<ProcessContext, 'config'> &
  Omit<ConstructorParameters<typeof Releaser>[0], 'concurrency'>;

/** Open the parts that admit attempts, and release held deliveries. */
function openAdmission(context: AdmissionContext) {
  const { WORKER_CONCURRENCY: quick, WORKER_SLOW_CONCURRENCY: slow = quick * SLOW_FACTOR } = context.config;
  const deliveryCapacity = new SharedCapacity(quick);
  const slots = new Slots({
    quick,
    slow,
    onCapacity: (attempts) => deliveryCapacity.setCapacity(attempts),
    clock: steadyClock,
    measureTurn,
  });
  const concurrency = new Concurrency({
    slots,
    onSlotFree: () => releaser.slotIsFree(),
    maxPerEndpoint: quick,
    sharePerEndpoint: Math.max(Math.floor(quick / ENDPOINT_SHARE), 1),
    maxUnknown: Math.max(Math.floor(quick / UNKNOWN_SHARE), 1),
    patienceMs: PERMIT_PATIENCE_MS,
  });
  const releaser = new Releaser({ ...context, concurrency });
  return { deliveryCapacity, slots, concurrency, batchSizes: new BatchSizes(), releaser };
}
