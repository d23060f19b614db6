import { createRedisApiKeyStore } from '@hookferry/core/accounts/redis-api-key-store';
import { createRedisPortalSessionStore } from '@hookferry/core/accounts/redis-portal-session-store';
import { createRedisAdmissionStore } from '@hookferry/core/admission/redis-admission-store';
import { createRedisHeldCounts } from '@hookferry/core/admission/redis-held-counts';
import { createRedisOpenBreakers } from '@hookferry/core/admission/redis-open-breakers';
import { createRedisEventTypeStore } from '@hookferry/core/catalogue/redis-event-type-store';
import { createRedisChangeStore } from '@hookferry/core/changes/redis-change-store';
import { createRedisDisabledEndpoints } from '@hookferry/core/endpoints/redis-disabled-endpoints';
import { createRedisHealthStore } from '@hookferry/core/endpoints/redis-health-store';
import { OperationalEvents } from '@hookferry/core/intake/operational-events';
import type { Clock } from '@hookferry/core/kernel/clock';
import type { RedisClient } from '@hookferry/core/kernel/redis-connect';
import type { Stoppable } from '@hookferry/core/kernel/shutdown';
import { createRedisRemainsStore } from '@hookferry/core/manage/redis-remains-store';
import { createRedisWorkerReports } from '@hookferry/core/manage/redis-worker-reports';
import type { QueueShards } from '@hookferry/core/model/queue-layout';
import type { Emit } from '@hookferry/core/model/signal';
import { BullmqErasureQueue } from '@hookferry/core/queue/bullmq-erasure-queue';
import { BullmqReplayQueue } from '@hookferry/core/queue/bullmq-replay-queue';
import { createShardedDeadLetterStore } from '@hookferry/core/queue/sharded-dead-letter-store';
import { ShardedDeliveryQueue } from '@hookferry/core/queue/sharded-delivery-queue';
import { ShardedEventQueue } from '@hookferry/core/queue/sharded-events';
import { createShardedHeldDeliveries } from '@hookferry/core/queue/sharded-held-deliveries';
import { ShardedStandings } from '@hookferry/core/queue/sharded-standings';
import { openRecords } from '@hookferry/core/record/open-records';
import { createRedisReplayStore } from '@hookferry/core/recovery/redis-replay-store';
import type { ApiConfig } from './config';

export interface StoresContext {
  readonly config: ApiConfig;
  readonly redis: RedisClient;
  readonly shards: QueueShards;
  readonly clock: Clock;
  readonly emit: Emit;
}

export type Stores = ReturnType<typeof openStores>;

/** All that the API keeps in Redis and in queues; `parts` are in the order in which they are to be stopped. */
export function openStores({ config, redis, shards, clock, emit }: StoresContext) {
  const firstShard = { redis, prefix: shards.first.prefix };
  const records = openRecords(config, { redis, clock, emit });
  const eventQueue = new ShardedEventQueue(redis, shards);
  const deliveryQueue = new ShardedDeliveryQueue(redis, shards);
  const replayQueue = new BullmqReplayQueue(firstShard);
  const erasureQueue = new BullmqErasureQueue(firstShard);
  const standings = new ShardedStandings(redis, shards);
  const deadLetterStore = createShardedDeadLetterStore(redis, shards, clock);
  const { subscriptions } = records;
  const operationalEvents = new OperationalEvents({ subscriptions, eventQueue, clock, emit });
  const opened = [eventQueue, deliveryQueue, replayQueue, erasureQueue, deadLetterStore, standings];
  const parts: readonly Stoppable[] = [
    { name: 'operational events', stop: () => operationalEvents.stop() },
    ...records.recorders,
    { name: 'queues', stop: async () => void (await Promise.all(opened.map((queue) => queue.close()))) },
  ];
  return {
    ...records,
    apiKeyStore: createRedisApiKeyStore(redis),
    portalSessionStore: createRedisPortalSessionStore(redis),
    changeStore: createRedisChangeStore(redis),
    eventTypeStore: createRedisEventTypeStore(redis),
    healthStore: createRedisHealthStore(redis, config.RETENTION),
    admissionStore: createRedisAdmissionStore(redis),
    remainsStore: createRedisRemainsStore(redis, shards),
    replayStore: createRedisReplayStore(redis, config.RETENTION, records.noteUsage),
    heldDeliveries: createShardedHeldDeliveries(redis, shards),
    heldCounts: createRedisHeldCounts(redis, shards),
    openBreakers: createRedisOpenBreakers(redis),
    disabledEndpoints: createRedisDisabledEndpoints(redis),
    workerReports: createRedisWorkerReports(redis),
    standings,
    eventQueue,
    deliveryQueue,
    replayQueue,
    erasureQueue,
    deadLetterStore,
    operationalEvents,
    parts,
  };
}
