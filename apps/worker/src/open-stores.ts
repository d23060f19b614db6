import { AttemptStore } from '@hookferry/core/deliver/flow/redis-attempt-store';
import type { EndpointId } from '@hookferry/core/domain/endpoint';
import type { QueueShard } from '@hookferry/core/domain/queues';
import type { Emit } from '@hookferry/core/domain/signal';
import { AdmissionStore } from '@hookferry/core/endpoints/flow/redis-admission-store';
import { HealthRecorder } from '@hookferry/core/endpoints/health/health-recorder';
import { HealthStore } from '@hookferry/core/endpoints/health/redis-health-store';
import { OperationalEvents } from '@hookferry/core/endpoints/operational-events';
import { DisabledEndpoints, OpenBreakers } from '@hookferry/core/endpoints/redis-troubled-endpoints';
import { EventTypeStore } from '@hookferry/core/event-types/redis-event-type-store';
import { RemainsStore } from '@hookferry/core/operations/redis-remains-store';
import type { Clock } from '@hookferry/core/platform/clock';
import type { RedisClient } from '@hookferry/core/platform/redis-connect';
import type { Stoppable } from '@hookferry/core/platform/timers';
import { AccountJobs } from '@hookferry/core/queue/bullmq-account-jobs';
import { DeliveryQueue } from '@hookferry/core/queue/bullmq-delivery-queue';
import { EventQueue } from '@hookferry/core/queue/bullmq-event-queue';
import { HeldDeliveries } from '@hookferry/core/queue/bullmq-held-deliveries';
import { OldestEvents } from '@hookferry/core/queue/bullmq-oldest-events';
import { RejectedEvents } from '@hookferry/core/queue/bullmq-rejected-events';
import { HeldCounts } from '@hookferry/core/queue/redis-held-counts';
import type { ShardsInForce } from '@hookferry/core/queue/shards-in-force';
import { ReplayStore } from '@hookferry/core/replays/redis-replay-store';
import { openRecords } from '@hookferry/core/telemetry/open-records';
import type { WorkerConfig } from './config';

export interface StoresContext {
  readonly config: WorkerConfig;
  readonly redis: RedisClient;
  readonly shards: ShardsInForce;
  /** Those that this worker takes jobs from. */
  readonly servedShards: () => readonly QueueShard[];
  readonly workerId: string;
  /** How many attempts this worker lets an endpoint have under way at the moment. */
  readonly limitOf: (endpointId: EndpointId) => number | undefined;
  readonly clock: Clock;
  readonly emit: Emit;
}

export type Stores = ReturnType<typeof openStores>;

/** All that a worker keeps in Redis and in queues. `recorders` are to be stopped in their order, then `openQueues`. */
export function openStores(context: StoresContext) {
  const { config, redis, shards, servedShards, workerId, limitOf, clock, emit } = context;
  const records = openRecords(config, { redis, clock, emit });
  const healthStore = new HealthStore(redis, healthRetentionOf(config));
  const healthRecorder = new HealthRecorder({ healthStore, workerId, limitOf, clock, emit });
  const deliveryQueue = new DeliveryQueue(redis, shards);
  const eventQueue = new EventQueue(redis, shards);
  const deadLetters = new RejectedEvents(redis, shards, clock);
  const accountJobs = new AccountJobs(redis, shards);
  const { subscriptions } = records;
  const operationalEvents = new OperationalEvents({ subscriptions, eventQueue, clock, emit });
  const recorders: readonly Stoppable[] = [
    { name: 'operational events', stop: () => operationalEvents.stop() },
    { name: 'health recorder', stop: () => healthRecorder.stop() },
    ...records.recorders,
  ];
  return {
    ...records,
    healthStore,
    healthRecorder,
    attemptStore: new AttemptStore(redis, records.retention),
    admissionStore: new AdmissionStore(redis),
    openBreakers: new OpenBreakers(redis),
    heldCounts: new HeldCounts(redis, shards),
    disabledEndpoints: new DisabledEndpoints(redis),
    eventTypeStore: new EventTypeStore(redis),
    replayStore: new ReplayStore(redis, config.RETENTION),
    remainsStore: new RemainsStore(redis, shards),
    heldDeliveries: new HeldDeliveries(redis, shards, servedShards),
    oldestEvents: new OldestEvents(redis, shards),
    deliveryQueue,
    deadLetters,
    accountJobs,
    operationalEvents,
    recorders,
    openQueues: [deliveryQueue, eventQueue, deadLetters, accountJobs],
  };
}

// A last success that is forgotten counts as none: it must not be forgotten as long as it forbids the disabling.
function healthRetentionOf({ DISABLE_AFTER, RETENTION }: WorkerConfig): number {
  return DISABLE_AFTER === 'never' ? RETENTION : Math.max(RETENTION, DISABLE_AFTER);
}
