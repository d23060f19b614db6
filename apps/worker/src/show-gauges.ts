import type { Core } from '@hookferry/core/core/open-core';
import type { Concurrency } from '@hookferry/core/deliver/flow/concurrency';
import type { Slots } from '@hookferry/core/deliver/flow/slots';
import { countDisabled } from '@hookferry/core/endpoints/disable';
import { steadyClock } from '@hookferry/core/platform/clock';
import type { RedisClock } from '@hookferry/core/platform/redis-clock';
import type { RedisClient } from '@hookferry/core/platform/redis-connect';
import { createKeepFor } from '@hookferry/core/platform/timers';
import { registerPromGauges } from '@hookferry/core/telemetry/prom-gauges';
import { processGauges, readEventLoopLagMs } from '@hookferry/core/telemetry/prom-registry';
import {
  ReadingsStore,
  readRedisLoads,
  registerPromSharedGauges,
  SharedReadings,
  sharedGauges,
} from '@hookferry/core/telemetry/prom-shared-gauges';
import { type AccountShares, workerGauges } from '@hookferry/core/telemetry/prom-worker-gauges';
import type { Registry } from 'prom-client';

export interface GaugeParts {
  readonly stores: Core['stores'];
  readonly redis: RedisClient;
  readonly redisClock: RedisClock;
  readonly workerId: string;
  readonly slots: Slots;
  readonly concurrency: Concurrency;
  readonly shares: AccountShares;
  /** How long after its end a delivery moves to the history. */
  readonly moveAfterMs: number;
}

// One reading serves several gauges.
const LOADS_KEPT_MS = 1_000;

/** Show the state of the worker and its Redis whenever metrics are requested. */
export function showGauges(registry: Registry, parts: GaugeParts): void {
  const { stores, redis, redisClock, workerId, slots, concurrency, shares, moveAfterMs } = parts;
  const { quota, standings, heldCounts, scheduledQueue, openBreakers, overList, clock } = stores;
  registerPromGauges(registry, processGauges, {
    standings: () => quota.standings(),
    ping: () => redis.ping(),
    eventLoopLagMs: () => readEventLoopLagMs(registry),
    skewMs: () => redisClock.skewMs,
    clock: steadyClock,
  });
  registerPromGauges(registry, workerGauges, { slots, concurrency, shares });
  const readings = new SharedReadings(new ReadingsStore(redis, workerId), sharedGauges, {
    readDepths: () => standings.readDepths(),
    readOldestWaiting: () => standings.readOldestWaiting(clock()),
    readHeld: () => heldCounts.read(),
    readScheduled: createKeepFor(LOADS_KEPT_MS, () => scheduledQueue.readStanding(), steadyClock),
    countDisabledEndpoints: () => countDisabled(stores),
    countOpenBreakers: () => openBreakers.count(clock()),
    readRedisLoads: createKeepFor(LOADS_KEPT_MS, () => readRedisLoads(redis), steadyClock),
    history: overList && {
      count: () => overList.count(),
      lateMs: async () => Math.max(clock() - moveAfterMs - ((await overList.oldest()) ?? clock()), 0),
      countAside: () => overList.countAside(),
    },
  });
  registerPromSharedGauges(registry, readings);
}
