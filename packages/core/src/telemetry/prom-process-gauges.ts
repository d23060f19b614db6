import { monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { QuotaStandings } from '../accounts/account-quota';
import { gaugeDefinition, one, registerPromGauge } from './prom-gauges';

const OF_ACCOUNTS =
  'Of accounts that this process heard of within the last hour. Each process has its own: aggregate with max, not sum.';

const usedBytes = gaugeDefinition('webhooks_accounts_used_bytes', `Bytes that are stored. ${OF_ACCOUNTS}`);
const nearQuota = gaugeDefinition(
  'webhooks_accounts_near_quota',
  `Those that store 80 % or more of what they may. ${OF_ACCOUNTS}`,
);
const overQuota = gaugeDefinition(
  'webhooks_accounts_over_quota',
  `Those that store as much as they may. ${OF_ACCOUNTS}`,
);
const redisPing = gaugeDefinition(
  'webhooks_redis_ping_seconds',
  'Time that Redis took to answer this process a moment ago, its own event loop included. Missing while Redis is away.',
);
const eventLoopLag = gaugeDefinition(
  'webhooks_event_loop_lag_seconds',
  'How late the event loop is: the 99th percentile since the last scrape, looked at every 250 ms.',
);

/** What each process shows of itself. */
export const processGauges = [usedBytes, nearQuota, overQuota, redisPing, eventLoopLag];

export interface ProcessGaugeSources {
  readonly standings: () => QuotaStandings;
  readonly ping: () => Promise<unknown>;
  /** Milliseconds. */
  readonly eventLoopLagMs: () => number;
  /** Milliseconds, of a clock that never jumps. */
  readonly clock: () => number;
}

export function registerPromProcessGauges(
  registry: Registry,
  { standings, ping, eventLoopLagMs, clock }: ProcessGaugeSources,
): void {
  registerPromGauge(registry, usedBytes, async () => one(standings().usedBytes));
  registerPromGauge(registry, nearQuota, async () => one(standings().near));
  registerPromGauge(registry, overQuota, async () => one(standings().over));
  registerPromGauge(registry, redisPing, async () => {
    const askedAt = clock();
    await ping();
    return one((clock() - askedAt) / 1_000);
  });
  registerPromGauge(registry, eventLoopLag, async () => one(eventLoopLagMs() / 1_000));
}

/** What a process serves to Prometheus: to begin with, what prom-client knows of Node.js and of the process. */
export function createPromRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_LOOK_MS });
  return registry;
}

/** Its default, 10 ms, is half of what an idle process costs. */
export const EVENT_LOOP_LOOK_MS = 250;

const NS_PER_MS = 1e6;

/**
 * How late timers come. Node.js tells how long it is from one look to the next, the time between them included, so that an
 * idle process seems to be late by it.
 *
 * @returns what gives the 99th percentile since it was asked last, in milliseconds.
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
