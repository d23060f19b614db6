import { UsageStore } from '../accounts/redis-usage-store';
import { oneShard } from '../domain/queues';
import { ScheduledEvents } from '../events/redis-scheduled-events';
import { atomicAsOne } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import { IdempotencyStore } from '../publish/redis-idempotency-store';
import { ScheduledQueue } from '../queue/bullmq-scheduled-queue';
import { testRetention } from './test-retention';

/** What keeps events that are to be sent later, in this Redis. */
export function openScheduleParts(redis: RedisClient, retention = testRetention) {
  return {
    scheduledEvents: new ScheduledEvents(redis, retention),
    scheduledQueue: new ScheduledQueue(redis, oneShard('bull')),
    usageStore: new UsageStore(redis),
    idempotencyStore: new IdempotencyStore(redis),
    retention,
    atomic: atomicAsOne(redis),
    scheduleMaxMs: 30 * 86_400_000,
  };
}
