import { randomUUID } from 'node:crypto';
import { AuditSettler } from '@hookferry/core/accounts/audit/audit-settler';
import { OpenAccounts } from '@hookferry/core/accounts/open-accounts';
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
import { HealthRecorder } from '@hookferry/core/endpoints/health/health-recorder';
import { ReceiverCertificates } from '@hookferry/core/endpoints/tls/redis-receiver-certificates';
import { UnprovenRequests } from '@hookferry/core/endpoints/verification/redis-unproven-requests';
import { HistoryUpkeep } from '@hookferry/core/history/mover/upkeep';
import { Mailer } from '@hookferry/core/notifications/nodemailer-mailer';
import { Notifier } from '@hookferry/core/notifications/notifier';
import { ContactStore } from '@hookferry/core/notifications/redis-contact-store';
import { NotificationStore } from '@hookferry/core/notifications/redis-notification-store';
import { type Clock, steadyClock } from '@hookferry/core/platform/clock';
import { createNewId } from '@hookferry/core/platform/ids';
import type { Atomic } from '@hookferry/core/platform/redis-atomic';
import type { RedisClock } from '@hookferry/core/platform/redis-clock';
import type { ConnectOptions, RedisClient } from '@hookferry/core/platform/redis-connect';
import type { Stoppable } from '@hookferry/core/platform/timers';
import { PROJECT_URL, VERSION } from '@hookferry/core/platform/version';
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
  /** That of Redis. */
  readonly clock: Clock;
  readonly redisClock: RedisClock;
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
  const {
    stores: core,
    replays,
    erasure,
    operations,
    ...opened
  } = openCore({
    ...process,
    maxEventBytes: config.MAX_EVENT_BYTES,
    database: DATABASE,
    servedShards: () => servedShards.list(),
  });
  const { accountStore, healthStore, deliveryQueue, sealer, movedHistory } = core;
  const deadLetters = new RejectedEvents(redis, shards, clock);
  const receiverCertificates = new ReceiverCertificates(process);
  const transport = openTransport({ ...process, receiverCertificates });
  const transformPool = new TransformPool({ limits: transformLimitsOf(config, BOUND_BY_SLOTS), emit });
  const stores = {
    ...process,
    ...core,
    endpointHealth: opened.endpointHealth,
    moveAfterMs: config.HISTORY_MOVE_AFTER,
    keepDays: config.HISTORY_RETENTION / DAY_MS,
    deadLetters,
    receiverCertificates,
    accessTokenStore: new AccessTokenStore(redis, sealer),
    transformPool,
    attemptStore: new AttemptStore(core.retention),
    unprovenRequests: new UnprovenRequests(redis),
    contactStore: new ContactStore(redis, sealer),
    notificationStore: new NotificationStore(redis, process.atomic),
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
    publishing: opened.publishing,
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
    mailer: openMailer(config),
    messageStyle: config.PUBLIC_URL === undefined ? undefined : { publicUrl: config.PUBLIC_URL },
    failingAfterMs: config.NOTIFY_FAILING_AFTER,
    ratePolicy: { below: config.NOTIFY_SUCCESS_BELOW / 100, forMs: config.NOTIFY_SUCCESS_BELOW_FOR },
    readNewestDeadLetter: () => deadLetters.newestAt(),
  };
  const servedShards: ServedShards = new ServedShards(context satisfies ShardContext, config.WORKER_SHARDS);
  const recorders: readonly Stoppable[] = [
    { name: 'health recorder', stop: () => healthRecorder.stop() },
    ...opened.recorders,
  ];
  const connections: readonly Stoppable[] = [
    { name: 'access tokens', stop: async () => accessTokens.close() },
    { name: 'mail', stop: async () => context.mailer?.close() },
    { name: 'transport', stop: () => transport.close() },
    { name: 'transformations', stop: () => transformPool.close() },
    { name: 'queues of the worker', stop: () => deadLetters.close() },
    ...opened.connections,
  ];
  return {
    context,
    replays,
    erasure,
    operations,
    servedShards,
    verifier: new Verifier(context),
    auditSettler: new AuditSettler(context),
    notifier: new Notifier(context),
    historyUpkeep: movedHistory && new HistoryUpkeep({ ...context, ...movedHistory }),
    recorders,
    connections,
  };
}

function openMailer({ SMTP_URL: smtpUrl, MAIL_FROM: from }: WorkerConfig): Mailer | undefined {
  return smtpUrl === undefined || from === undefined ? undefined : new Mailer({ smtpUrl, from });
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
