import { createRedisApiKeyStore } from '@hookferry/core/accounts/redis-api-key-store';
import { createRedisPortalSessionStore } from '@hookferry/core/accounts/redis-portal-session-store';
import type { QueueShards } from '@hookferry/core/domain/queues';
import type { Emit } from '@hookferry/core/domain/signal';
import { createRedisAdmissionStore } from '@hookferry/core/endpoints/flow/redis-admission-store';
import { createRedisOpenBreakers } from '@hookferry/core/endpoints/flow/redis-open-breakers';
import { createRedisHealthStore } from '@hookferry/core/endpoints/health/redis-health-store';
import { OperationalEvents } from '@hookferry/core/endpoints/operational-events';
import { createRedisDisabledEndpoints } from '@hookferry/core/endpoints/redis-disabled-endpoints';
import { createRedisEventTypeStore } from '@hookferry/core/event-types/redis-event-type-store';
import { createRedisRemainsStore } from '@hookferry/core/operations/redis-remains-store';
import { createRedisWorkerReports } from '@hookferry/core/operations/redis-worker-reports';
import type { Clock } from '@hookferry/core/platform/clock';
import type { RedisClient } from '@hookferry/core/platform/redis-connect';
import type { Stoppable } from '@hookferry/core/platform/timers';
import { createShardedDeadLetterStore } from '@hookferry/core/queue/bullmq-dead-letter-store';
import { ShardedDeliveryQueue } from '@hookferry/core/queue/bullmq-delivery-queue';
import { ShardedEventQueue } from '@hookferry/core/queue/bullmq-event-queue';
import { createShardedHeldDeliveries } from '@hookferry/core/queue/bullmq-held-deliveries';
import { ShardedStandings } from '@hookferry/core/queue/bullmq-queue-standings';
import { BullmqErasureQueue, BullmqReplayQueue } from '@hookferry/core/queue/bullmq-work-queues';
import { createRedisHeldCounts } from '@hookferry/core/queue/redis-held-counts';
import { createRedisReplayStore } from '@hookferry/core/replays/redis-replay-store';
import { createRedisChangeStore } from '@hookferry/core/stream/redis-change-store';
import { openRecords } from '@hookferry/core/telemetry/open-records';
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
