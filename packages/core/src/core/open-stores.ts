import { AccountQuota, UsageRecorder } from '../accounts/account-quota';
import { auditBoundsOf } from '../accounts/audit/audit-settings';
import { AuditLog } from '../accounts/audit/redis-audit-log';
import { EventTypeStore } from '../accounts/event-types/redis-event-type-store';
import type { HeavyTurns } from '../accounts/heavy-turns';
import { AccountStore } from '../accounts/redis-account-store';
import { ApiKeyStore } from '../accounts/redis-api-key-store';
import { PauseStore } from '../accounts/redis-pause-store';
import { PortalSessionStore } from '../accounts/redis-portal-session-store';
import { UsageStore } from '../accounts/redis-usage-store';
import type { AuditEntry } from '../domain/audit';
import type { QueueShard, QueueShards } from '../domain/queues';
import type { Emit } from '../domain/signal';
import { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import { BesideLanes } from '../endpoints/admission/redis-beside-lanes';
import { disablePolicyOf } from '../endpoints/disable';
import { FormerOrder } from '../endpoints/former-order/redis-former-order';
import { HealthStore } from '../endpoints/health/redis-health-store';
import { auditRecordedEvent, OperationalEvents } from '../endpoints/operational-events';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { DisabledEndpoints, OpenBreakers } from '../endpoints/redis-stopped-endpoints';
import { TransformationStore } from '../endpoints/redis-transformation-store';
import { provideSealer } from '../endpoints/seal';
import { SigningKeyStore } from '../endpoints/signing-keys/redis-signing-key-store';
import { Subscriptions } from '../endpoints/subscriptions';
import { VerificationStore } from '../endpoints/verification/redis-verification-store';
import { VerificationPolicy } from '../endpoints/verification/verify';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EventReleaser } from '../events/redis-event-release';
import { EventStore } from '../events/redis-event-store';
import { ScheduledEventStore } from '../events/redis-scheduled-event-store';
import type { PgDatabaseOptions } from '../history/database/pg-database';
import { openMovedHistory } from '../history/moved-history';
import { Rehydration } from '../history/mover/rehydration';
import { Recent } from '../history/redis-recent';
import { WholeHistory } from '../history/whole-history';
import { ConfigurationCopy } from '../operations/redis-configuration-copy';
import { DayStore } from '../operations/redis-day-store';
import { Rebuild } from '../operations/redis-rebuild';
import { RemainsStore } from '../operations/redis-remains-store';
import { RollbackStore } from '../operations/redis-rollbacks';
import { WorkerReports } from '../operations/redis-worker-reports';
import { type Clock, steadyClock } from '../platform/clock';
import type { Atomic } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import type { Stoppable } from '../platform/timers';
import { Assumptions } from '../publish/redis-assumption';
import { EventClaimStore } from '../publish/redis-event-claim-store';
import { IdempotencyStore } from '../publish/redis-idempotency-store';
import { AccountJobs } from '../queue/bullmq-account-jobs';
import { DeadLetterStore } from '../queue/bullmq-dead-letter-store';
import { DeliveryHolds } from '../queue/bullmq-delivery-holds';
import { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import { EventQueue } from '../queue/bullmq-event-queue';
import { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { PausedQueues } from '../queue/bullmq-paused-queues';
import { QueueStandings } from '../queue/bullmq-queue-standings';
import { ScheduledQueue } from '../queue/bullmq-scheduled-queue';
import { ErasureQueue, ReplayQueue } from '../queue/bullmq-work-queues';
import { HeldCounts } from '../queue/redis-held-counts';
import { ReplayStore } from '../replays/redis-replay-store';
import type { StoreSettings } from './store-settings';

export interface StoreParts {
  readonly config: StoreSettings;
  readonly redis: RedisClient;
  readonly shards: QueueShards;
  readonly atomic: Atomic;
  /** That of Redis. */
  readonly clock: Clock;
  readonly emit: Emit;
  /** The connections to the history's database. */
  readonly database: Pick<PgDatabaseOptions, 'applicationName' | 'readers' | 'writers'>;
  /** The shards whose held deliveries this process looks at. Absent: all. */
  readonly servedShards?: () => readonly QueueShard[];
  /**
   * With `INTAKE=durable` what is configured has copies in PostgreSQL: while that is away, a change is refused, or copied later.
   * Absent: it has none.
   */
  readonly whenCopiesAreAway?: 'refused' | 'later' | undefined;
  /** The heavy parts of requests are done in them. Absent: at once. */
  readonly heavyTurns?: HeavyTurns | undefined;
}

export type Stores = ReturnType<typeof openStores>;

/**
 * Open the stores and queues that API, worker and commands have in common, over an open connection. Nothing is started.
 *
 * @returns with them what else the modules over them take.
 */
export function openStores(parts: StoreParts) {
  const { config, redis, shards, atomic, clock, emit, servedShards, heavyTurns } = parts;
  // What has ended moves: until then none of it is let go of because there is much of it.
  const hasHistory = config.HISTORY_DATABASE_URL !== undefined;
  const count = hasHistory ? Number.MAX_SAFE_INTEGER : config.RETENTION_COUNT;
  const retention = { ageMs: config.RETENTION, count };
  const usageStore = new UsageStore(redis);
  const usageRecorder = new UsageRecorder({ usageStore, retentionMs: retention.ageMs, clock, emit });
  const quota = new AccountQuota({ usageStore, defaultBytes: config.ACCOUNT_QUOTA_BYTES, clock, emit });
  const sealer = provideSealer(config.SECRETS_ENCRYPTION_KEY, emit);
  const endpointStore = new EndpointStore(redis, sealer, quota.note);
  const subscriptions = new Subscriptions(endpointStore);
  const accountStore = new AccountStore(redis);
  const eventReleaser = new EventReleaser({ redis, usageRecorder, emit });
  const onPruned = eventReleaser.add;
  const eventStore = new EventStore(redis, retention, steadyClock, {
    form: config.RECORD_FORM,
    onPruned,
    onErased: (accountId, bytes, acceptedAt) => usageRecorder.note(accountId, 'events', -bytes, acceptedAt),
  });
  const deliveryStore = new DeliveryStore(redis, retention, onPruned, config.RECORD_FORM, clock);
  const eventQueue = new EventQueue(redis, shards, config.RECORD_FORM);
  const besideLanes = new BesideLanes(redis);
  const isFormer = config.RECORD_FORM === 'former';
  const deliveryQueue = new DeliveryQueue(redis, shards, isFormer ? besideLanes : undefined);
  const standings = new QueueStandings(redis, shards);
  const heldDeliveries = new HeldDeliveries(redis, shards, servedShards, atomic, clock);
  const operationalEvents = new OperationalEvents({ subscriptions, eventQueue, clock, emit });
  const url = config.HISTORY_DATABASE_URL;
  const movedHistory =
    url === undefined
      ? undefined
      : openMovedHistory({ ...parts.database, url, emit }, redis, retention, clock, config.RECORD_FORM);
  const verificationStore = new VerificationStore(redis, atomic);
  const erasureQueue = new ErasureQueue(redis, shards);
  const whenAway = config.INTAKE === 'durable' ? parts.whenCopiesAreAway : undefined;
  const copying = whenAway && movedHistory && { ...movedHistory, redis, whenAway, emit };
  const transformationStore = new TransformationStore(redis);
  const pausedQueues = new PausedQueues(redis, shards);
  const rebuilding = {
    redis,
    endpointStore,
    verificationStore,
    transformationStore,
    erasureQueue,
    pausedQueues,
    clock,
    emit,
  };
  const rehydrating = { eventStore, deliveryStore, usageRecorder, recordForm: config.RECORD_FORM };
  return {
    redis,
    shards,
    atomic,
    clock,
    emit,
    /** Absent, as the next one: nothing has a copy. */
    configurationCopy: copying && new ConfigurationCopy(copying),
    rebuild: copying && new Rebuild({ ...copying, ...rebuilding }),
    /** All that there is of the history; `undefined`: there is none. */
    movedHistory,
    ...movedHistory,
    rehydration: movedHistory && new Rehydration({ ...movedHistory, ...rehydrating, atomic, clock }),
    retention,
    usageStore,
    usageRecorder,
    noteUsage: usageRecorder.note,
    quota,
    sealer,
    endpointStore,
    signingKeyStore: new SigningKeyStore(redis, sealer),
    subscriptions,
    accountStore,
    pauseStore: new PauseStore(redis),
    apiKeyStore: new ApiKeyStore(redis),
    portalSessionStore: new PortalSessionStore(redis),
    eventTypeStore: new EventTypeStore(redis, config),
    auditLog: new AuditLog(redis),
    auditBounds: auditBoundsOf(config),
    operationalEvents,
    onRecorded: (entry: AuditEntry) => {
      if (entry.accountId) operationalEvents.raise(entry.accountId, [auditRecordedEvent(entry)]);
    },
    eventReleaser,
    eventStore,
    deliveryStore,
    scheduledEventStore: new ScheduledEventStore(redis, retention, config.RECORD_FORM),
    scheduleMaxMs: config.SCHEDULE_MAX,
    eventClaims: new EventClaimStore(redis, config.RETENTION),
    assumptions: new Assumptions(redis, {
      atomic,
      defaultQuotaBytes: config.ACCOUNT_QUOTA_BYTES,
      noteStanding: quota.note,
    }),
    idempotencyStore: new IdempotencyStore(redis, usageRecorder),
    eventQueue,
    scheduledQueue: new ScheduledQueue(redis, shards),
    deliveryQueue,
    standings,
    heldDeliveries,
    deliveryHolds: new DeliveryHolds(redis, shards),
    heldCounts: new HeldCounts(redis, shards),
    verificationPolicy: new VerificationPolicy(accountStore, config),
    verificationStore,
    admissionStore: new AdmissionStore(redis),
    besideLanes,
    /** Absent: lanes keep all orders. */
    formerOrder: isFormer ? new FormerOrder(redis, atomic) : undefined,
    healthStore: new HealthStore(redis, healthRetentionOf(config), atomic),
    transformationStore,
    openBreakers: new OpenBreakers(redis),
    disabledEndpoints: new DisabledEndpoints(redis),
    disablePolicy: disablePolicyOf(config),
    history: new WholeHistory(
      new Recent(
        { endpointStore, eventStore, deliveryStore, heldDeliveries, heavyTurns },
        movedHistory?.movedStore,
      ),
      movedHistory && { source: movedHistory.pgHistory, movedStore: movedHistory.movedStore },
      { heavyTurns },
    ),
    deadLetterStore: new DeadLetterStore(redis, shards, clock),
    replayQueue: new ReplayQueue(redis, shards),
    erasureQueue,
    accountJobs: new AccountJobs(redis, shards),
    workerReports: new WorkerReports(redis, atomic),
    dayStore: new DayStore(redis, atomic),
    rollbackStore: new RollbackStore(redis, atomic),
    replayStore: new ReplayStore(redis, config.RETENTION, usageRecorder.note),
    remainsStore: new RemainsStore(redis, shards),
  };
}

/** These still write when a process stops. In the order in which they must stop. */
export function recordersOf({
  operationalEvents,
  eventReleaser,
  usageRecorder,
}: Stores): readonly Stoppable[] {
  return [
    { name: 'operational events', stop: () => operationalEvents.stop() },
    { name: 'event releaser', stop: () => eventReleaser.stop() },
    { name: 'usage recorder', stop: () => usageRecorder.stop() },
  ];
}

// A forgotten last success counts as none: it must stay as long as it prevents the disabling.
function healthRetentionOf({ DISABLE_AFTER, RETENTION }: StoreSettings): number {
  return DISABLE_AFTER === 'never' ? RETENTION : Math.max(RETENTION, DISABLE_AFTER);
}
