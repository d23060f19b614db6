import type { AccountId } from '@hookferry/core/domain/account';
import { createRedisEndpointStore } from '@hookferry/core/endpoints/redis-endpoint-store';
import { createRedisDeliveryStore } from '@hookferry/core/events/redis-delivery-store';
import { createRedisEventStore } from '@hookferry/core/events/redis-event-store';
import type { RedisClient } from '@hookferry/core/platform/redis-connect';
import { buildAcceptedAttempt } from '@hookferry/core/testing/build-attempt';
import { buildEndpoint } from '@hookferry/core/testing/build-endpoint';
import { buildEvent } from '@hookferry/core/testing/build-event';
import { testSealer } from '@hookferry/core/testing/test-sealer';

export interface FanOutOptions {
  readonly redis: RedisClient;
  readonly accountId: AccountId;
  readonly endpoints: number;
}

const RETENTION = { ageMs: 86_400_000, count: 100_000 };
const TOGETHER = 100;

/** Puts one event on record that went to all endpoints of an account, and was accepted by each. */
export async function loadFanOut({ redis, accountId, endpoints: count }: FanOutOptions): Promise<void> {
  const endpointStore = createRedisEndpointStore(redis, testSealer);
  const events = createRedisEventStore(redis, RETENTION);
  const log = createRedisDeliveryStore(redis, RETENTION);
  const event = buildEvent({ accountId, acceptedAt: Date.now() });
  const attempt = buildAcceptedAttempt({ startedAt: event.acceptedAt });
  const fact = { kind: 'attempted', attempt, nextAttemptAt: undefined, eventType: event.type } as const;
  await events.save(event);
  await events.enlist(event, count);
  for (let done = 0; done < count; done += TOGETHER) {
    const some = Array.from({ length: Math.min(TOGETHER, count - done) }, () => buildEndpoint({ accountId }));
    const ids = some.map(({ id }) => id);
    await Promise.all(some.map((endpoint) => endpointStore.create(endpoint, count)));
    await events.addReceivers(accountId, event.id, ids);
    await log.enlist(event.id, ids, event.acceptedAt);
    await Promise.all(ids.map((endpointId) => log.append({ endpointId, eventId: event.id }, fact)));
  }
}
