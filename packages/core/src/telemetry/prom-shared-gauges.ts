import type { Registry } from 'prom-client';
import { z } from 'zod';
import { holdReasons } from '../domain/delivery';
import { keys } from '../domain/keys';
import { DEAD_LETTERS_QUEUE, workedQueues } from '../domain/queues';
import { mastersOf, type RedisClient } from '../platform/redis-connect';
import { defineScript } from '../platform/redis-script';
import { answerWithin } from '../platform/timers';
import { jobStates, type OldestWaiting, type QueueDepth } from '../queue/bullmq-queue-standings';
import type { HeldCounts } from '../queue/redis-held-counts';
import {
  gaugeDefinition,
  type MetricDefinition,
  type MetricLabels,
  one,
  registerPromGauge,
  type Sample,
} from './prom-gauges';

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

/** Reads the numbers of one metric, or of several that are told of together. */
export interface ReadingSource {
  read(): Promise<Readings>;
}

// A source that does not answer must not keep the others from being shown: it is given up before whoever asks gives up.
const PATIENCE_MS = 500;

/**
 * The numbers that are the same whoever reads them, read by one worker for all: whoever is asked for them first once the
 * last ones are no longer good. Nothing is read while nobody asks.
 */
export class SharedReadings {
  readonly #sources: readonly ReadingSource[];
  readonly #store: ReadingsStore;
  #underWay: Promise<Readings> | undefined;

  constructor(store: ReadingsStore, sources: readonly ReadingSource[]) {
    this.#store = store;
    this.#sources = sources;
  }

  /** Those who ask at the same time, as the gauges of a scrape do, share one answer. Empty if there are none. */
  async current(): Promise<Readings> {
    this.#underWay ??= this.#readInTurn().finally(() => {
      this.#underWay = undefined;
    });
    return await this.#underWay;
  }

  async #readInTurn(): Promise<Readings> {
    const { isOurs, latest } = await this.#store.takeTurn();
    if (!isOurs) return latest ?? [];
    const readings = await this.#readAll();
    await this.#store.save(readings);
    return readings;
  }

  async #readAll(): Promise<Readings> {
    const all = this.#sources.map(async ({ read }) => (await answerWithin(PATIENCE_MS, read())) ?? []);
    return (await Promise.all(all)).flat();
  }
}

const readingSchema = z.object({
  /** Of the metric. */
  name: z.string(),
  labels: z.record(z.string(), z.string()),
  value: z.number(),
});
/** A number that is the same whoever reads it. */
export type Reading = Readonly<z.infer<typeof readingSchema>>;

const readingsSchema = z.array(readingSchema).readonly();
export type Readings = z.infer<typeof readingsSchema>;

/** Whose turn it is to read, and what was read last, if that is not too long ago. */
export interface ReadingsTurn {
  readonly isOurs: boolean;
  readonly latest: Readings | undefined;
}

/** A reading is good for so long, for everybody. */
const READ_EVERY_MS = 5_000;
/** What is older is not shown any more: rather no number than one that stands still. */
const KEPT_MS = 3 * READ_EVERY_MS;

// KEYS: turn, readings. ARGV: who asks, how long a turn lasts.
const TAKE_TURN = defineScript(`
  local is_ours = redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
  return {is_ours and 1 or 0, redis.call('GET', KEYS[2]) or ''}`);

// Whoever took longer than a turn may be overtaken. KEYS: turn, readings. ARGV: who saves, readings, how long to keep them.
const SAVE = defineScript(`
  if redis.call('GET', KEYS[1]) ~= ARGV[1] then return end
  redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])`);

const turnSchema = z.tuple([z.number(), z.string()]);

/** What one worker reads for all of them. */
export function createRedisReadingsStore(redis: RedisClient, workerId: string) {
  const scriptKeys = [keys.readingsTurn, keys.readings];
  return {
    /** A turn lasts as long as its readings are good, also when whoever has it dies. */
    async takeTurn(): Promise<ReadingsTurn> {
      const reply = await TAKE_TURN(redis, scriptKeys, [workerId, READ_EVERY_MS]);
      const [isOurs, text] = turnSchema.parse(reply);
      const latest = text === '' ? undefined : readingsSchema.parse(JSON.parse(text));
      return { isOurs: isOurs === 1, latest };
    },

    /** Has no effect once the turn is over. */
    async save(readings: Readings): Promise<void> {
      await SAVE(redis, scriptKeys, [workerId, JSON.stringify(readings), KEPT_MS]);
    },
  };
}

export type ReadingsStore = ReturnType<typeof createRedisReadingsStore>;

/** How full and how busy one server is. Undefined: it does not say. */
export interface RedisLoad {
  readonly usedBytes: number | undefined;
  /** Undefined also if it may take as much as its machine has. */
  readonly maxBytes: number | undefined;
  /** Since it started. */
  readonly cpuSeconds: number | undefined;
  readonly evicts: boolean;
}

/** Of each server that holds keys, in the order of their addresses: the same for whoever asks. */
export async function readRedisLoads(redis: RedisClient): Promise<readonly RedisLoad[]> {
  const masters = [...mastersOf(redis)].toSorted(([left], [right]) => (left < right ? -1 : 1));
  return await Promise.all(masters.map(async ([, master]) => loadIn(await master.info())));
}

/** @param info what Redis says of itself. */
export function loadIn(info: string): RedisLoad {
  const textOf = (field: string) => new RegExp(`^${field}:(\\S+)`, 'm').exec(info)?.[1];
  const numberOf = (field: string) => {
    const text = textOf(field);
    return text === undefined ? undefined : Number(text);
  };
  const policy = textOf('maxmemory_policy');
  const [system, user] = [numberOf('used_cpu_sys'), numberOf('used_cpu_user')];
  return {
    usedBytes: numberOf('used_memory'),
    maxBytes: numberOf('maxmemory') || undefined,
    cpuSeconds: system === undefined || user === undefined ? undefined : system + user,
    evicts: policy !== undefined && policy !== 'noeviction',
  };
}
