import { createDeliver } from '@webhooks/core/deliveries/deliver';
import { createFanOutEvent } from '@webhooks/core/deliveries/fan-out-event';
import { GotTransport } from '@webhooks/core/deliveries/got-transport';
import { createRedisDeliveryStore } from '@webhooks/core/deliveries/redis-delivery-store';
import { cacheNames } from '@webhooks/core/egress/cache-names';
import { createClassifyAddress } from '@webhooks/core/egress/classify-address';
import { createGuardedLookup } from '@webhooks/core/egress/guarded-lookup';
import { createJudgeTarget } from '@webhooks/core/egress/judge-target';
import { createResolveName } from '@webhooks/core/egress/resolve-name';
import { createRedisEndpointStore } from '@webhooks/core/endpoints/redis-endpoint-store';
import { createRequireEndpoints } from '@webhooks/core/endpoints/require-endpoints';
import { createSubscriptions } from '@webhooks/core/endpoints/subscriptions';
import { createRedisEventStore } from '@webhooks/core/events/redis-event-store';
import { createAdmit } from '@webhooks/core/gates/admit';
import { createHold, type WaitingHere } from '@webhooks/core/gates/hold';
import { InFlightWindows } from '@webhooks/core/gates/in-flight-windows';
import { createOpenGate } from '@webhooks/core/gates/open-gate';
import { createRedisGateStore } from '@webhooks/core/gates/redis-gate-store';
import { createSettle } from '@webhooks/core/gates/settle';
import { BullmqDeadLetters } from '@webhooks/core/queue/bullmq-dead-letters';
import { BullmqDeliveryQueue } from '@webhooks/core/queue/bullmq-delivery-queue';
import { BullmqQueueDepth } from '@webhooks/core/queue/bullmq-queue-depth';
import { BullmqWakeQueue } from '@webhooks/core/queue/bullmq-wake-queue';
import { connectRedis, queuePrefix } from '@webhooks/core/redis/redis-connect';
import { createRedisProbe } from '@webhooks/core/redis/redis-probe';
import { systemClock } from '@webhooks/core/runtime/clock';
import type { Stoppable } from '@webhooks/core/runtime/shutdown';
import { registerPromQueueDepth } from '@webhooks/core/signals/prom-queue-depth';
import { createPromWorkerMetrics } from '@webhooks/core/signals/prom-signal-metrics';
import { createEmit, type Emit, type SignalListener } from '@webhooks/core/signals/signals';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { WorkerConfig } from './config';
import { BullmqDeliverConsumer } from './consumers/bullmq-deliver';
import { BullmqFanOutConsumer } from './consumers/bullmq-fan-out';
import { BullmqOpenGateConsumer } from './consumers/bullmq-open-gate';
import { OpsServer } from './ops-server';

export interface WorkerProcess {
  readonly emit: Emit;
  /** The port of its ops server, which differs from the configured one if that is 0. */
  readonly port: number;
  /** In the order in which they are to be stopped. */
  readonly parts: readonly Stoppable[];
}

const USER_AGENT = 'webhook-delivery-service/0.1.0';

// A fan-out mostly waits for Redis; more of them at once would only make each one slower.
const FAN_OUT_CONCURRENCY = 32;
const OPEN_GATE_CONCURRENCY = 16;

// One endpoint may hold a quarter of the slots, and keep a slot waiting for a place no longer than several times what a
// healthy receiver takes to answer.
const ENDPOINT_SHARE = 4;
const PLACE_PATIENCE_MS = 100;

/** Builds and starts the worker: the only place where its parts are made and wired. */
export async function composeWorker(
  config: WorkerConfig,
  listeners: readonly SignalListener[],
): Promise<WorkerProcess> {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const emit = createEmit([...listeners, createPromWorkerMetrics(registry)]);
  const clock = systemClock;

  const connection = { url: config.REDIS_URL, role: 'working', emit } as const;
  const storeRedis = connectRedis({ ...connection, name: 'worker-store', batched: true });
  const queueRedis = connectRedis({ ...connection, name: 'worker-queue' });
  const queues = { redis: queueRedis, prefix: queuePrefix(config.REDIS_URL) };

  const endpointStore = createRedisEndpointStore(storeRedis);
  const eventStore = createRedisEventStore(storeRedis, config.RETENTION);
  const deliveryStore = createRedisDeliveryStore(storeRedis, {
    ageMs: config.RETENTION,
    count: config.RETENTION_COUNT,
  });
  const gateStore = createRedisGateStore(storeRedis);
  const deliveryQueue = new BullmqDeliveryQueue(queues);
  const wakeQueue = new BullmqWakeQueue(queues, clock);
  const deadLetters = new BullmqDeadLetters(queues);
  const queueDepth = new BullmqQueueDepth(queues);
  registerPromQueueDepth(registry, queueDepth);

  const classifyAddress = createClassifyAddress({
    allowedCidrs: config.DELIVERY_ALLOWED_CIDRS,
    deniedCidrs: config.DELIVERY_DENIED_CIDRS,
  });
  const judgeTarget = createJudgeTarget({ classifyAddress, emit });
  const resolveName = cacheNames(createResolveName(), () => performance.now());
  const transport = new GotTransport({
    timeoutMs: config.DELIVERY_TIMEOUT,
    guard: { judgeTarget, lookup: createGuardedLookup(resolveName, judgeTarget) },
  });

  const windows = new InFlightWindows({
    maxSize: Math.max(Math.floor(config.WORKER_CONCURRENCY / ENDPOINT_SHARE), 1),
    patienceMs: PLACE_PATIENCE_MS,
  });
  const waitingHere: WaitingHere = new Set();
  const gate = { endpointStore, gateStore, windows, wakeQueue, waitingHere, clock, emit };
  const openGate = createOpenGate({ ...gate, releaseQueue: deliveryQueue });

  const consumer = { ...queues, lockDurationMs: config.JOB_LOCK_DURATION, emit };
  const fanOut = new BullmqFanOutConsumer({
    ...consumer,
    concurrency: FAN_OUT_CONCURRENCY,
    maxEventBytes: config.MAX_EVENT_BYTES,
    requireEndpoints: createRequireEndpoints(endpointStore),
    deadLetters,
    fanOutEvent: createFanOutEvent({
      eventStore,
      subscriptions: createSubscriptions(endpointStore),
      deliveryStore,
      deliveryQueue,
      clock,
      emit,
    }),
  });
  const deliveries = new BullmqDeliverConsumer({
    ...consumer,
    concurrency: config.WORKER_CONCURRENCY,
    stopDeadlineMs: config.SHUTDOWN_TIMEOUT,
    deliver: createDeliver({
      eventStore,
      endpointStore,
      deliveryStore,
      gateStore,
      windows,
      admit: createAdmit(gate),
      hold: createHold(gate),
      settle: createSettle({ ...gate, openGate }),
      transport: transport.send,
      retrySchedule: config.RETRY_SCHEDULE,
      requestStyle: {
        userAgent: USER_AGENT,
        signatureHeader: { name: config.SIGNATURE_HEADER, prefix: config.SIGNATURE_PREFIX },
      },
      clock,
      random: Math.random,
      emit,
    }),
  });
  const gates = new BullmqOpenGateConsumer({ ...consumer, concurrency: OPEN_GATE_CONCURRENCY, openGate });
  const opsServer = new OpsServer({
    host: config.WORKER_HOST,
    port: config.WORKER_PORT,
    registry,
    isReady: createRedisProbe(storeRedis),
  });

  const port = await opsServer.start();
  fanOut.start();
  deliveries.start();
  gates.start();

  return {
    emit,
    port,
    parts: [
      {
        name: 'consumers',
        stop: async () => void (await Promise.all([fanOut.stop(), deliveries.stop(), gates.stop()])),
      },
      { name: 'ops server', stop: () => opsServer.stop() },
      { name: 'transport', stop: async () => transport.close() },
      {
        name: 'queues',
        stop: async () =>
          void (await Promise.all(
            [deliveryQueue, wakeQueue, deadLetters, queueDepth].map((queue) => queue.close()),
          )),
      },
      { name: 'queue connection', stop: async () => queueRedis.disconnect() },
      { name: 'store connection', stop: async () => storeRedis.disconnect() },
    ],
  };
}
