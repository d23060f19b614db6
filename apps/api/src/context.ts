import { setTimeout as wait } from 'node:timers/promises';
import { AccountQuota, UsageRecorder } from '@hookferry/core/accounts/account-quota';
import { auditBoundsOf } from '@hookferry/core/accounts/audit/audit-settings';
import { AuditLog } from '@hookferry/core/accounts/audit/redis-audit-log';
import { RefusalStore, Refusals } from '@hookferry/core/accounts/audit/refusals';
import { AuthFailures } from '@hookferry/core/accounts/auth-failures';
import { KeyUses } from '@hookferry/core/accounts/authenticate';
import { EventTypeStore } from '@hookferry/core/accounts/event-types/redis-event-type-store';
import { RateLimit } from '@hookferry/core/accounts/limit-rate';
import { AccountStore } from '@hookferry/core/accounts/redis-account-store';
import { AllowanceStore } from '@hookferry/core/accounts/redis-allowance-store';
import { ApiKeyStore } from '@hookferry/core/accounts/redis-api-key-store';
import { PortalSessionStore } from '@hookferry/core/accounts/redis-portal-session-store';
import { UsageStore } from '@hookferry/core/accounts/redis-usage-store';
import { KnownAccounts } from '@hookferry/core/accounts/resolve-account';
import { AddressPolicy } from '@hookferry/core/deliver/egress/address-policy';
import type { AuditEntry } from '@hookferry/core/domain/audit';
import type { QueueShards } from '@hookferry/core/domain/queues';
import type { Emit } from '@hookferry/core/domain/signal';
import type { BeginSpan } from '@hookferry/core/domain/trace';
import type { NoteUsage } from '@hookferry/core/domain/usage';
import { AdmissionStore } from '@hookferry/core/endpoints/admission/redis-admission-store';
import { countDisabled, disablePolicyOf } from '@hookferry/core/endpoints/disable';
import { HealthStore } from '@hookferry/core/endpoints/health/redis-health-store';
import { auditRecordedEvent, OperationalEvents } from '@hookferry/core/endpoints/operational-events';
import { EndpointStore } from '@hookferry/core/endpoints/redis-endpoint-store';
import { DisabledEndpoints, OpenBreakers } from '@hookferry/core/endpoints/redis-stopped-endpoints';
import { TransformationStore } from '@hookferry/core/endpoints/redis-transformation-store';
import { provideSealer } from '@hookferry/core/endpoints/seal';
import { SigningKeyStore } from '@hookferry/core/endpoints/signing-keys/redis-signing-key-store';
import { Subscriptions } from '@hookferry/core/endpoints/subscriptions';
import { VerificationStore } from '@hookferry/core/endpoints/verification/redis-verification-store';
import { VerificationPolicy } from '@hookferry/core/endpoints/verification/verify';
import { DeliveryStore } from '@hookferry/core/events/redis-delivery-store';
import { EventRelease, EventReleaser } from '@hookferry/core/events/redis-event-release';
import { EventStore } from '@hookferry/core/events/redis-event-store';
import { ScheduledEvents } from '@hookferry/core/events/redis-scheduled-events';
import { EventCounter } from '@hookferry/core/history/count-events';
import { RecentAttempts } from '@hookferry/core/history/count-recent';
import type { InTurn } from '@hookferry/core/history/history-source';
import { Recent } from '@hookferry/core/history/redis-recent';
import { WholeHistory } from '@hookferry/core/history/whole-history';
import { ListenerStreams } from '@hookferry/core/listeners/listener-streams';
import { WatchListeners } from '@hookferry/core/listeners/manage-listeners';
import { ListenerStore } from '@hookferry/core/listeners/redis-listener-store';
import { MAILBOX_SILENCE_MS, RedisMailbox } from '@hookferry/core/listeners/redis-mailbox';
import { ContactStore } from '@hookferry/core/notifications/redis-contact-store';
import { NotificationStore } from '@hookferry/core/notifications/redis-notification-store';
import { DayReader } from '@hookferry/core/operations/read-day';
import { OperationsReader } from '@hookferry/core/operations/read-operations';
import { DayStore } from '@hookferry/core/operations/redis-day-store';
import { RemainsStore } from '@hookferry/core/operations/redis-remains-store';
import { WorkerReports } from '@hookferry/core/operations/redis-worker-reports';
import { Turns } from '@hookferry/core/platform/batches';
import { type Clock, steadyClock } from '@hookferry/core/platform/clock';
import { SAME_AS_KEY } from '@hookferry/core/platform/duration';
import type { NewId } from '@hookferry/core/platform/ids';
import type { Atomic } from '@hookferry/core/platform/redis-atomic';
import type { RedisClock } from '@hookferry/core/platform/redis-clock';
import { connectRedis, type RedisClient } from '@hookferry/core/platform/redis-connect';
import type { ConnectionHealth } from '@hookferry/core/platform/redis-keeper';
import type { Stoppable } from '@hookferry/core/platform/timers';
import { Assumptions } from '@hookferry/core/publish/redis-assumption';
import { EventClaimStore } from '@hookferry/core/publish/redis-event-claim-store';
import { IdempotencyStore, KEPT_MS } from '@hookferry/core/publish/redis-idempotency-store';
import { FanOuts } from '@hookferry/core/publish/store-fan-out';
import { DeadLetterStore } from '@hookferry/core/queue/bullmq-dead-letter-store';
import { DeliveryQueue } from '@hookferry/core/queue/bullmq-delivery-queue';
import { EventQueue } from '@hookferry/core/queue/bullmq-event-queue';
import { HeldDeliveries } from '@hookferry/core/queue/bullmq-held-deliveries';
import { InspectedQueues } from '@hookferry/core/queue/bullmq-inspected-queues';
import { QueueStandings } from '@hookferry/core/queue/bullmq-queue-standings';
import { ScheduledQueue } from '@hookferry/core/queue/bullmq-scheduled-queue';
import { ErasureQueue, ReplayQueue } from '@hookferry/core/queue/bullmq-work-queues';
import { HeldCounts } from '@hookferry/core/queue/redis-held-counts';
import { ReplayStore } from '@hookferry/core/replays/redis-replay-store';
import { ChangeStreams } from '@hookferry/core/stream/change-streams';
import { ChangeStore } from '@hookferry/core/stream/redis-change-store';
import { TransformPool } from '@hookferry/core/transform/transform-pool';
import { transformLimitsOf } from '@hookferry/core/transform/transform-settings';
import type { ApiConfig } from './config';
import { HeavyTurns } from './http/heavy-turns';
import { LongAnswers, UnreadAnswers } from './http/long-requests';
import type { Drain, ProbeOptions } from './http/probes';
import { openHistory } from './open-history';

/** The parts of the process before it opens anything in Redis. */
export interface ProcessContext {
  readonly config: ApiConfig;
  readonly redis: RedisClient;
  readonly connectionHealth: ConnectionHealth;
  readonly shards: QueueShards;
  readonly atomic: Atomic;
  readonly probes: ProbeOptions;
  readonly drain: Drain;
  /** Absent: traces are not wanted. */
  readonly beginSpan?: BeginSpan | undefined;
  readonly newId: NewId;
  /** That of Redis. */
  readonly clock: Clock;
  readonly redisClock: Pick<RedisClock, 'isTrusted' | 'requireTrusted' | 'skewMs'>;
  readonly emit: Emit;
}

/** Everything that the API's routes and use cases need. Each function names the few members that it uses. */
export type ApiContext = ReturnType<typeof openContext>['context'];

/**
 * Open all stores and queues of the API. `streams` are responses that go on until they are stopped, so they
 * stop before the HTTP server; `parts` stop after it. Both are in the order in which they must stop.
 */
export function openContext(process: ProcessContext) {
  const { stores, parts } = openStores(process);
  const useCases = openUseCases({ ...process, ...stores });
  const { listenerStreams, changeStreams, watchListeners, mailbox } = useCases;
  const streams: readonly Stoppable[] = [
    { name: 'change streams', stop: async () => changeStreams.stop() },
    { name: 'listeners', stop: async () => listenerStreams.stop() },
    { name: 'watch of listeners', stop: () => watchListeners.stop() },
    { name: 'mailbox', stop: () => mailbox.close() },
  ];
  return { context: { ...process, ...stores, ...useCases }, streams, parts };
}

// Somebody waits for each of them. No account can take the places of all others.
const TRIALS_WAITING = { maxWaitingOfAccount: 8, maxWaiting: 100 };

function openStores(process: ProcessContext) {
  const { config, redis, shards, atomic, clock, emit } = process;
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
  const subscriptions = new Subscriptions(endpointStore);
  const accountStore = new AccountStore(redis);
  const eventReleaser = new EventReleaser({
    eventRelease: new EventRelease(redis),
    usageRecorder,
    retentionMs: retention.ageMs,
    emit,
  });
  const letGo = eventReleaser.add.bind(eventReleaser);
  const eventQueue = new EventQueue(redis, shards);
  const scheduledQueue = new ScheduledQueue(redis, shards);
  const deliveryQueue = new DeliveryQueue(redis, shards);
  const replayQueue = new ReplayQueue(redis, shards);
  const erasureQueue = new ErasureQueue(redis, shards);
  const standings = new QueueStandings(redis, shards);
  const deadLetterStore = new DeadLetterStore(redis, shards, clock);
  const inspectedQueues = config.QUEUE_INSPECTOR_ENABLED ? new InspectedQueues(redis, shards) : undefined;
  const transformPool = new TransformPool({ limits: transformLimitsOf(config, TRIALS_WAITING), emit });
  const auditBounds = auditBoundsOf(config);
  const refusals = new Refusals({ refusalStore: new RefusalStore(redis), bounds: auditBounds, clock, emit });
  const operationalEvents = new OperationalEvents({ subscriptions, eventQueue, clock, emit });
  const queues = [eventQueue, deliveryQueue, replayQueue, erasureQueue, deadLetterStore, standings];
  const parts: readonly Stoppable[] = [
    { name: 'queue inspector', stop: async () => await inspectedQueues?.close() },
    { name: 'transformations', stop: () => transformPool.close() },
    { name: 'refusals', stop: () => refusals.stop() },
    { name: 'operational events', stop: () => operationalEvents.stop() },
    // These two still write when a process stops.
    { name: 'event releaser', stop: () => eventReleaser.stop() },
    { name: 'usage recorder', stop: () => usageRecorder.stop() },
    { name: 'queues', stop: async () => void (await Promise.all(queues.map((queue) => queue.close()))) },
    { name: 'history database', stop: async () => await historyParts?.historyDatabase.close() },
  ];
  const eventStore = new EventStore(redis, retention, steadyClock, {
    form: config.RECORD_FORM,
    onPruned: letGo,
    onErased: (accountId, bytes, acceptedAt) =>
      usageRecorder.note(accountId, 'events', -bytes, acceptedAt, retention.ageMs),
  });
  const deliveryStore = new DeliveryStore(redis, retention, letGo, config.RECORD_FORM);
  const heldDeliveries = new HeldDeliveries(redis, shards);
  const heavyTurns = new HeavyTurns();
  const inTurn: InTurn = (accountId, work) => heavyTurns.run(accountId, work);
  const recent = { endpointStore, eventStore, deliveryStore, heldDeliveries, inTurn };
  const historyParts = openHistory({ ...process, retention, usageRecorder, eventStore, deliveryStore });
  const stores = {
    ...historyParts,
    retention,
    maxEventBytes: config.MAX_EVENT_BYTES,
    scheduleMaxMs: config.SCHEDULE_MAX,
    assumptions: new Assumptions(redis, {
      atomic,
      defaultQuotaBytes: config.ACCOUNT_QUOTA_BYTES,
      noteStanding: (accountId, standing) => quota.note(accountId, standing),
    }),
    routingTurns: new Turns(),
    fanOuts: new FanOuts(),
    fanOutTurns: new Turns(),
    usageStore,
    usageRecorder,
    noteUsage,
    quota,
    endpointStore,
    signingKeyStore,
    keyLeadMs: config.SIGNING_KEY_LEAD,
    subscriptions,
    eventQueue,
    scheduledQueue,
    deliveryQueue,
    replayQueue,
    erasureQueue,
    standings,
    deadLetterStore,
    inspectedQueues,
    operationalEvents,
    auditLog: new AuditLog(redis),
    movedAuditLog: historyParts?.pgAuditLog,
    auditBounds,
    refusals,
    onRecorded: (entry: AuditEntry) => {
      if (entry.accountId) operationalEvents.raise(entry.accountId, [auditRecordedEvent(entry)]);
    },
    accountStore,
    verificationPolicy: new VerificationPolicy({
      accountStore,
      byDefault: config.ENDPOINT_VERIFICATION,
      requestOrigin: config.WEBHOOK_REQUEST_ORIGIN,
    }),
    verificationStore: new VerificationStore(redis),
    apiKeyStore: new ApiKeyStore(redis),
    contactStore: new ContactStore(redis, sealer),
    notificationStore: new NotificationStore(redis),
    sendsMail: config.MAIL_FROM !== undefined,
    hasPublicUrl: config.PUBLIC_URL !== undefined,
    portalSessionStore: new PortalSessionStore(redis),
    eventTypeStore: new EventTypeStore(redis),
    allowanceStore: new AllowanceStore(redis),
    eventStore,
    scheduledEvents: new ScheduledEvents(redis, retention, config.RECORD_FORM),
    eventClaims: new EventClaimStore(redis, config.RETENTION),
    idempotencyStore: new IdempotencyStore(redis, (accountId, bytes) =>
      usageRecorder.note(accountId, 'answers', bytes, clock(), KEPT_MS),
    ),
    deliveryStore,
    recentAttempts: new RecentAttempts({
      eventStore,
      deliveryStore,
      inTurn,
    }),
    eventCounter: new EventCounter({ eventStore, movedEvents: historyParts?.movedEvents, clock }),
    history: new WholeHistory(
      new Recent(recent, historyParts?.movedStore),
      historyParts && { source: historyParts.pgHistory, reach: historyParts.movedStore },
    ),
    changeStore: new ChangeStore(redis),
    listenerStore: new ListenerStore(redis),
    disablePolicy: disablePolicyOf(config),
    healthStore: new HealthStore(redis, config.RETENTION),
    transformationStore: new TransformationStore(redis),
    transformPool,
    admissionStore: new AdmissionStore(redis),
    remainsStore: new RemainsStore(redis, shards),
    replayStore: new ReplayStore(redis, config.RETENTION, noteUsage),
    heldDeliveries,
    heldCounts: new HeldCounts(redis, shards),
    openBreakers: new OpenBreakers(redis),
    disabledEndpoints: new DisabledEndpoints(redis),
    workerReports: new WorkerReports(redis),
    dayStore: new DayStore(redis),
    knownAccounts: new KnownAccounts(),
    longAnswers: new LongAnswers(),
    wait: (ms: number) => wait(ms),
    unreadAnswers: new UnreadAnswers(),
    heavyTurns,
    urlRules: urlRulesOf(config),
    maxEndpoints: config.MAX_WEBHOOKS,
  };
  return { stores, parts };
}

function urlRulesOf(config: ApiConfig) {
  return {
    retentionMs: config.RETENTION,
    allowHttp: config.ALLOW_HTTP_URLS,
    allowInternalNames: config.DELIVERY_ALLOWED_CIDRS.length > 0,
    addressPolicy: new AddressPolicy({
      allowedCidrs: config.DELIVERY_ALLOWED_CIDRS,
      deniedCidrs: config.DELIVERY_DENIED_CIDRS,
    }),
  };
}

type StoresContext = ProcessContext & ReturnType<typeof openStores>['stores'];

/** The parts with a state in memory. */
function openUseCases(stores: StoresContext) {
  const { config, redis, connectionHealth, allowanceStore, clock, emit } = stores;
  const context = stores;
  const mailbox = new RedisMailbox({
    redis,
    connect: () =>
      connectRedis({
        url: config.REDIS_URL,
        role: 'working',
        name: 'api-mailbox',
        silenceMs: MAILBOX_SILENCE_MS,
        health: connectionHealth,
        emit,
      }),
    emit,
  });
  const watchListeners = new WatchListeners(context);
  watchListeners.start();
  return {
    keyUses: new KeyUses(stores.apiKeyStore, clock),
    authFailures: config.AUTH_FAILURE_LIMIT
      ? new AuthFailures({ allowance: config.AUTH_FAILURE_LIMIT, clock })
      : undefined,
    rateLimit: new RateLimit({
      allowanceStore,
      ofKey: config.RATE_LIMIT,
      ofAccount: config.ACCOUNT_RATE_LIMIT === SAME_AS_KEY ? config.RATE_LIMIT : config.ACCOUNT_RATE_LIMIT,
      clock,
    }),
    listenerStreams: new ListenerStreams({ ...context, mailbox }),
    watchListeners,
    mailbox,
    changeStreams: new ChangeStreams(context),
    operationsReader: new OperationsReader({ ...context, countDisabled: () => countDisabled(context) }),
    dayReader: new DayReader(context),
  };
}
