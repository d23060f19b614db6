import { join } from 'node:path';
import { createRedisAccountStore } from '@webhooks/core/accounts/redis-account-store';
import { createFanOutEvent } from '@webhooks/core/deliveries/fan-out-event';
import { createRedisDeliveryStore } from '@webhooks/core/deliveries/redis-delivery-store';
import { createDisable } from '@webhooks/core/endpoints/disable';
import { createManageEndpoints } from '@webhooks/core/endpoints/manage-endpoints';
import { createRedisEndpointStore } from '@webhooks/core/endpoints/redis-endpoint-store';
import { createRedisHealthStore } from '@webhooks/core/endpoints/redis-health-store';
import { newSecret } from '@webhooks/core/endpoints/secret';
import type { Subscriber } from '@webhooks/core/endpoints/stored-endpoint';
import type { AccountId, EventId } from '@webhooks/core/events/event';
import { createRedisEventStore } from '@webhooks/core/events/redis-event-store';
import { createRedisBreakerStore } from '@webhooks/core/gates/redis-breaker-store';
import { createRedisRemoveGate } from '@webhooks/core/gates/redis-remove-gate';
import { createRedisTurnStore } from '@webhooks/core/gates/redis-turn-store';
import { BullmqDeliveryQueue } from '@webhooks/core/queue/bullmq-delivery-queue';
import { connectRedis, queuePrefix } from '@webhooks/core/redis/redis-connect';
import { systemClock } from '@webhooks/core/runtime/clock';
import { createNewId } from '@webhooks/core/runtime/ids';
import { testSealer } from '@webhooks/core/testing/test-sealer';
import { type Contender, ENDPOINTS, EVENT_TYPE, type Load, sampleData } from './contender';

const RETENTION = { ageMs: 86_400_000, count: 100_000 };
const FAN_OUTS_AT_ONCE = 200;

export const serviceContender: Contender = {
  name: 'this service',
  script: join(__dirname, '../../../apps/worker/dist/main.js'),

  /** Fans the events out by the service's own code: ten accounts with an endpoint each. */
  async fill({ redisUrl, receiverUrl, deliveries }: Load) {
    const connection = { url: redisUrl, role: 'working', emit: () => {} } as const;
    const storeRedis = connectRedis({ ...connection, name: 'bench-store' });
    const queueRedis = connectRedis({ ...connection, name: 'bench-queue' });
    const accountStore = createRedisAccountStore(storeRedis);
    const endpointStore = createRedisEndpointStore(storeRedis, testSealer);
    const deliveryStore = createRedisDeliveryStore(storeRedis, RETENTION);
    const deliveryQueue = new BullmqDeliveryQueue({ redis: queueRedis, prefix: queuePrefix(redisUrl) });
    const newId = createNewId(systemClock);

    const endpoints = createManageEndpoints({
      healthStore: createRedisHealthStore(storeRedis, RETENTION.ageMs),
      breakerStore: createRedisBreakerStore(storeRedis),
      turnStore: createRedisTurnStore(storeRedis),
      removeGate: createRedisRemoveGate(storeRedis),
      requireKnownFilters: async () => {},
      wakeQueue: { wake: async () => {} },
      endpointStore,
      accountStore,
      deliveryStore,
      newId,
      newSecret,
      maxEndpoints: ENDPOINTS,
      clock: systemClock,
      disable: createDisable({ endpointStore, clock: systemClock, emit: () => {} }),
      raise: () => {},
    });
    const subscribers = new Map<AccountId, Subscriber>();
    for (let i = 0; i < ENDPOINTS; i += 1) {
      const accountId = accountOf(i);
      await accountStore.create({ id: accountId, createdAt: systemClock() });
      subscribers.set(accountId, await endpoints.create(accountId, { url: receiverUrl, events: ['*'] }));
    }
    const fanOutEvent = createFanOutEvent({
      eventStore: createRedisEventStore(storeRedis, RETENTION),
      // Known from above: reading them 20,000 times is not what is measured here.
      subscriptions: {
        subscribersOf: async (accountId) => [subscribers.get(accountId)].filter((each) => each !== undefined),
        presentOf: async () => [],
      },
      deliveryStore,
      deliveryQueue,
      // None of these endpoints asks for its deliveries in order.
      hold: async () => {},
      isStuck: () => false,
      clock: systemClock,
      emit: () => {},
    });
    for (let start = 0; start < deliveries; start += FAN_OUTS_AT_ONCE) {
      const numbers = Array.from(
        { length: Math.min(FAN_OUTS_AT_ONCE, deliveries - start) },
        (_, i) => start + i,
      );
      await Promise.all(
        numbers.map((i) =>
          fanOutEvent({
            id: newId('evt') as EventId,
            accountId: accountOf(i),
            type: EVENT_TYPE,
            body: JSON.stringify({ type: EVENT_TYPE, data: sampleData(i) }),
            acceptedAt: systemClock(),
          }),
        ),
      );
    }
    await deliveryQueue.close();
    queueRedis.disconnect();
    storeRedis.disconnect();
  },
};

function accountOf(i: number): AccountId {
  return `account-${i % ENDPOINTS}` as AccountId;
}
