import type { Registry } from 'prom-client';
import type { HeldCounts } from '../admission/redis-held-counts';
import { holdReasons } from '../model/hold-reason';
import { DEAD_LETTERS_QUEUE, workedQueues } from '../model/queue-names';
import type { OldestWaiting } from '../queue/bullmq-oldest-waiting';
import { jobStates, type QueueDepth } from '../queue/bullmq-queue-depth';
import type { MetricDefinition, MetricLabels } from './metric-definition';
import { gaugeDefinition, one, registerPromGauge, type Sample } from './prom-gauges';
import type { RedisLoad } from './redis-load';
import type { Readings } from './redis-readings-store';
import type { ReadingSource, SharedReadings } from './shared-readings';

const SAME = 'The same for every worker: aggregate with max, not sum. Missing while Redis is away.';
const shared = (name: string, help: string, labels: MetricLabels = {}) =>
  gaugeDefinition(name, `${help} ${SAME}`, labels);

const queueJobs = shared('webhooks_queue_jobs', 'Jobs in a queue, by state.', {
  queue: [...workedQueues, DEAD_LETTERS_QUEUE],
  state: jobStates,
});
const oldestWaiting = shared(
  'webhooks_queue_oldest_waiting_seconds',
  'How long the job that has waited for the longest has done so, of the 1,000 of its queue that are taken next; 0 if none waits. Retries and released deliveries count from when they were put back.',
  { queue: workedQueues },
);
const heldDeliveries = shared(
  'webhooks_held_deliveries',
  'Deliveries that are held now. Those of a webhook all count for the reason for which its last one was held.',
  { reason: holdReasons },
);
const disabledEndpoints = shared('webhooks_disabled_endpoints', 'Webhooks that are disabled now.');
const openBreakers = shared(
  'webhooks_open_breakers',
  'Webhooks whose circuit breaker is open now, or has waited for its probe for less than a minute.',
);
const redisEvicts = shared(
  'webhooks_redis_evicts',
  '1 when Redis throws data away once its memory is full: its maxmemory-policy is not noeviction.',
);
const node = {
  node: 'the masters of a Cluster, counted from 0 in the order of their addresses; `0` of any other Redis',
};
const redisMemoryUsed = shared('webhooks_redis_memory_used_bytes', "Redis' used_memory.", node);
const redisMemoryMax = shared(
  'webhooks_redis_memory_max_bytes',
  "Redis' maxmemory. Missing where none is set.",
  node,
);
const redisCpu = shared(
  'webhooks_redis_cpu_seconds',
  'CPU time that Redis has used since its start, of user and system. Its rate is the share of a core: take the rate of each, then max.',
  node,
);
const archiveBacklog = shared(
  'webhooks_archive_backlog',
  "Attempts that wait to be archived, in Redis' memory. Only with ARCHIVE_DATABASE_URL.",
);
const archivePutAside = shared(
  'webhooks_archive_put_aside',
  "Attempts that the archive's table did not take, in Redis' memory until somebody has them archived. Only with ARCHIVE_DATABASE_URL.",
);

/** What is the same for all workers, and is read by one of them. */
export const sharedGauges: readonly MetricDefinition[] = [
  queueJobs,
  oldestWaiting,
  heldDeliveries,
  disabledEndpoints,
  openBreakers,
  redisEvicts,
  redisMemoryUsed,
  redisMemoryMax,
  redisCpu,
  archiveBacklog,
  archivePutAside,
];

export interface SharedGaugeSources {
  readonly readDepths: () => Promise<readonly QueueDepth[]>;
  readonly readOldestWaiting: () => Promise<readonly OldestWaiting[]>;
  readonly readHeld: HeldCounts['read'];
  readonly countDisabledEndpoints: () => Promise<number>;
  readonly countOpenBreakers: () => Promise<number>;
  /** Of each server. */
  readonly readRedisLoads: () => Promise<readonly RedisLoad[]>;
  /** Absent: there is no archive. */
  readonly archive?: ArchiveCounts | undefined;
}

export interface ArchiveCounts {
  count(): Promise<number>;
  countAside(): Promise<number>;
}

/** How each of them is read. None takes longer when there is more to count. */
export function sharedSources(sources: SharedGaugeSources): readonly ReadingSource[] {
  const { archive } = sources;
  return [
    sourceOf(queueJobs, async () =>
      (await sources.readDepths()).map(({ jobs: value, ...labels }) => ({ labels, value })),
    ),
    sourceOf(oldestWaiting, async () =>
      (await sources.readOldestWaiting()).map(({ queue, waitedMs }) => ({
        labels: { queue },
        value: waitedMs / 1_000,
      })),
    ),
    sourceOf(heldDeliveries, async () =>
      Object.entries(await sources.readHeld()).map(([reason, value]) => ({ labels: { reason }, value })),
    ),
    sourceOf(disabledEndpoints, async () => one(await sources.countDisabledEndpoints())),
    sourceOf(openBreakers, async () => one(await sources.countOpenBreakers())),
    { read: async () => redisReadings(await sources.readRedisLoads()) },
    ...(archive
      ? [
          sourceOf(archiveBacklog, async () => one(await archive.count())),
          sourceOf(archivePutAside, async () => one(await archive.countAside())),
        ]
      : []),
  ];
}

function sourceOf({ name }: MetricDefinition, read: () => Promise<readonly Sample[]>): ReadingSource {
  return { read: async () => (await read()).map((sample) => ({ name, ...sample })) };
}

function redisReadings(loads: readonly RedisLoad[]): Readings {
  const ofNodes = ({ name }: MetricDefinition, valueOf: (load: RedisLoad) => number | undefined) =>
    loads.flatMap((load, index) => {
      const value = valueOf(load);
      return value === undefined ? [] : [{ name, labels: { node: String(index) }, value }];
    });
  return [
    { name: redisEvicts.name, labels: {}, value: loads.some(({ evicts }) => evicts) ? 1 : 0 },
    ...ofNodes(redisMemoryUsed, ({ usedBytes }) => usedBytes),
    ...ofNodes(redisMemoryMax, ({ maxBytes }) => maxBytes),
    ...ofNodes(redisCpu, ({ cpuSeconds }) => cpuSeconds),
  ];
}

export function registerPromSharedGauges(
  registry: Registry,
  readings: Pick<SharedReadings, 'current'>,
): void {
  for (const definition of sharedGauges) {
    registerPromGauge(registry, definition, async () => {
      const current = await readings.current();
      return current.filter(({ name }) => name === definition.name);
    });
  }
}
