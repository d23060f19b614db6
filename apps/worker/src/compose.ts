import { randomBytes } from 'node:crypto';
import { createRedisAccountStore } from '@webhooks/core/accounts/redis-account-store';
import { createTakesEvents } from '@webhooks/core/accounts/takes-events';
import { Archiver } from '@webhooks/core/archive/archiver';
import { PgAttemptTable } from '@webhooks/core/archive/pg-attempt-table';
import { createRedisArchiveStream } from '@webhooks/core/archive/redis-archive-stream';
import { createDeliver } from '@webhooks/core/deliveries/deliver';
import { createFanOutEvent } from '@webhooks/core/deliveries/fan-out-event';
import { GotTransport } from '@webhooks/core/deliveries/got-transport';
import { createRedisDeliveryStore } from '@webhooks/core/deliveries/redis-delivery-store';
import { createResend } from '@webhooks/core/deliveries/resend';
import { cacheNames } from '@webhooks/core/egress/cache-names';
import { createClassifyAddress } from '@webhooks/core/egress/classify-address';
import { directRoute } from '@webhooks/core/egress/direct-route';
import { createGuardedLookup } from '@webhooks/core/egress/guarded-lookup';
import { createJudgeTarget } from '@webhooks/core/egress/judge-target';
import { proxyRoute } from '@webhooks/core/egress/proxy-route';
import { createResolveName } from '@webhooks/core/egress/resolve-name';
import { createDisable } from '@webhooks/core/endpoints/disable';
import { createDisableFailing } from '@webhooks/core/endpoints/disable-failing';
import type { DisablePolicy } from '@webhooks/core/endpoints/disable-policy';
import { HealthRecorder } from '@webhooks/core/endpoints/health-recorder';
import { createRedisEndpointStore } from '@webhooks/core/endpoints/redis-endpoint-store';
import { createRedisHealthStore } from '@webhooks/core/endpoints/redis-health-store';
import { createRedisRemoveEndpoints } from '@webhooks/core/endpoints/redis-remove-endpoints';
import { createResolveEndpoints } from '@webhooks/core/endpoints/resolve-endpoints';
import { createSubscriptions } from '@webhooks/core/endpoints/subscriptions';
import { createRedisRemainsStore } from '@webhooks/core/erasure/redis-remains-store';
import { createStepErasure } from '@webhooks/core/erasure/step-erasure';
import { createRedisEventStore } from '@webhooks/core/events/redis-event-store';
import { createRedisEventTypeStore } from '@webhooks/core/events/redis-event-type-store';
import { createValidateEvent } from '@webhooks/core/events/validate-event';
import { createAdmit } from '@webhooks/core/gates/admit';
import { createHandBack } from '@webhooks/core/gates/hand-back';
import { createHold, type WaitingHere } from '@webhooks/core/gates/hold';
import { InFlightWindows } from '@webhooks/core/gates/in-flight-windows';
import { Lanes } from '@webhooks/core/gates/lanes';
import { createLookAtGate } from '@webhooks/core/gates/look-at-gate';
import { createMove } from '@webhooks/core/gates/move';
import { createOpenGate } from '@webhooks/core/gates/open-gate';
import { createPassTurn } from '@webhooks/core/gates/pass-turn';
import { createRedisBreakerStore } from '@webhooks/core/gates/redis-breaker-store';
import { createRedisParkedStore } from '@webhooks/core/gates/redis-parked-store';
import { createRedisPermitStore } from '@webhooks/core/gates/redis-permit-store';
import { createRedisRemoveGate } from '@webhooks/core/gates/redis-remove-gate';
import { createRedisTurnStore } from '@webhooks/core/gates/redis-turn-store';
import { createSettle } from '@webhooks/core/gates/settle';
import { OperationalEvents } from '@webhooks/core/operational-events/operational-events';
import { BullmqAccountJobs } from '@webhooks/core/queue/bullmq-account-jobs';
import { BullmqDeadLetters } from '@webhooks/core/queue/bullmq-dead-letters';
import { BullmqDeliveryJobs } from '@webhooks/core/queue/bullmq-delivery-jobs';
import { BullmqDeliveryQueue } from '@webhooks/core/queue/bullmq-delivery-queue';
import { BullmqEventHorizon } from '@webhooks/core/queue/bullmq-event-horizon';
import { BullmqEventQueue } from '@webhooks/core/queue/bullmq-event-queue';
import { BullmqQueueDepth } from '@webhooks/core/queue/bullmq-queue-depth';
import { BullmqResendQueue } from '@webhooks/core/queue/bullmq-resend-queue';
import { BullmqWakeQueue } from '@webhooks/core/queue/bullmq-wake-queue';
import { createReadEventJob } from '@webhooks/core/queue/read-event-job';
import { type ConnectOptions, connectRedis, queuePrefix } from '@webhooks/core/redis/redis-connect';
import { createRedisProbe } from '@webhooks/core/redis/redis-probe';
import { createChooseEvents } from '@webhooks/core/replays/choose-events';
import { createRedisReplayStore } from '@webhooks/core/replays/redis-replay-store';
import { createStepReplay } from '@webhooks/core/replays/step-replay';
import { type Clock, systemClock } from '@webhooks/core/runtime/clock';
import type { Stoppable } from '@webhooks/core/runtime/shutdown';
import { provideSealer } from '@webhooks/core/secrets/provide-sealer';
import { registerPromArchiveBacklog } from '@webhooks/core/signals/prom-archive-backlog';
import { registerPromQueueDepth } from '@webhooks/core/signals/prom-queue-depth';
import { createPromWorkerMetrics } from '@webhooks/core/signals/prom-signal-metrics';
import { createEmit, type Emit, type SignalListener } from '@webhooks/core/signals/signals';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { WorkerConfig } from './config';
import { BullmqDeliverConsumer } from './consumers/bullmq-deliver';
import { BullmqErasureConsumer } from './consumers/bullmq-erasure';
import { BullmqFanOutConsumer } from './consumers/bullmq-fan-out';
import { BullmqOpenGateConsumer } from './consumers/bullmq-open-gate';
import { BullmqReplayConsumer } from './consumers/bullmq-replay';
import { OpsServer } from './ops-server';

export interface WorkerProcess {
  readonly emit: Emit;
  /** The port of its ops server, which differs from the configured one if that is 0. */
  readonly port: number;
  /** Stands for this process on record, and is in its log. */
  readonly workerId: string;
  /** In the order in which they are to be stopped. */
  readonly parts: readonly Stoppable[];
}

// Short, since it is on record with each attempt; enough to tell hundreds of processes apart.
const WORKER_ID_BYTES = 3;
const USER_AGENT = 'webhook-delivery-service/0.1.0';

// A fan-out mostly waits for Redis; more of them at once would only make each one slower.
const FAN_OUT_CONCURRENCY = 32;
const OPEN_GATE_CONCURRENCY = 16;
const REPLAY_CONCURRENCY = 8;
const ERASURE_CONCURRENCY = 2;

// One endpoint may hold a quarter of the slots, and keep a slot waiting for a place no longer than several times what a
// healthy receiver takes to answer.
const ENDPOINT_SHARE = 4;
const PLACE_PATIENCE_MS = 100;
// Endpoints that nothing is known of yet may hold half of the fast lane's slots together.
const STRANGERS_SHARE = 2;

// One statement for all of them: more at once would save little, and hold up the process while they are put together.
const MAX_ARCHIVE_BATCH = 500;
const ARCHIVE_BATCH_BYTES = 8 * 1024 * 1024;
// Several times as long as the archiver waits for something to come.
const ARCHIVE_SILENCE_MS = 10_000;

/** Builds and starts the worker: the only place where its parts are made and wired. */
export async function composeWorker(
  config: WorkerConfig,
  listeners: readonly SignalListener[],
): Promise<WorkerProcess> {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const emit = createEmit([...listeners, createPromWorkerMetrics(registry)]);
  const clock = systemClock;
  const workerId = randomBytes(WORKER_ID_BYTES).toString('hex');

  const connection = { url: config.REDIS_URL, role: 'working', emit } as const;
  const storeRedis = connectRedis({ ...connection, name: 'worker-store', batched: true });
  const queueRedis = connectRedis({ ...connection, name: 'worker-queue' });
  const queues = { redis: queueRedis, prefix: queuePrefix(config.REDIS_URL) };

  const endpointStore = createRedisEndpointStore(
    storeRedis,
    provideSealer(config.SECRETS_ENCRYPTION_KEY, emit),
  );
  const accountStore = createRedisAccountStore(storeRedis);
  const eventStore = createRedisEventStore(storeRedis, config.RETENTION, config.RETENTION_COUNT);
  const deliveryStore = createRedisDeliveryStore(storeRedis, {
    ageMs: config.RETENTION,
    count: config.RETENTION_COUNT,
  });
  const healthStore = createRedisHealthStore(storeRedis, healthRetentionOf(config));
  const healthRecorder = new HealthRecorder({ healthStore, clock, emit });
  const breakerStore = createRedisBreakerStore(storeRedis);
  const parkedStore = createRedisParkedStore(storeRedis, { retentionMs: config.RETENTION, clock });
  const permitStore = createRedisPermitStore(storeRedis);
  const turnStore = createRedisTurnStore(storeRedis);
  const removeGate = createRedisRemoveGate(storeRedis);
  const deliveryQueue = new BullmqDeliveryQueue(queues);
  const eventQueue = new BullmqEventQueue(queues);
  const resendQueue = new BullmqResendQueue(queues);
  const wakeQueue = new BullmqWakeQueue(queues, clock);
  const eventHorizon = new BullmqEventHorizon(queues);
  const deadLetters = new BullmqDeadLetters(queues, clock);
  const deliveryJobs = new BullmqDeliveryJobs(queues);
  const accountJobs = new BullmqAccountJobs(queues);
  const queueDepth = new BullmqQueueDepth(queues);
  registerPromQueueDepth(registry, queueDepth);
  const archive = composeArchive(config, { connection, workerId, clock, emit });
  const archiveStream = archive && createRedisArchiveStream(storeRedis);
  if (archiveStream) registerPromArchiveBacklog(registry, archiveStream);

  const classifyAddress = createClassifyAddress({
    allowedCidrs: config.DELIVERY_ALLOWED_CIDRS,
    deniedCidrs: config.DELIVERY_DENIED_CIDRS,
  });
  const judgeTarget = createJudgeTarget({ classifyAddress, emit });
  const resolveName = cacheNames(createResolveName(), () => performance.now());
  const transport = new GotTransport({
    timeoutMs: config.DELIVERY_TIMEOUT,
    connectTimeoutMs: config.DELIVERY_CONNECT_TIMEOUT,
    readBytes: config.RESPONSE_BYTES_READ,
    keptBytes: config.RESPONSE_BYTES_KEPT,
    route: config.DELIVERY_PROXY_URL
      ? proxyRoute({
          proxy: config.DELIVERY_PROXY_URL,
          judgeTarget,
          connectTimeoutMs: config.DELIVERY_CONNECT_TIMEOUT,
        })
      : directRoute({ judgeTarget, lookup: createGuardedLookup(resolveName, judgeTarget) }),
  });

  const windows = new InFlightWindows({
    maxSize: Math.max(Math.floor(config.WORKER_CONCURRENCY / ENDPOINT_SHARE), 1),
    patienceMs: PLACE_PATIENCE_MS,
  });
  const lanes = new Lanes(Math.max(Math.floor(config.WORKER_CONCURRENCY / STRANGERS_SHARE), 1));
  const waitingHere: WaitingHere = new Set();
  const gateParts = {
    endpointStore,
    breakerStore,
    parkedStore,
    permitStore,
    turnStore,
    eventHorizon,
    removeGate,
    windows,
    lanes,
    releaseQueue: deliveryQueue,
    slowLaneQueue: deliveryQueue,
    wakeQueue,
    waitingHere,
    attemptTimeoutMs: config.DELIVERY_TIMEOUT,
    clock,
    emit,
  };
  const gate = { ...gateParts, openGate: createOpenGate(gateParts) };
  const hold = createHold(gate);
  const disable = createDisable(gate);
  const disableFailing = createDisableFailing({
    healthStore,
    disable,
    policy: disablePolicyOf(config),
    clock,
  });

  const subscriptions = createSubscriptions(endpointStore);
  const operationalEvents = new OperationalEvents({ subscriptions, eventQueue, clock, emit });

  const consumer = { ...queues, lockDurationMs: config.JOB_LOCK_DURATION, emit };
  const fanOut = new BullmqFanOutConsumer({
    ...consumer,
    concurrency: FAN_OUT_CONCURRENCY,
    readEventJob: createReadEventJob({
      validateEvent: createValidateEvent({
        eventTypeStore: createRedisEventTypeStore(storeRedis),
        maxBytes: config.MAX_EVENT_BYTES,
      }),
      resolveEndpoints: createResolveEndpoints(endpointStore),
    }),
    deadLetters,
    eventHorizon,
    takesEvents: createTakesEvents(accountStore, () => performance.now()),
    fanOutEvent: createFanOutEvent({
      eventStore,
      subscriptions,
      deliveryStore,
      deliveryQueue,
      hold,
      clock,
      emit,
    }),
  });
  const deliver = createDeliver({
    eventStore,
    endpointStore,
    deliveryStore,
    archiveStream,
    windows,
    lanes,
    admit: createAdmit(gate),
    hold,
    move: createMove(gate),
    handBack: createHandBack(gate),
    settle: createSettle({ ...gate, disable, disableFailing }),
    passTurn: createPassTurn(gate),
    raise: operationalEvents.raise,
    healthRecorder,
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
  const lane = { ...consumer, deliver, stopDeadlineMs: config.SHUTDOWN_TIMEOUT };
  const fastLane = new BullmqDeliverConsumer({
    ...lane,
    lane: 'fast',
    concurrency: config.WORKER_CONCURRENCY,
  });
  const slowLane = new BullmqDeliverConsumer({
    ...lane,
    lane: 'slow',
    concurrency: config.SLOW_LANE_CONCURRENCY ?? config.WORKER_CONCURRENCY,
  });
  const gates = new BullmqOpenGateConsumer({
    ...consumer,
    concurrency: OPEN_GATE_CONCURRENCY,
    lookAtGate: createLookAtGate(gate),
  });
  const replays = new BullmqReplayConsumer({
    ...consumer,
    concurrency: REPLAY_CONCURRENCY,
    stepReplay: createStepReplay({
      replayStore: createRedisReplayStore(storeRedis, config.RETENTION),
      endpointStore,
      chooseEvents: createChooseEvents({ eventStore, deliveryStore }),
      ...createResend({ eventStore, deliveryStore, parkedStore, resendQueue, clock, emit }),
      clock,
      emit,
    }),
  });
  const erasures = new BullmqErasureConsumer({
    ...consumer,
    concurrency: ERASURE_CONCURRENCY,
    stepErasure: createStepErasure({
      accountStore,
      removeEndpoints: createRedisRemoveEndpoints(storeRedis),
      remainsStore: createRedisRemainsStore(storeRedis),
      deliveryJobs,
      accountJobs,
      retentionMs: config.RETENTION,
      clock,
      emit,
    }),
  });
  const opsServer = new OpsServer({
    host: config.WORKER_HOST,
    port: config.WORKER_PORT,
    registry,
    isReady: createRedisProbe(storeRedis),
  });

  const port = await opsServer.start();
  const consumers = [
    fanOut,
    fastLane,
    slowLane,
    gates,
    replays,
    erasures,
    ...(archive ? [archive.archiver] : []),
  ];
  for (const one of consumers) one.start();

  return {
    emit,
    workerId,
    port,
    parts: [
      {
        name: 'consumers',
        stop: async () => void (await Promise.all(consumers.map((one) => one.stop()))),
      },
      ...(archive?.parts ?? []),
      { name: 'operational events', stop: () => operationalEvents.stop() },
      { name: 'health recorder', stop: () => healthRecorder.stop() },
      { name: 'ops server', stop: () => opsServer.stop() },
      { name: 'transport', stop: async () => transport.close() },
      {
        name: 'queues',
        stop: async () =>
          void (await Promise.all(
            [
              deliveryQueue,
              resendQueue,
              eventQueue,
              wakeQueue,
              deadLetters,
              deliveryJobs,
              accountJobs,
              queueDepth,
            ].map((queue) => queue.close()),
          )),
      },
      { name: 'queue connection', stop: async () => queueRedis.disconnect() },
      { name: 'store connection', stop: async () => storeRedis.disconnect() },
    ],
  };
}

interface ArchiveDeps {
  readonly connection: Omit<ConnectOptions, 'name'>;
  readonly workerId: string;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** What takes attempts to the archive, if there is one. */
function composeArchive(config: WorkerConfig, { connection, workerId, clock, emit }: ArchiveDeps) {
  if (config.ARCHIVE_DATABASE_URL === undefined) return undefined;
  const redis = connectRedis({ ...connection, name: 'worker-archive', silenceMs: ARCHIVE_SILENCE_MS });
  const table = new PgAttemptTable({
    url: config.ARCHIVE_DATABASE_URL,
    onIdleError: (error) => emit({ name: 'archive.failed', error }),
  });
  const archiver = new Archiver({
    stream: createRedisArchiveStream(redis),
    table,
    consumer: workerId,
    batchSize: archiveBatchOf(config),
    clock,
    emit,
  });
  const parts: Stoppable[] = [
    { name: 'archive table', stop: () => table.close() },
    { name: 'archive connection', stop: async () => redis.disconnect() },
  ];
  return { archiver, parts };
}

// An attempt takes as much memory as the answer that is kept of it.
function archiveBatchOf({ RESPONSE_BYTES_KEPT }: WorkerConfig): number {
  const fitting = Math.floor(ARCHIVE_BATCH_BYTES / Math.max(RESPONSE_BYTES_KEPT, 1));
  return Math.min(MAX_ARCHIVE_BATCH, Math.max(fitting, 1));
}

function disablePolicyOf({ DISABLE_AFTER, DISABLE_FAILURE_SPAN }: WorkerConfig): DisablePolicy | 'never' {
  return DISABLE_AFTER === 'never'
    ? 'never'
    : { afterMs: DISABLE_AFTER, failureSpanMs: DISABLE_FAILURE_SPAN };
}

// A last success that is forgotten counts as none: it must not be forgotten as long as it forbids the disabling.
function healthRetentionOf({ DISABLE_AFTER, RETENTION }: WorkerConfig): number {
  return DISABLE_AFTER === 'never' ? RETENTION : Math.max(RETENTION, DISABLE_AFTER);
}
