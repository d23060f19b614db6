import { join } from 'node:path';
import type { AccountId } from '@hookferry/core/domain/account';
import type { EventId } from '@hookferry/core/domain/event';
import { oneShard } from '@hookferry/core/domain/queues';
import { createRedisAdmissionStore } from '@hookferry/core/endpoints/flow/redis-admission-store';
import { createRedisEndpointStore } from '@hookferry/core/endpoints/redis-endpoint-store';
import type { Subscriber } from '@hookferry/core/endpoints/stored-endpoint';
import { createRedisDeliveryStore } from '@hookferry/core/events/redis-delivery-store';
import { createRedisEventStore } from '@hookferry/core/events/redis-event-store';
import { systemClock } from '@hookferry/core/platform/clock';
import { createNewId } from '@hookferry/core/platform/ids';
import { connectRedis, queuePrefix } from '@hookferry/core/platform/redis-connect';
import { createInOrder } from '@hookferry/core/platform/redis-script';
import { createFanOutEvent } from '@hookferry/core/publish/fan-out-event';
import { DeliveryQueue } from '@hookferry/core/queue/bullmq-delivery-queue';
import { buildEndpoint } from '@hookferry/core/testing/build-endpoint';
import { testSealer } from '@hookferry/core/testing/test-sealer';
import { type Contender, ENDPOINTS, EVENT_TYPE, type Load, sampleData } from './contender';

const RETENTION = { ageMs: 86_400_000, count: 100_000 };
const FAN_OUTS_AT_ONCE = 200;

export const serviceContender: Contender = {
  name: 'this service',
  script: join(__dirname, '../../../apps/worker/dist/main.js'),

  /** Fans the events out by the service's own code: ten accounts with an endpoint each. */
  async fill({ redisUrl, receiverUrl, deliveries }: Load) {
    const connection = { url: redisUrl, role: 'working', emit: () => {} } as const;
    const redis = connectRedis({ ...connection, name: 'bench' });
    const endpointStore = createRedisEndpointStore(redis, testSealer);
    const deliveryStore = createRedisDeliveryStore(redis, RETENTION);
    const deliveryQueue = new DeliveryQueue(redis, oneShard(queuePrefix(redisUrl)));
    const newId = createNewId(systemClock);
    const subscribers = new Map<AccountId, Subscriber>();
    for (let i = 0; i < ENDPOINTS; i += 1) {
      const endpoint = buildEndpoint({ accountId: accountOf(i), url: receiverUrl });
      await endpointStore.create(endpoint);
      subscribers.set(endpoint.accountId, endpoint);
    }
    const fanOutEvent = createFanOutEvent({
      eventStore: createRedisEventStore(redis, RETENTION),
      deliveryStore,
      admissionStore: createRedisAdmissionStore(redis),
      deliveryQueue,
      inOrder: createInOrder(redis),
      clock: systemClock,
      emit: () => {},
    });
    for (let start = 0; start < deliveries; start += FAN_OUTS_AT_ONCE) {
      const numbers = Array.from(
        { length: Math.min(FAN_OUTS_AT_ONCE, deliveries - start) },
        (_, i) => start + i,
      );
      await fanOutEvent(
        numbers.map((i) => ({
          event: {
            id: newId('evt') as EventId,
            accountId: accountOf(i),
            type: EVENT_TYPE,
            body: JSON.stringify({ type: EVENT_TYPE, data: sampleData(i) }),
            acceptedAt: systemClock(),
          },
          receivers: [subscribers.get(accountOf(i))].filter((each) => each !== undefined),
        })),
      );
    }
    await deliveryQueue.close();
    redis.disconnect();
  },
};

function accountOf(i: number): AccountId {
  return `account-${i % ENDPOINTS}` as AccountId;
}
