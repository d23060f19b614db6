import { monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { QuotaStandings } from '../domain/usage';
import { gauge, type MetricDefinition, type PromGauge } from './prom-gauges';
import { sharedGauges } from './prom-shared-gauges';
import { apiSignalMetrics, workerSignalMetrics } from './prom-signal-metrics';
import { workerGauges } from './prom-worker-gauges';

const OF_ACCOUNTS =
  'Of accounts that this process heard of within the last hour. Each process has its own: aggregate with max, not sum.';

export interface ProcessSources {
  readonly standings: () => QuotaStandings;
  readonly ping: () => Promise<unknown>;
  /** Milliseconds. */
  readonly eventLoopLagMs: () => number;
  /** Milliseconds, of a clock that never jumps. */
  readonly clock: () => number;
}

/** The gauges that each process has of itself. */
export const processGauges: readonly PromGauge<ProcessSources>[] = [
  gauge({
    name: 'webhooks_accounts_used_bytes',
    help: `Bytes that are stored. ${OF_ACCOUNTS}`,
    read: ({ standings }) => standings().usedBytes,
  }),
  gauge({
    name: 'webhooks_accounts_near_quota',
    help: `Those that store 80 % or more of what they may. ${OF_ACCOUNTS}`,
    read: ({ standings }) => standings().near,
  }),
  gauge({
    name: 'webhooks_accounts_over_quota',
    help: `Those that store as much as they may. ${OF_ACCOUNTS}`,
    read: ({ standings }) => standings().over,
  }),
  gauge({
    name: 'webhooks_redis_ping_seconds',
    help: 'Time that Redis took to answer this process a moment ago, its own event loop included. Missing while Redis is away.',
    async read({ ping, clock }) {
      const askedAt = clock();
      await ping();
      return (clock() - askedAt) / 1_000;
    },
  }),
  gauge({
    name: 'webhooks_event_loop_lag_seconds',
    help: 'How late the event loop is: the 99th percentile since the last scrape, looked at every 250 ms.',
    read: ({ eventLoopLagMs }) => eventLoopLagMs() / 1_000,
  }),
];

/** Every metric of the product that the API serves. */
export const apiMetrics: readonly MetricDefinition[] = [...apiSignalMetrics, ...processGauges];

/** Every metric of the product that a worker serves. */
export const workerMetrics: readonly MetricDefinition[] = [
  ...workerSignalMetrics,
  ...processGauges,
  ...workerGauges,
  ...sharedGauges,
];

/**
 * Make the registry that a process serves to Prometheus, with prom-client's metrics of Node.js and of the
 * process.
 */
export function createPromRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_LOOK_MS });
  return registry;
}

/** Its default, 10 ms, is half the cost of an idle process. */
export const EVENT_LOOP_LOOK_MS = 250;

const NS_PER_MS = 1e6;

/**
 * Measure how late timers fire. Node.js reports the time from one check to the next, including its interval,
 * so an idle process seems to be late by it.
 *
 * @returns a function that gives the 99th percentile since its last call, in milliseconds.
 */
export function watchEventLoop(): () => number {
  const histogram = monitorEventLoopDelay({ resolution: EVENT_LOOP_LOOK_MS });
  histogram.enable();
  return () => {
    const betweenLooksMs = histogram.percentile(99) / NS_PER_MS;
    histogram.reset();
    return Math.max(betweenLooksMs - EVENT_LOOP_LOOK_MS, 0);
  };
}
