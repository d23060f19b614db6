import { createRedisApiKeyStore } from '@webhooks/core/accounts/redis-api-key-store';
import { createRedisAdmissionStore } from '@webhooks/core/admission/redis-admission-store';
import { createRedisEventTypeStore } from '@webhooks/core/catalogue/redis-event-type-store';
import { createRedisHealthStore } from '@webhooks/core/endpoints/redis-health-store';
import { OperationalEvents } from '@webhooks/core/intake/operational-events';
import type { Clock } from '@webhooks/core/kernel/clock';
import type { Stoppable } from '@webhooks/core/kernel/shutdown';
import { createRedisRemainsStore } from '@webhooks/core/manage/redis-remains-store';
import type { Emit } from '@webhooks/core/model/signal';
import { createBullmqDeadLetterStore } from '@webhooks/core/queue/bullmq-dead-letter-store';
import { BullmqDeliveryQueue } from '@webhooks/core/queue/bullmq-delivery-queue';
import { BullmqErasureQueue } from '@webhooks/core/queue/bullmq-erasure-queue';
import { BullmqEventQueue } from '@webhooks/core/queue/bullmq-event-queue';
import { createBullmqHeldDeliveries } from '@webhooks/core/queue/bullmq-held-deliveries';
import type { QueueConnection } from '@webhooks/core/queue/bullmq-open-queue';
import { BullmqReplayQueue } from '@webhooks/core/queue/bullmq-replay-queue';
import { openRecords } from '@webhooks/core/record/open-records';
import { createRedisReplayStore } from '@webhooks/core/recovery/redis-replay-store';
import type { ApiConfig } from './config';

export interface StoresContext {
  readonly config: ApiConfig;
  readonly queues: QueueConnection;
  readonly clock: Clock;
  readonly emit: Emit;
}

export type Stores = ReturnType<typeof openStores>;

/** All that the API keeps in Redis and in queues; `parts` are in the order in which they are to be stopped. */
export function openStores({ config, queues, clock, emit }: StoresContext) {
  const { redis } = queues;
  const records = openRecords(config, { redis, clock, emit });
  const eventQueue = new BullmqEventQueue(queues);
  const deliveryQueue = new BullmqDeliveryQueue(queues);
  const replayQueue = new BullmqReplayQueue(queues);
  const erasureQueue = new BullmqErasureQueue(queues);
  const deadLetterStore = createBullmqDeadLetterStore(queues, clock);
  const { subscriptions } = records;
  const operationalEvents = new OperationalEvents({ subscriptions, eventQueue, clock, emit });
  const opened = [eventQueue, deliveryQueue, replayQueue, erasureQueue, deadLetterStore];
  const parts: readonly Stoppable[] = [
    { name: 'operational events', stop: () => operationalEvents.stop() },
    ...records.recorders,
    { name: 'queues', stop: async () => void (await Promise.all(opened.map((queue) => queue.close()))) },
  ];
  return {
    ...records,
    apiKeyStore: createRedisApiKeyStore(redis),
    eventTypeStore: createRedisEventTypeStore(redis),
    healthStore: createRedisHealthStore(redis, config.RETENTION),
    admissionStore: createRedisAdmissionStore(redis),
    remainsStore: createRedisRemainsStore(redis),
    replayStore: createRedisReplayStore(redis, config.RETENTION, records.noteUsage),
    heldDeliveries: createBullmqHeldDeliveries(queues),
    eventQueue,
    deliveryQueue,
    replayQueue,
    erasureQueue,
    deadLetterStore,
    operationalEvents,
    parts,
  };
}
