import { collectDefaultMetrics, Registry } from 'prom-client';
import type { AccountQuota } from '../accounts/account-quota';
import { steadyClock } from '../platform/clock';
import type { RedisClock } from '../platform/redis-clock';
import type { RedisClient } from '../platform/redis-connect';
import type { RedisProbe } from '../platform/redis-probe';
import { revisionOf } from '../platform/revision';
import { VERSION } from '../platform/version';
import { gauge, type MetricDefinition, type PromGauge, registerPromGauges } from './prom-gauges';
import { sharedGauges } from './prom-shared-gauges';
import { apiSignalMetrics, workerSignalMetrics } from './prom-signal-metrics';
import { workerGauges } from './prom-worker-gauges';

const OF_ACCOUNTS =
  'Of accounts that this process heard of within the last hour. Each process has its own: aggregate with max, not sum.';

interface ProcessParts {
  readonly quota: Pick<AccountQuota, 'standings'>;
  readonly redis: Pick<RedisClient, 'ping'>;
  readonly redisProbe: Pick<RedisProbe, 'look'>;
  readonly redisClock: Pick<RedisClock, 'skewMs'>;
}

/** What a process runs. */
interface Build {
  readonly service: 'api' | 'worker';
  /** The commit, as far as it is set: see `revisionOf`. */
  readonly revision: string | undefined;
}

interface ProcessSources extends ProcessParts {
  readonly build: Build;
  readonly registry: Registry;
}

/** The gauges that each process has of itself. */
const processGauges: readonly PromGauge<ProcessSources>[] = [
  gauge({
    name: 'webhooks_build_info',
    help: 'Always 1: the labels say what the process runs. `revision` is the commit; empty if it is not known.',
    labels: {
      service: ['api', 'worker'],
      version: 'the version, such as `0.1.0`',
      revision: 'the commit, at most 64 characters',
    },
    read: ({ build: { service, revision } }) => [
      { labels: { service, version: VERSION, revision: revision ?? '' }, value: 1 },
    ],
  }),
  gauge({
    name: 'webhooks_accounts_used_bytes',
    help: `Bytes that all of these accounts store. ${OF_ACCOUNTS}`,
    read: ({ quota }) => quota.standings().usedBytes,
  }),
  gauge({
    name: 'webhooks_accounts_near_quota',
    help: `Accounts that store 80 % of their quota or more. ${OF_ACCOUNTS}`,
    read: ({ quota }) => quota.standings().near,
  }),
  gauge({
    name: 'webhooks_accounts_over_quota',
    help: `Accounts that have reached their quota. ${OF_ACCOUNTS}`,
    read: ({ quota }) => quota.standings().over,
  }),
  gauge({
    name: 'webhooks_redis_ping_seconds',
    help: 'Time that Redis took to reply to this process at the last scrape, the lag of its event loop included. Missing while Redis is away.',
    async read({ redis }) {
      const askedAt = steadyClock();
      await redis.ping();
      return (steadyClock() - askedAt) / 1_000;
    },
  }),
  gauge({
    name: 'webhooks_redis_refuses_writes',
    help: '1 while Redis refuses the writes of this process, 0 while it takes them: tried by a small write at the scrape. It refuses when its memory is full, too few replicas keep up, its disk fails, or it is a replica. Missing while Redis is away.',
    async read({ redisProbe }) {
      const { kind } = await redisProbe.look();
      return kind === 'unavailable' ? [] : Number(kind === 'refuses_writes');
    },
  }),
  gauge({
    name: 'webhooks_event_loop_lag_seconds',
    help: 'Lag of the event loop: the 99th percentile since the last scrape, measured every second.',
    read: async ({ registry }) => (await readEventLoopLagMs(registry)) / 1_000,
  }),
  gauge({
    name: 'webhooks_clock_skew_seconds',
    help: 'By how much the clock of this machine is ahead of that of Redis; negative if it is behind. 0 means that no reply of Redis has shown a difference. Beyond 60 an API accepts no events, and a worker sends nothing. Missing before Redis has told its time.',
    read: ({ redisClock: { skewMs } }) => (skewMs === undefined ? [] : skewMs / 1_000),
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

/** @returns one with the gauges of the process as well. */
export function createProcessRegistry(
  { quota, redis, redisProbe, redisClock }: ProcessParts,
  { service, revision }: Build,
): Registry {
  const registry = createPromRegistry();
  // Told once: it may have to be read from a file.
  const build = { service, revision: revisionOf(revision) };
  registerPromGauges(registry, processGauges, { quota, redis, redisProbe, redisClock, registry, build });
  return registry;
}

/**
 * Each look wakes an idle process, which costs more than the look. At prom-client's default, 10 ms, they are
 * most of what it does.
 */
export const EVENT_LOOP_LOOK_MS = 1_000;

const MS_PER_S = 1_000;

/**
 * How late timers fire, as prom-client measures it for its own metrics: call it in a scrape, after they were
 * collected. Node.js reports the time from one look to the next, including its interval, so an idle process
 * seems to be late by it.
 *
 * @returns the 99th percentile since the last scrape, in milliseconds.
 */
export async function readEventLoopLagMs(registry: Registry): Promise<number> {
  const percentile = registry.getSingleMetric('nodejs_eventloop_lag_p99_seconds');
  const { values } = (await percentile?.get()) ?? { values: [] };
  const betweenLooksMs = (values[0]?.value ?? 0) * MS_PER_S;
  return Math.max(betweenLooksMs - EVENT_LOOP_LOOK_MS, 0);
}
