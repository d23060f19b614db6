import { randomUUID } from 'node:crypto';
import { AccountQuota, UsageRecorder } from '@hookferry/core/accounts/account-quota';
import { auditBoundsOf } from '@hookferry/core/accounts/audit/audit-settings';
import { AuditSettler } from '@hookferry/core/accounts/audit/audit-settler';
import { AuditLog } from '@hookferry/core/accounts/audit/redis-audit-log';
import { EventTypeStore } from '@hookferry/core/accounts/event-types/redis-event-type-store';
import { AccountStore } from '@hookferry/core/accounts/redis-account-store';
import { ApiKeyStore } from '@hookferry/core/accounts/redis-api-key-store';
import { UsageStore } from '@hookferry/core/accounts/redis-usage-store';
import { OpenAccounts } from '@hookferry/core/accounts/resolve-account';
import { AccessTokens } from '@hookferry/core/deliver/access-tokens';
import { Ed25519Signatures } from '@hookferry/core/deliver/ed25519-signatures';
import { BatchSizes } from '@hookferry/core/deliver/flow/batch-sizes';
import { Concurrency } from '@hookferry/core/deliver/flow/concurrency';
import { Releaser } from '@hookferry/core/deliver/flow/releaser';
import { measureTurn, Slots } from '@hookferry/core/deliver/flow/slots';
import { AccessTokenStore } from '@hookferry/core/deliver/redis-access-token-store';
import { AttemptStore } from '@hookferry/core/deliver/redis-attempt-store';
import { Verifier } from '@hookferry/core/deliver/verify-endpoint';
import type { AuditEntry } from '@hookferry/core/domain/audit';
import type { Emit } from '@hookferry/core/domain/signal';
import type { BeginSpan } from '@hookferry/core/domain/trace';
import type { NoteUsage } from '@hookferry/core/domain/usage';
import { AdmissionStore } from '@hookferry/core/endpoints/admission/redis-admission-store';
import { disablePolicyOf } from '@hookferry/core/endpoints/disable';
import { HealthRecorder } from '@hookferry/core/endpoints/health/health-recorder';
import { HealthStore } from '@hookferry/core/endpoints/health/redis-health-store';
import { auditRecordedEvent, OperationalEvents } from '@hookferry/core/endpoints/operational-events';
import { EndpointStore } from '@hookferry/core/endpoints/redis-endpoint-store';
import { DisabledEndpoints, OpenBreakers } from '@hookferry/core/endpoints/redis-stopped-endpoints';
import { TransformationStore } from '@hookferry/core/endpoints/redis-transformation-store';
import { provideSealer } from '@hookferry/core/endpoints/seal';
import { SigningKeyStore } from '@hookferry/core/endpoints/signing-keys/redis-signing-key-store';
import { Subscriptions } from '@hookferry/core/endpoints/subscriptions';
import { ReceiverCertificates } from '@hookferry/core/endpoints/tls/redis-receiver-certificates';
import { UnprovenRequests } from '@hookferry/core/endpoints/verification/redis-unproven-requests';
import { VerificationStore } from '@hookferry/core/endpoints/verification/redis-verification-store';
import { VerificationPolicy } from '@hookferry/core/endpoints/verification/verify';
import { DeliveryStore } from '@hookferry/core/events/redis-delivery-store';
import { EventRelease, EventReleaser } from '@hookferry/core/events/redis-event-release';
import { EventStore } from '@hookferry/core/events/redis-event-store';
import { ScheduledEvents } from '@hookferry/core/events/redis-scheduled-events';
import { AuditMover } from '@hookferry/core/history/mover/audit-mover';
import { Mover } from '@hookferry/core/history/mover/mover';
import { ReachRestore } from '@hookferry/core/history/mover/restore-reach';
import { OverSweep } from '@hookferry/core/history/mover/sweep-over';
import { HistoryUpkeep } from '@hookferry/core/history/mover/upkeep';
import { Recent } from '@hookferry/core/history/redis-recent';
import { WholeHistory } from '@hookferry/core/history/whole-history';
import { Mailer } from '@hookferry/core/notifications/nodemailer-mailer';
import { Notifier } from '@hookferry/core/notifications/notifier';
import { ContactStore } from '@hookferry/core/notifications/redis-contact-store';
import { NotificationStore } from '@hookferry/core/notifications/redis-notification-store';
import { RemainsStore } from '@hookferry/core/operations/redis-remains-store';
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
import { DeliveryQueue } from '@hookferry/core/queue/bullmq-delivery-queue';
import { EventQueue } from '@hookferry/core/queue/bullmq-event-queue';
import { HeldDeliveries } from '@hookferry/core/queue/bullmq-held-deliveries';
import { OldestEvents } from '@hookferry/core/queue/bullmq-oldest-events';
import { QueueStandings } from '@hookferry/core/queue/bullmq-queue-standings';
import { RejectedEvents } from '@hookferry/core/queue/bullmq-rejected-events';
import { ScheduledQueue } from '@hookferry/core/queue/bullmq-scheduled-queue';
import { DeliveryPlacement } from '@hookferry/core/queue/redis-delivery-placement';
import { HeldCounts } from '@hookferry/core/queue/redis-held-counts';
import type { ShardsInForce } from '@hookferry/core/queue/shards-in-force';
import { ReplayStore } from '@hookferry/core/replays/redis-replay-store';
import { TransformPool } from '@hookferry/core/transform/transform-pool';
import { transformLimitsOf } from '@hookferry/core/transform/transform-settings';
import { SharedCapacity } from './capacity';
import type { WorkerConfig } from './config';
import { FAN_OUT_CONCURRENCY } from './consumers/bullmq-fan-out';
import { type HistoryParts, openHistory } from './open-history';
import { openTransport } from './open-transport';
import { ServedShards, type ShardContext } from './shard-consumers';

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
  const { config, redis, shards, atomic, workerId, clock, emit } = process;
  const { records, usageRecorders } = openRecords(process);
  const { accountStore, subscriptions } = records;
  const eventQueue = new EventQueue(redis, shards);
  const scheduledQueue = new ScheduledQueue(redis, shards);
  const deliveryQueue = new DeliveryQueue(redis, shards);
  const deadLetters = new RejectedEvents(redis, shards, clock);
  const accountJobs = new AccountJobs(redis, shards);
  const standings = new QueueStandings(redis, shards);
  const healthStore = new HealthStore(redis, healthRetentionOf(config), atomic);
  const operationalEvents = new OperationalEvents({ subscriptions, eventQueue, clock, emit });
  const receiverCertificates = new ReceiverCertificates(process);
  const transport = openTransport({ ...process, receiverCertificates });
  const transformPool = new TransformPool({ limits: transformLimitsOf(config, BOUND_BY_SLOTS), emit });
  const historyParts = openHistory({ ...process, ...records });
  const heldDeliveries = new HeldDeliveries(redis, shards, () => servedShards.list(), atomic, clock);
  const stores = {
    ...process,
    ...records,
    ...historyParts,
    eventQueue,
    scheduledQueue,
    deliveryQueue,
    deadLetters,
    accountJobs,
    standings,
    healthStore,
    operationalEvents,
    auditLog: new AuditLog(redis),
    auditBounds: auditBoundsOf(config),
    onRecorded: (entry: AuditEntry) => {
      if (entry.accountId) operationalEvents.raise(entry.accountId, [auditRecordedEvent(entry)]);
    },
    eventTypeStore: new EventTypeStore(redis),
    transformationStore: new TransformationStore(redis),
    receiverCertificates,
    accessTokenStore: new AccessTokenStore(redis, records.sealer),
    transformPool,
    attemptStore: new AttemptStore(records.retention),
    admissionStore: new AdmissionStore(redis),
    verificationPolicy: new VerificationPolicy({
      accountStore,
      byDefault: config.ENDPOINT_VERIFICATION,
      requestOrigin: config.WEBHOOK_REQUEST_ORIGIN,
    }),
    verificationStore: new VerificationStore(redis, atomic),
    unprovenRequests: new UnprovenRequests(redis),
    apiKeyStore: new ApiKeyStore(redis),
    contactStore: new ContactStore(redis, records.sealer),
    notificationStore: new NotificationStore(redis, atomic),
    openBreakers: new OpenBreakers(redis),
    disabledEndpoints: new DisabledEndpoints(redis),
    heldCounts: new HeldCounts(redis, shards),
    heldDeliveries,
    history: new WholeHistory(
      new Recent({ ...records, heldDeliveries }, historyParts?.movedStore),
      historyParts && { source: historyParts.pgHistory, reach: historyParts.movedStore },
    ),
    oldestEvents: new OldestEvents(redis, shards),
    placement: new DeliveryPlacement(redis, shards, deliveryQueue),
    replayStore: new ReplayStore(redis, config.RETENTION),
    remainsStore: new RemainsStore(redis, shards),
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
    scheduleMaxMs: config.SCHEDULE_MAX,
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
    disablePolicy: disablePolicyOf(config),
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
    { name: 'operational events', stop: () => operationalEvents.stop() },
    { name: 'health recorder', stop: () => healthRecorder.stop() },
    ...usageRecorders,
  ];
  const queues = [deliveryQueue, eventQueue, deadLetters, accountJobs, standings];
  const connections: readonly Stoppable[] = [
    { name: 'access tokens', stop: async () => accessTokens.close() },
    { name: 'mail', stop: async () => context.mailer?.close() },
    { name: 'transport', stop: () => transport.close() },
    { name: 'transformations', stop: () => transformPool.close() },
    { name: 'history database', stop: async () => await historyParts?.historyDatabase.close() },
    { name: 'queues', stop: async () => void (await Promise.all(queues.map((queue) => queue.close()))) },
  ];
  return {
    context,
    servedShards,
    verifier: new Verifier(context),
    auditSettler: new AuditSettler(context),
    notifier: new Notifier(context),
    historyUpkeep: historyParts && openUpkeep({ ...context, ...historyParts }),
    recorders,
    connections,
  };
}

function openMailer({ SMTP_URL: smtpUrl, MAIL_FROM: from }: WorkerConfig): Mailer | undefined {
  return smtpUrl === undefined || from === undefined ? undefined : new Mailer({ smtpUrl, from });
}

function openUpkeep(
  context: ProcessContext &
    HistoryParts &
    ConstructorParameters<typeof AuditMover>[0] &
    ConstructorParameters<typeof Mover>[0] &
    ConstructorParameters<typeof OverSweep>[0],
): HistoryUpkeep {
  const writers = [
    new Mover(context),
    new OverSweep(context),
    new ReachRestore(context),
    new AuditMover(context),
  ];
  return new HistoryUpkeep({ ...context, database: context.historyDatabase, writers });
}

/** Accounts, endpoints, events and deliveries, with the recorder of their usage. */
function openRecords({ config, redis, clock, emit }: ProcessContext) {
  // What is over moves: until then none of it is let go of because there is much of it.
  const hasHistory = config.HISTORY_DATABASE_URL !== undefined;
  const count = hasHistory ? Number.MAX_SAFE_INTEGER : config.RETENTION_COUNT;
  const retention = { ageMs: config.RETENTION, count };
  const usageStore = new UsageStore(redis);
  const usageRecorder = new UsageRecorder({ usageStore, clock, emit });
  const noteUsage: NoteUsage = (accountId, kind, bytes) =>
    usageRecorder.note(accountId, kind, bytes, clock(), retention.ageMs);
  const quota = new AccountQuota({ usageStore, defaultBytes: config.ACCOUNT_QUOTA_BYTES, clock, emit });
  const sealer = provideSealer(config.SECRETS_ENCRYPTION_KEY, emit);
  const endpointStore = new EndpointStore(redis, sealer, (accountId, standing) =>
    quota.note(accountId, standing),
  );
  const signingKeyStore = new SigningKeyStore(redis, sealer);
  const eventReleaser = new EventReleaser({
    eventRelease: new EventRelease(redis),
    usageRecorder,
    retentionMs: retention.ageMs,
    emit,
  });
  const letGo = eventReleaser.add.bind(eventReleaser);
  const records = {
    retention,
    usageStore,
    usageRecorder,
    noteUsage,
    quota,
    endpointStore,
    signingKeyStore,
    sealer,
    subscriptions: new Subscriptions(endpointStore),
    accountStore: new AccountStore(redis),
    eventStore: new EventStore(redis, retention, steadyClock, {
      form: config.RECORD_FORM,
      onPruned: letGo,
      onErased: (accountId, bytes, acceptedAt) =>
        usageRecorder.note(accountId, 'events', -bytes, acceptedAt, retention.ageMs),
    }),
    deliveryStore: new DeliveryStore(redis, retention, letGo, config.RECORD_FORM),
    scheduledEvents: new ScheduledEvents(redis, retention, config.RECORD_FORM),
  };
  const usageRecorders: readonly Stoppable[] = [
    { name: 'event releaser', stop: () => eventReleaser.stop() },
    { name: 'usage recorder', stop: () => usageRecorder.stop() },
  ];
  return { records, usageRecorders };
}

// A forgotten last success counts as none: it must stay as long as it prevents the disabling.
function healthRetentionOf({ DISABLE_AFTER, RETENTION }: WorkerConfig): number {
  return DISABLE_AFTER === 'never' ? RETENTION : Math.max(RETENTION, DISABLE_AFTER);
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
