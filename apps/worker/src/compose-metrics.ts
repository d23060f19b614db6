import type { Concurrency } from '@hookferry/core/deliver/flow/concurrency';
import type { Slots } from '@hookferry/core/deliver/flow/slots';
import type { SignalListener } from '@hookferry/core/domain/signal';
import { countDisabled } from '@hookferry/core/endpoints/disable';
import { steadyClock, systemClock } from '@hookferry/core/platform/clock';
import type { RedisClient } from '@hookferry/core/platform/redis-connect';
import { createKeepFor } from '@hookferry/core/platform/timers';
import type { QueueStandings } from '@hookferry/core/queue/bullmq-queue-standings';
import { registerPromGauges } from '@hookferry/core/telemetry/prom-gauges';
import { createPromRegistry, processGauges, watchEventLoop } from '@hookferry/core/telemetry/prom-registry';
import {
  type ArchiveCounts,
  ReadingsStore,
  readRedisLoads,
  registerPromSharedGauges,
  SharedReadings,
  type SharedSources,
  sharedGauges,
} from '@hookferry/core/telemetry/prom-shared-gauges';
import {
  registerPromSignalMetrics,
  workerSignalMetrics,
} from '@hookferry/core/telemetry/prom-signal-metrics';
import { AccountShares, workerGauges } from '@hookferry/core/telemetry/prom-worker-gauges';
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
  const listeners: readonly SignalListener[] = [
    registerPromSignalMetrics(registry, workerSignalMetrics),
    shares.listen,
  ];

  function showGauges(deps: GaugesDeps): void {
    const { redis, quota, slots, concurrency } = deps;
    registerPromGauges(registry, processGauges, {
      standings: () => quota.standings(),
      ping: () => redis.ping(),
      eventLoopLagMs: watchEventLoop(),
      clock: steadyClock,
    });
    registerPromGauges(registry, workerGauges, { slots, concurrency, shares });
    registerPromSharedGauges(registry, composeReadings(deps));
  }

  return { registry, listeners, showGauges };
}

// Several gauges show what one reading says.
const KEPT_MS = 1_000;

function composeReadings(deps: GaugesDeps): SharedReadings<SharedSources> {
  const { redis, standings, heldCounts, openBreakers, archiveStream, workerId } = deps;
  return new SharedReadings(new ReadingsStore(redis, workerId), sharedGauges, {
    readDepths: () => standings.readDepths(),
    readOldestWaiting: () => standings.readOldestWaiting(systemClock()),
    readHeld: () => heldCounts.read(),
    countDisabledEndpoints: () => countDisabled(deps),
    countOpenBreakers: () => openBreakers.count(systemClock()),
    readRedisLoads: createKeepFor(KEPT_MS, () => readRedisLoads(redis), steadyClock),
    archive: archiveStream,
  });
}
