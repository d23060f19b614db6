import { AccountQuota, UsageRecorder } from '../accounts/account-quota';
import { AccountStore } from '../accounts/redis-account-store';
import { UsageStore } from '../accounts/redis-usage-store';
import type { Emit } from '../domain/signal';
import type { NoteUsage } from '../domain/usage';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { provideSealer } from '../endpoints/seal';
import { Subscriptions } from '../endpoints/subscriptions';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EventRelease, EventReleaser } from '../events/redis-event-release';
import { EventStore } from '../events/redis-event-store';
import { type Clock, steadyClock } from '../platform/clock';
import type { RedisClient } from '../platform/redis-connect';
import type { SealingKey } from '../platform/sealing-key';

interface RecordsConfig {
  readonly RETENTION: number;
  readonly RETENTION_COUNT: number;
  readonly ACCOUNT_QUOTA_BYTES: number;
  readonly SECRETS_ENCRYPTION_KEY: readonly SealingKey[];
}

interface RecordsContext {
  readonly redis: RedisClient;
  readonly clock: Clock;
  readonly emit: Emit;
}

/**
 * What the API and the workers keep in Redis alike: accounts, endpoints, events and deliveries, with what counts the bytes
 * that they take up. `recorders` have something to write still when a process stops, and are stopped in their order.
 */
export function openRecords(config: RecordsConfig, { redis, clock, emit }: RecordsContext) {
  const retention = { ageMs: config.RETENTION, count: config.RETENTION_COUNT };
  const usageStore = new UsageStore(redis);
  const usageRecorder = new UsageRecorder({ usageStore, clock, emit });
  const noteUsage: NoteUsage = (accountId, kind, bytes) =>
    usageRecorder.note(accountId, kind, bytes, clock(), retention.ageMs);
  const quota = new AccountQuota({ usageStore, defaultBytes: config.ACCOUNT_QUOTA_BYTES, clock, emit });
  const sealer = provideSealer(config.SECRETS_ENCRYPTION_KEY, emit);
  const endpointStore = new EndpointStore(redis, sealer, (accountId, standing) =>
    quota.note(accountId, standing),
  );
  const eventReleaser = new EventReleaser({
    eventRelease: new EventRelease(redis),
    usageRecorder,
    retentionMs: retention.ageMs,
    emit,
  });
  const letGo = eventReleaser.add.bind(eventReleaser);
  return {
    retention,
    usageRecorder,
    noteUsage,
    quota,
    accountStore: new AccountStore(redis),
    endpointStore,
    subscriptions: new Subscriptions(endpointStore),
    eventStore: new EventStore(redis, retention, steadyClock, {
      onPruned: letGo,
      onErased: (accountId, bytes, acceptedAt) =>
        usageRecorder.note(accountId, 'events', -bytes, acceptedAt, retention.ageMs),
    }),
    deliveryStore: new DeliveryStore(redis, retention, letGo),
    recorders: [
      { name: 'event releaser', stop: () => eventReleaser.stop() },
      { name: 'usage recorder', stop: () => usageRecorder.stop() },
    ],
  };
}
