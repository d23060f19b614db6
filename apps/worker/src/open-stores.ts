import { createRedisAdmissionStore } from '@hookferry/core/admission/redis-admission-store';
import { createRedisAttemptStore } from '@hookferry/core/admission/redis-attempt-store';
import { createRedisHeldCounts } from '@hookferry/core/admission/redis-held-counts';
import { createRedisOpenBreakers } from '@hookferry/core/admission/redis-open-breakers';
import { createRedisEventTypeStore } from '@hookferry/core/catalogue/redis-event-type-store';
import { HealthRecorder } from '@hookferry/core/endpoints/health-recorder';
import { createRedisDisabledEndpoints } from '@hookferry/core/endpoints/redis-disabled-endpoints';
import { createRedisHealthStore } from '@hookferry/core/endpoints/redis-health-store';
import { OperationalEvents } from '@hookferry/core/intake/operational-events';
import type { Clock } from '@hookferry/core/kernel/clock';
import type { RedisClient } from '@hookferry/core/kernel/redis-connect';
import type { Stoppable } from '@hookferry/core/kernel/shutdown';
import { createRedisRemainsStore } from '@hookferry/core/manage/redis-remains-store';
import type { EndpointId } from '@hookferry/core/model/endpoint';
import type { QueueShard } from '@hookferry/core/model/queue-layout';
import type { Emit } from '@hookferry/core/model/signal';
import { BullmqDeadLetters } from '@hookferry/core/queue/bullmq-dead-letters';
import { ShardedAccountJobs } from '@hookferry/core/queue/sharded-account-jobs';
import { ShardedDeliveryQueue } from '@hookferry/core/queue/sharded-delivery-queue';
import { createShardedEventHorizon, ShardedEventQueue } from '@hookferry/core/queue/sharded-events';
import { createShardedHeldDeliveries } from '@hookferry/core/queue/sharded-held-deliveries';
import type { ShardsInForce } from '@hookferry/core/queue/shards-in-force';
import { openRecords } from '@hookferry/core/record/open-records';
import { createRedisReplayStore } from '@hookferry/core/recovery/redis-replay-store';
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
  const { first } = shards;
  const records = openRecords(config, { redis, clock, emit });
  const healthStore = createRedisHealthStore(redis, healthRetentionOf(config));
  const healthRecorder = new HealthRecorder({ healthStore, workerId, limitOf, clock, emit });
  const deliveryQueue = new ShardedDeliveryQueue(redis, shards);
  const eventQueue = new ShardedEventQueue(redis, shards);
  const deadLetters = new BullmqDeadLetters({ redis, prefix: first.prefix }, clock);
  const accountJobs = new ShardedAccountJobs(redis, shards);
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
    attemptStore: createRedisAttemptStore(redis, records.retention),
    admissionStore: createRedisAdmissionStore(redis),
    openBreakers: createRedisOpenBreakers(redis),
    heldCounts: createRedisHeldCounts(redis, shards),
    disabledEndpoints: createRedisDisabledEndpoints(redis),
    eventTypeStore: createRedisEventTypeStore(redis),
    replayStore: createRedisReplayStore(redis, config.RETENTION),
    remainsStore: createRedisRemainsStore(redis, shards),
    heldDeliveries: createShardedHeldDeliveries(redis, shards, servedShards),
    eventHorizon: createShardedEventHorizon(redis, shards),
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
