import { createAccountQuota } from '@webhooks/core/accounts/account-quota';
import { createRedisAccountStore } from '@webhooks/core/accounts/redis-account-store';
import { createRedisUsageStore } from '@webhooks/core/accounts/redis-usage-store';
import { createTakesEvents } from '@webhooks/core/accounts/takes-events';
import { UsageRecorder } from '@webhooks/core/accounts/usage-recorder';
import { createRedisAdmissionStore } from '@webhooks/core/admission/redis-admission-store';
import { createRedisAttemptStore } from '@webhooks/core/admission/redis-attempt-store';
import { createDeliver } from '@webhooks/core/attempt/deliver';
import { createRedisEventTypeStore } from '@webhooks/core/catalogue/redis-event-type-store';
import { HealthRecorder } from '@webhooks/core/endpoints/health-recorder';
import { provideSealer } from '@webhooks/core/endpoints/provide-sealer';
import { createRedisEndpointStore } from '@webhooks/core/endpoints/redis-endpoint-store';
import { createRedisHealthStore } from '@webhooks/core/endpoints/redis-health-store';
import { createRedisRemoveEndpoints } from '@webhooks/core/endpoints/redis-remove-endpoints';
import { createLookUpEndpoints } from '@webhooks/core/endpoints/resolve-endpoints';
import { createSubscriptions } from '@webhooks/core/endpoints/subscriptions';
import { createFanOutEvent } from '@webhooks/core/intake/fan-out-event';
import { OperationalEvents } from '@webhooks/core/intake/operational-events';
import { createValidateEvent } from '@webhooks/core/intake/validate-event';
import { type Clock, steadyClock } from '@webhooks/core/kernel/clock';
import type { ConnectOptions } from '@webhooks/core/kernel/redis-connect';
import { createInOrder } from '@webhooks/core/kernel/redis-in-order';
import { VERSION } from '@webhooks/core/kernel/version';
import { createRedisRemainsStore } from '@webhooks/core/manage/redis-remains-store';
import { createStepErasure } from '@webhooks/core/manage/step-erasure';
import type { Emit } from '@webhooks/core/model/signal';
import type { NoteUsage } from '@webhooks/core/model/usage';
import { BullmqAccountJobs } from '@webhooks/core/queue/bullmq-account-jobs';
import { BullmqDeadLetters } from '@webhooks/core/queue/bullmq-dead-letters';
import { BullmqDeliveryQueue } from '@webhooks/core/queue/bullmq-delivery-queue';
import { DueDeliveries } from '@webhooks/core/queue/bullmq-due-deliveries';
import { BullmqEventHorizon } from '@webhooks/core/queue/bullmq-event-horizon';
import { BullmqEventQueue } from '@webhooks/core/queue/bullmq-event-queue';
import { FormerDeliveries } from '@webhooks/core/queue/bullmq-former-deliveries';
import { createBullmqHeldDeliveries } from '@webhooks/core/queue/bullmq-held-deliveries';
import type { QueueConnection } from '@webhooks/core/queue/bullmq-open-queue';
import { PushedEvents } from '@webhooks/core/queue/bullmq-pushed-events';
import { createReadEventJob } from '@webhooks/core/queue/read-event-job';
import { EventReleaser } from '@webhooks/core/record/event-releaser';
import { createRedisArchiveStream } from '@webhooks/core/record/redis-archive-stream';
import { createRedisDeliveryStore } from '@webhooks/core/record/redis-delivery-store';
import { createRedisEventRelease } from '@webhooks/core/record/redis-event-release';
import { createRedisEventStore } from '@webhooks/core/record/redis-event-store';
import { createChooseEvents } from '@webhooks/core/recovery/choose-events';
import { createRedisReplayStore } from '@webhooks/core/recovery/redis-replay-store';
import { createResend } from '@webhooks/core/recovery/resend';
import { createStepReplay } from '@webhooks/core/recovery/step-replay';
import { registerPromAccountQuota, registerPromArchiveBacklog } from '@webhooks/core/telemetry/prom-gauges';
import type { Registry } from 'prom-client';
import { composeAdmission } from './compose-admission';
import { composeArchive } from './compose-archive';
import { composeTransport } from './compose-transport';
import type { WorkerConfig } from './config';
import { createDeliverConsumer, type DeliverConsumer } from './consumers/bullmq-deliver';
import { createErasureConsumer } from './consumers/bullmq-erasure';
import { createFanOutConsumer } from './consumers/bullmq-fan-out';
import { createReplayConsumer } from './consumers/bullmq-replay';

export interface ConsumersContext {
  readonly config: WorkerConfig;
  readonly queues: QueueConnection;
  /** How connections to Redis are made, for the one that waits for attempts to archive. */
  readonly connection: Omit<ConnectOptions, 'name'>;
  readonly registry: Registry;
  readonly workerId: string;
  readonly clock: Clock;
  readonly emit: Emit;
}

const USER_AGENT = `webhook-delivery-service/${VERSION}`;

// A fan-out mostly waits for Redis; more of them at once would only make each one slower.
const FAN_OUT_CONCURRENCY = 32;
const REPLAY_CONCURRENCY = 8;
const ERASURE_CONCURRENCY = 2;
// So a dead worker's deliveries are taken over a quarter of the lock's time after it is over, at most.
const STALLED_CHECKS_PER_LOCK = 4;

/** Builds what takes jobs, over connections that stand, and what works for it on the side. Nothing is started. */
export function composeConsumers({
  config,
  queues,
  connection,
  registry,
  workerId,
  clock,
  emit,
}: ConsumersContext) {
  const { redis } = queues;
  const usageStore = createRedisUsageStore(redis);
  const usageRecorder = new UsageRecorder({ usageStore, clock, emit });
  const noteUsage: NoteUsage = (accountId, kind, bytes) =>
    usageRecorder.note(accountId, kind, bytes, clock(), config.RETENTION);
  const quota = createAccountQuota({ usageStore, defaultBytes: config.ACCOUNT_QUOTA_BYTES, clock, emit });
  registerPromAccountQuota(registry, quota.standings);
  const endpointStore = createRedisEndpointStore(
    redis,
    provideSealer(config.SECRETS_ENCRYPTION_KEY, emit),
    quota.note,
  );
  const accountStore = createRedisAccountStore(redis);
  const retention = { ageMs: config.RETENTION, count: config.RETENTION_COUNT };
  const eventReleaser = new EventReleaser({
    eventRelease: createRedisEventRelease(redis),
    usageRecorder,
    retentionMs: retention.ageMs,
    emit,
  });
  const letGo = eventReleaser.add.bind(eventReleaser);
  const eventStore = createRedisEventStore(redis, retention, steadyClock, { onPruned: letGo });
  const deliveryStore = createRedisDeliveryStore(redis, retention, letGo);
  const healthStore = createRedisHealthStore(redis, healthRetentionOf(config));
  const healthRecorder = new HealthRecorder({ healthStore, clock, emit });
  const attemptStore = createRedisAttemptStore(redis, retention);
  const admissionStore = createRedisAdmissionStore(redis);
  const heldDeliveries = createBullmqHeldDeliveries(queues);
  const deliveryQueue = new BullmqDeliveryQueue(queues);
  const eventQueue = new BullmqEventQueue(queues);
  const eventHorizon = new BullmqEventHorizon(queues);
  const deadLetters = new BullmqDeadLetters(queues, clock);
  const accountJobs = new BullmqAccountJobs(queues);
  const archive = composeArchive(config, { connection, workerId, clock, emit });
  const archiveStream = archive && createRedisArchiveStream(redis);
  if (archiveStream) registerPromArchiveBacklog(registry, archiveStream);

  const transport = composeTransport(config, emit);
  let deliveries: DeliverConsumer | undefined;
  const admission = composeAdmission(config, {
    endpointStore,
    healthStore,
    admissionStore,
    deliveryStore,
    deliveryQueue,
    heldDeliveries,
    eventHorizon,
    onCapacity: (capacity) => deliveries?.setCapacity(capacity),
    clock,
    random: Math.random,
    emit,
  });
  const dueDeliveries = new DueDeliveries({ connection: queues, clock, emit });
  const formerDeliveries = new FormerDeliveries({
    connection: queues,
    deliveryQueue,
    endpointStore,
    admissionStore,
    clock,
    emit,
  });

  const subscriptions = createSubscriptions(endpointStore);
  const operationalEvents = new OperationalEvents({ subscriptions, eventQueue, clock, emit });

  const lockDurationMs = config.JOB_LOCK_DURATION;
  const stalledCheckMs = Math.ceil(lockDurationMs / STALLED_CHECKS_PER_LOCK);
  const consumer = { ...queues, lockDurationMs, stalledCheckMs, emit };
  // Nobody waits for these by the second.
  const background = { ...consumer, stalledCheckMs: lockDurationMs };
  const fanOut = createFanOutConsumer({
    ...consumer,
    concurrency: FAN_OUT_CONCURRENCY,
    readEventJob: createReadEventJob({
      validateEvent: createValidateEvent({
        eventTypeStore: createRedisEventTypeStore(redis),
        maxBytes: config.MAX_EVENT_BYTES,
      }),
      lookUpEndpoints: createLookUpEndpoints(endpointStore),
      requireRoom: (accountId) => quota.requireRoomAsKnown(accountId, 'queue'),
      clock,
    }),
    deadLetters,
    eventHorizon,
    takesEvents: createTakesEvents(accountStore, steadyClock),
    subscriptions,
    pushedEvents: new PushedEvents(queues, FAN_OUT_CONCURRENCY),
    fanOutEvent: createFanOutEvent({
      eventStore,
      deliveryStore,
      admissionStore,
      deliveryQueue,
      inOrder: createInOrder(redis),
      clock,
      emit,
    }),
  });
  const deliver = createDeliver({
    eventStore,
    endpointStore,
    deliveryStore,
    attemptStore,
    admissionStore,
    archiveStream,
    ...admission,
    raise: operationalEvents.raise,
    healthRecorder,
    noteUsage,
    transport: transport.send,
    workerId,
    retrySchedule: config.RETRY_SCHEDULE,
    requestStyle: {
      userAgent: USER_AGENT,
      signatureHeader: { name: config.SIGNATURE_HEADER, prefix: config.SIGNATURE_PREFIX },
    },
    clock,
    random: Math.random,
    emit,
  });
  deliveries = createDeliverConsumer({
    ...consumer,
    deliver,
    formerDeliveries,
    dueDeliveries,
    stopDeadlineMs: config.SHUTDOWN_TIMEOUT,
    concurrency: config.WORKER_CONCURRENCY,
  });
  const replays = createReplayConsumer({
    ...background,
    concurrency: REPLAY_CONCURRENCY,
    stepReplay: createStepReplay({
      replayStore: createRedisReplayStore(redis, config.RETENTION),
      endpointStore,
      chooseEvents: createChooseEvents({ eventStore, deliveryStore }),
      ...createResend({ eventStore, deliveryStore, resendQueue: deliveryQueue, noteUsage, clock, emit }),
      clock,
      emit,
    }),
  });
  const erasures = createErasureConsumer({
    ...background,
    concurrency: ERASURE_CONCURRENCY,
    stepErasure: createStepErasure({
      accountStore,
      removeEndpoints: createRedisRemoveEndpoints(redis),
      remainsStore: createRedisRemainsStore(redis),
      deliveryJobs: deliveryQueue,
      accountJobs,
      retentionMs: config.RETENTION,
      clock,
      emit,
    }),
  });

  return {
    consumers: [fanOut, deliveries, replays, erasures, ...(archive ? [archive.archiver] : [])],
    // These let go what consumers take, or bring it to where they take it from.
    releasers: [admission.releaser, dueDeliveries, formerDeliveries],
    archiveParts: archive?.parts ?? [],
    recorders: [operationalEvents, healthRecorder, eventReleaser, usageRecorder],
    transport,
    openQueues: [deliveryQueue, eventQueue, deadLetters, accountJobs],
  };
}

// A last success that is forgotten counts as none: it must not be forgotten as long as it forbids the disabling.
function healthRetentionOf({ DISABLE_AFTER, RETENTION }: WorkerConfig): number {
  return DISABLE_AFTER === 'never' ? RETENTION : Math.max(RETENTION, DISABLE_AFTER);
}
