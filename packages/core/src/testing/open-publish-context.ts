import { EventTypeStore } from '../accounts/event-types/redis-event-type-store';
import { oneShard } from '../domain/queues';
import { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { Subscriptions } from '../endpoints/subscriptions';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EventStore } from '../events/redis-event-store';
import { Turns } from '../platform/batches';
import type { RedisClient } from '../platform/redis-connect';
import { EventClaimStore } from '../publish/redis-event-claim-store';
import { FanOuts } from '../publish/store-fan-out';
import { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import { EventQueue } from '../queue/bullmq-event-queue';
import { openScheduleParts } from './open-schedule-parts';
import { recordSignals } from './record-signals';
import { testRetention } from './test-retention';
import { testSealer } from './test-sealer';

const RETENTION_MS = 60_000;

export type PublishContext = ReturnType<typeof openPublishContext>;

/** The context of publishing, in this Redis. It has room for everything. */
export function openPublishContext(redis: RedisClient) {
  const shards = oneShard('bull');
  const endpointStore = new EndpointStore(redis, testSealer);
  const eventQueue = new EventQueue(redis, shards);
  const deliveryQueue = new DeliveryQueue(redis, shards);
  const signals = recordSignals();
  return {
    endpointStore,
    subscriptions: new Subscriptions(endpointStore),
    eventTypeStore: new EventTypeStore(redis),
    eventStore: new EventStore(redis, testRetention),
    deliveryStore: new DeliveryStore(redis, testRetention),
    admissionStore: new AdmissionStore(redis),
    eventClaims: new EventClaimStore(redis, RETENTION_MS),
    eventQueue,
    deliveryQueue,
    quota: { requireRoomAsKnown: async () => {} },
    ...openScheduleParts(redis),
    maxEventBytes: 1_024,
    routingTurns: new Turns(),
    fanOuts: new FanOuts(),
    fanOutTurns: new Turns(),
    clock: () => 0,
    emit: signals.listen,
    signals,
    close: async () => void (await Promise.all([eventQueue.close(), deliveryQueue.close()])),
  };
}
