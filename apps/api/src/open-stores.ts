import { createRedisApiKeyStore } from '@hookferry/core/accounts/redis-api-key-store';
import { createRedisAdmissionStore } from '@hookferry/core/admission/redis-admission-store';
import { createRedisEventTypeStore } from '@hookferry/core/catalogue/redis-event-type-store';
import { createRedisHealthStore } from '@hookferry/core/endpoints/redis-health-store';
import { OperationalEvents } from '@hookferry/core/intake/operational-events';
import type { Clock } from '@hookferry/core/kernel/clock';
import type { Stoppable } from '@hookferry/core/kernel/shutdown';
import { createRedisRemainsStore } from '@hookferry/core/manage/redis-remains-store';
import type { Emit } from '@hookferry/core/model/signal';
import { createBullmqDeadLetterStore } from '@hookferry/core/queue/bullmq-dead-letter-store';
import { BullmqDeliveryQueue } from '@hookferry/core/queue/bullmq-delivery-queue';
import { BullmqErasureQueue } from '@hookferry/core/queue/bullmq-erasure-queue';
import { BullmqEventQueue } from '@hookferry/core/queue/bullmq-event-queue';
import { createBullmqHeldDeliveries } from '@hookferry/core/queue/bullmq-held-deliveries';
import type { QueueConnection } from '@hookferry/core/queue/bullmq-open-queue';
import { BullmqReplayQueue } from '@hookferry/core/queue/bullmq-replay-queue';
import { openRecords } from '@hookferry/core/record/open-records';
import { createRedisReplayStore } from '@hookferry/core/recovery/redis-replay-store';
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
