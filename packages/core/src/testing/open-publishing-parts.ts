import { Cluster } from 'ioredis';
import type { AccountQuota } from '../accounts/account-quota';
import { AuditLog } from '../accounts/audit/redis-audit-log';
import { EventTypes } from '../accounts/event-types/event-types';
import { EventTypeStore } from '../accounts/event-types/redis-event-type-store';
import { UsageStore } from '../accounts/redis-usage-store';
import { oneShard } from '../domain/queues';
import { BesideLanes } from '../endpoints/admission/redis-beside-lanes';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { Subscriptions } from '../endpoints/subscriptions';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EventStore } from '../events/redis-event-store';
import { ScheduledEventStore } from '../events/redis-scheduled-event-store';
import { Turns } from '../platform/batches';
import { createAtomic } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import { FanOuts, type PublishingParts } from '../publish/publishing-parts';
import { EventClaimStore } from '../publish/redis-event-claim-store';
import { IdempotencyStore } from '../publish/redis-idempotency-store';
import { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import { EventQueue } from '../queue/bullmq-event-queue';
import { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { ScheduledQueue } from '../queue/bullmq-scheduled-queue';
import { fake } from './fake';
import { recordSignals, type SignalRecord } from './record-signals';
import { testRetention } from './test-retention';
import { testSealer } from './test-sealer';

const RETENTION_MS = 60_000;

export interface OpenedPublishingParts extends PublishingParts {
  readonly heldDeliveries: HeldDeliveries;
  readonly signals: SignalRecord;
}

/** The parts of publishing, in this Redis. The account has room for everything. */
export function openPublishingParts(redis: RedisClient): OpenedPublishingParts {
  const shards = oneShard(redis instanceof Cluster ? '{bull}' : 'bull');
  const endpointStore = new EndpointStore(redis, testSealer);
  const signals = recordSignals();
  const eventTypeStore = new EventTypeStore(redis);
  return {
    beginSpan: undefined,
    eventTypes: new EventTypes({ eventTypeStore, clock: () => 0 }),
    eventTypeStore,
    endpointStore,
    subscriptions: new Subscriptions(endpointStore),
    quota: fake<AccountQuota>({ requireRoomAsKnown: async () => {} }),
    usageStore: new UsageStore(redis),
    auditLog: new AuditLog(redis),
    eventClaims: new EventClaimStore(redis, RETENTION_MS),
    idempotencyStore: new IdempotencyStore(redis),
    eventStore: new EventStore(redis, testRetention),
    deliveryStore: new DeliveryStore(redis, testRetention),
    besideLanes: new BesideLanes(redis),
    scheduledEventStore: new ScheduledEventStore(redis, testRetention),
    eventQueue: new EventQueue(redis, shards),
    deliveryQueue: new DeliveryQueue(redis, shards),
    heldDeliveries: new HeldDeliveries(redis, shards),
    scheduledQueue: new ScheduledQueue(redis, shards),
    atomic: createAtomic(redis),
    maxEventBytes: 1_024,
    scheduleMaxMs: 30 * 86_400_000,
    retention: testRetention,
    routingTurns: new Turns(),
    fanOutTurns: new Turns(),
    fanOuts: new FanOuts(),
    clock: () => 0,
    emit: signals.listen,
    signals,
  };
}
