import type { Concurrency } from '@hookferry/core/deliver/flow/concurrency';
import type { Slots } from '@hookferry/core/deliver/flow/slots';
import type { SignalListener } from '@hookferry/core/domain/signal';
import { createCountDisabled } from '@hookferry/core/endpoints/disable';
import { steadyClock, systemClock } from '@hookferry/core/platform/clock';
import type { RedisClient } from '@hookferry/core/platform/redis-connect';
import type { QueueStandings } from '@hookferry/core/queue/bullmq-queue-standings';
import {
  createPromRegistry,
  registerPromProcessGauges,
  watchEventLoop,
} from '@hookferry/core/telemetry/prom-process-gauges';
import {
  type ArchiveCounts,
  createRedisReadingsStore,
  readRedisLoads,
  registerPromSharedGauges,
  SharedReadings,
  sharedSources,
} from '@hookferry/core/telemetry/prom-shared-gauges';
import { createPromWorkerMetrics } from '@hookferry/core/telemetry/prom-signal-metrics';
import { AccountShares, registerPromWorkerGauges } from '@hookferry/core/telemetry/prom-worker-gauges';
import type { Stores } from './open-stores';

export interface GaugesDeps
  extends Pick<Stores, 'quota' | 'heldCounts' | 'openBreakers' | 'disabledEndpoints' | 'endpointStore'> {
  readonly redis: RedisClient;
  readonly standings: QueueStandings;
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
  const { redis, standings, heldCounts, openBreakers, archiveStream, workerId } = deps;
  return new SharedReadings(
    createRedisReadingsStore(redis, workerId),
    sharedSources({
      readDepths: () => standings.readDepths(),
      readOldestWaiting: () => standings.readOldestWaiting(systemClock()),
      readHeld: () => heldCounts.read(),
      countDisabledEndpoints: createCountDisabled(deps),
      countOpenBreakers: () => openBreakers.count(systemClock()),
      readRedisLoads: () => readRedisLoads(redis),
      archive: archiveStream,
    }),
  );
}
