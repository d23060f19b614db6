import type { Concurrency } from '@hookferry/core/admission/concurrency';
import type { Slots } from '@hookferry/core/admission/slots';
import { createCountDisabled } from '@hookferry/core/endpoints/count-disabled';
import { steadyClock, systemClock } from '@hookferry/core/kernel/clock';
import type { RedisClient } from '@hookferry/core/kernel/redis-connect';
import type { QueueShards } from '@hookferry/core/model/queue-layout';
import type { SignalListener } from '@hookferry/core/model/signal';
import { createShardedOldestWaiting } from '@hookferry/core/queue/sharded-oldest-waiting';
import type { ShardedQueueDepth } from '@hookferry/core/queue/sharded-queue-depth';
import { AccountShares } from '@hookferry/core/telemetry/account-shares';
import { watchEventLoop } from '@hookferry/core/telemetry/event-loop-lag';
import { registerPromProcessGauges } from '@hookferry/core/telemetry/prom-process-gauges';
import { createPromRegistry } from '@hookferry/core/telemetry/prom-registry';
import {
  type ArchiveCounts,
  registerPromSharedGauges,
  sharedSources,
} from '@hookferry/core/telemetry/prom-shared-gauges';
import { createPromWorkerMetrics } from '@hookferry/core/telemetry/prom-signal-metrics';
import { registerPromWorkerGauges } from '@hookferry/core/telemetry/prom-worker-gauges';
import { readRedisLoads } from '@hookferry/core/telemetry/redis-load';
import { createRedisReadingsStore } from '@hookferry/core/telemetry/redis-readings-store';
import { SharedReadings } from '@hookferry/core/telemetry/shared-readings';
import type { Stores } from './open-stores';

export interface GaugesDeps
  extends Pick<Stores, 'quota' | 'heldCounts' | 'openBreakers' | 'disabledEndpoints' | 'endpointStore'> {
  readonly redis: RedisClient;
  readonly shards: QueueShards;
  readonly queueDepth: ShardedQueueDepth;
  readonly slots: Slots;
  readonly concurrency: Concurrency;
  /** Absent: there is no archive. */
  readonly archiveStream: ArchiveCounts | undefined;
  readonly workerId: string;
}

/** What the worker counts, from its first signal on, and what it shows once its parts are there. */
export function composeMetrics() {
  const registry = createPromRegistry();
  const shares = new AccountShares(steadyClock);
  const listeners: readonly SignalListener[] = [createPromWorkerMetrics(registry), shares.listen];

  function showGauges(deps: GaugesDeps): void {
    const { redis, quota, slots, concurrency } = deps;
    registerPromProcessGauges(registry, {
      standings: quota.standings,
      ping: () => redis.ping(),
      eventLoopLagMs: watchEventLoop(),
      clock: steadyClock,
    });
    registerPromWorkerGauges(registry, {
      slots,
      readLimits: () => concurrency.limits(),
      largestShares: () => shares.read(),
    });
    registerPromSharedGauges(registry, composeReadings(deps));
  }

  return { registry, listeners, showGauges };
}

function composeReadings(deps: GaugesDeps): SharedReadings {
  const { redis, shards, queueDepth, heldCounts, openBreakers, archiveStream, workerId } = deps;
  const oldestWaiting = createShardedOldestWaiting(redis, shards);
  return new SharedReadings(
    createRedisReadingsStore(redis, workerId),
    sharedSources({
      readDepths: () => queueDepth.read(),
      readOldestWaiting: () => oldestWaiting.read(systemClock()),
      readHeld: heldCounts.read,
      countDisabledEndpoints: createCountDisabled(deps),
      countOpenBreakers: () => openBreakers.count(systemClock()),
      readRedisLoads: () => readRedisLoads(redis),
      archive: archiveStream,
    }),
  );
}
