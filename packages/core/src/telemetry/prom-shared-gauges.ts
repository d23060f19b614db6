import type { Registry } from 'prom-client';
import { z } from 'zod';
import { holdReasons } from '../domain/delivery';
import { DEAD_LETTERS_QUEUE, workedQueues } from '../domain/queues';
import { mastersOf, type RedisClient } from '../platform/redis-connect';
import { fieldOf, replicasIn } from '../platform/redis-safety';
import { answerWithin } from '../platform/timers';
import { pausableQueues } from '../queue/bullmq-paused-queues';
import {
  jobStates,
  type OldestWaiting,
  type QueueDepth,
  type QueuePause,
} from '../queue/bullmq-queue-standings';
import type { ScheduledStanding } from '../queue/bullmq-scheduled-queue';
import type { HeldCounts } from '../queue/redis-held-counts';
import { gauge, type PromGauge, registerPromGauges, type Sample, samplesOf } from './prom-gauges';
import { saveReadings, takeTurn } from './prom-shared-gauges.script';

const SAME = 'The same for every worker: aggregate with max, not sum. Missing while Redis is away.';
/** What Redis writes to its disk, with the field of INFO that has how the last try ended. */
const diskFields = {
  append: 'aof_last_write_status',
  rewrite: 'aof_last_bgrewrite_status',
  snapshot: 'rdb_last_bgsave_status',
} as const;
type DiskWrite = keyof typeof diskFields;
const diskWrites = Object.keys(diskFields) as readonly DiskWrite[];

const ofNodes = {
  node: 'the masters of a Cluster, counted from 0 in the order of their addresses; `0` of any other Redis',
};

export interface SharedSources {
  readonly readDepths: () => Promise<readonly QueueDepth[]>;
  readonly readOldestWaiting: () => Promise<readonly OldestWaiting[]>;
  readonly readPaused: () => Promise<readonly QueuePause[]>;
  readonly readHeld: HeldCounts['read'];
  readonly countDisabledEndpoints: () => Promise<number>;
  readonly countOpenBreakers: () => Promise<number>;
  /** Of each server. Called once for each gauge: cache the reading for a moment. */
  readonly readRedisLoads: () => Promise<readonly RedisLoad[]>;
  /** When it was found that Redis went back, the newest time first. Milliseconds since the Unix epoch. */
  readonly readRollbacks: () => Promise<readonly { readonly until: number }[]>;
  /** Called once for each gauge: cache the reading for a moment. */
  readonly readScheduled: () => Promise<ScheduledStanding>;
  /** Absent: there is no history. */
  readonly history?: HistoryStanding | undefined;
}

/** What waits to move to the history. */
export interface HistoryStanding {
  count(): Promise<number>;
  /** How long one waits beyond its time, the one that does so for longest. Milliseconds. */
  lateMs(): Promise<number>;
  countRefused(): Promise<number>;
  /** Accepted events that Redis has lost, and that wait for their webhooks. */
  countOwed(): Promise<number>;
}

/**
 * The gauges that are the same for all workers, and that one of them reads. No reading takes longer with more
 * data.
 */
export const sharedGauges: readonly PromGauge<SharedSources>[] = [
  gauge({
    name: 'webhooks_queue_jobs',
    help: `Jobs in a queue, by state. ${SAME}`,
    labels: { queue: [...workedQueues, DEAD_LETTERS_QUEUE], state: jobStates },
    read: async ({ readDepths }) =>
      (await readDepths()).map(({ jobs: value, ...labels }) => ({ labels, value })),
  }),
  gauge({
    name: 'webhooks_queue_oldest_waiting_seconds',
    help: `Waiting time of the oldest of the 1,000 jobs of a queue that are taken next; 0 if none waits. Retries and released deliveries count from when they were put back. ${SAME}`,
    labels: { queue: workedQueues },
    read: async ({ readOldestWaiting }) =>
      (await readOldestWaiting()).map(({ queue, waitedMs }) => ({
        labels: { queue },
        value: waitedMs / 1_000,
      })),
  }),
  gauge({
    name: 'webhooks_queue_paused',
    help: `1 while an operator has paused a queue: no worker takes its jobs. Otherwise 0. ${SAME}`,
    labels: { queue: pausableQueues },
    read: async ({ readPaused }) =>
      (await readPaused()).map(({ queue, isPaused }) => ({ labels: { queue }, value: isPaused ? 1 : 0 })),
  }),
  gauge({
    name: 'webhooks_held_deliveries',
    help: `Deliveries that are held now. All held deliveries of a webhook count for the reason of its last one. ${SAME}`,
    labels: { reason: holdReasons },
    read: async ({ readHeld }) =>
      Object.entries(await readHeld()).map(([reason, value]) => ({ labels: { reason }, value })),
  }),
  gauge({
    name: 'webhooks_scheduled_events',
    help: `Scheduled events that have not been sent, those that are due included. ${SAME}`,
    read: async ({ readScheduled }) => (await readScheduled()).waiting,
  }),
  gauge({
    name: 'webhooks_scheduled_overdue_seconds',
    help: `How long the oldest scheduled event has been due that no worker has taken; 0 if there is none. ${SAME}`,
    read: async ({ readScheduled }) => (await readScheduled()).overdueMs / 1_000,
  }),
  gauge({
    name: 'webhooks_disabled_endpoints',
    help: `Webhooks that are disabled now. ${SAME}`,
    read: ({ countDisabledEndpoints }) => countDisabledEndpoints(),
  }),
  gauge({
    name: 'webhooks_open_breakers',
    help: `Webhooks whose circuit breaker is open now, or has waited for its probe for less than a minute. ${SAME}`,
    read: ({ countOpenBreakers }) => countOpenBreakers(),
  }),
  gauge({
    name: 'webhooks_redis_evicts',
    help: `1 if Redis deletes data once its memory is full: its maxmemory-policy is not noeviction. ${SAME}`,
    read: async ({ readRedisLoads: read }) => ((await read()).some(({ evicts }) => evicts) ? 1 : 0),
  }),
  gauge({
    name: 'webhooks_redis_memory_used_bytes',
    help: `Redis' used_memory. ${SAME}`,
    labels: ofNodes,
    read: async ({ readRedisLoads: read }) => byNode(await read(), ({ usedBytes }) => usedBytes),
  }),
  gauge({
    name: 'webhooks_redis_memory_max_bytes',
    help: `Redis' maxmemory. Missing where none is set. ${SAME}`,
    labels: ofNodes,
    read: async ({ readRedisLoads: read }) => byNode(await read(), ({ maxBytes }) => maxBytes),
  }),
  gauge({
    name: 'webhooks_redis_cpu_seconds',
    help: `CPU time that Redis has used since its start, of user and system. Its rate is the share of a core. Take the rate of each process, then max. ${SAME}`,
    labels: ofNodes,
    read: async ({ readRedisLoads: read }) => byNode(await read(), ({ cpuSeconds }) => cpuSeconds),
  }),
  gauge({
    name: 'webhooks_redis_replicas',
    help: `Replicas of Redis that are connected and have its data: those that only copy it are left out. ${SAME}`,
    labels: ofNodes,
    read: async ({ readRedisLoads: read }) => byNode(await read(), ({ replicas }) => replicas?.length),
  }),
  gauge({
    name: 'webhooks_redis_replica_silent_seconds',
    help: `How long the most silent of these replicas has confirmed nothing; each does so every second. Missing without a replica. ${SAME}`,
    labels: ofNodes,
    read: async ({ readRedisLoads: read }) =>
      byNode(await read(), ({ replicas }) => highest(replicas, ({ silentS }) => silentS)),
  }),
  gauge({
    name: 'webhooks_redis_replica_behind_bytes',
    help: `Bytes of writes that the last of these replicas has not confirmed: a fail-over to it would lose them. Missing without a replica. ${SAME}`,
    labels: ofNodes,
    read: async ({ readRedisLoads: read }) =>
      byNode(await read(), ({ replicas }) => highest(replicas, ({ behindBytes }) => behindBytes)),
  }),
  gauge({
    name: 'webhooks_redis_disk_failed',
    help: `1 if Redis' last try to write to its disk failed, by what it wrote: a piece of the append-only file, the whole file again, or a snapshot. Otherwise 0. ${SAME}`,
    labels: { ...ofNodes, write: diskWrites },
    read: async ({ readRedisLoads: read }) =>
      (await read()).flatMap(({ diskFailed }, index) =>
        Object.entries(diskFailed).map(([write, hasFailed]) => ({
          labels: { node: String(index), write },
          value: Number(hasFailed),
        })),
      ),
  }),
  gauge({
    name: 'webhooks_redis_rolled_back_timestamp_seconds',
    help: `When it was found that Redis had gone back to an earlier state, the last time, as a Unix time. Missing if it never was. ${SAME}`,
    read: async ({ readRollbacks }) =>
      (await readRollbacks()).slice(0, 1).map(({ until }) => ({ labels: {}, value: until / 1_000 })),
  }),
  gauge({
    name: 'webhooks_history_backlog',
    help: `Finished deliveries that are still in Redis, those that are not due to move included. Only with HISTORY_DATABASE_URL. ${SAME}`,
    read: async ({ history }) => (await history?.count()) ?? [],
  }),
  gauge({
    name: 'webhooks_history_backlog_age_seconds',
    help: `How long, beyond HISTORY_MOVE_AFTER, the oldest finished delivery has waited to move to the history. Only with HISTORY_DATABASE_URL. ${SAME}`,
    read: async ({ history }) => (history ? (await history.lateMs()) / 1_000 : []),
  }),
  gauge({
    name: 'webhooks_history_put_aside',
    help: `Deliveries that the history refused. They stay in Redis until hookferry-admin history retry-refused. Only with HISTORY_DATABASE_URL. ${SAME}`,
    read: async ({ history }) => (await history?.countRefused()) ?? [],
  }),
  gauge({
    name: 'webhooks_intake_owed',
    help: `Accepted events that Redis has lost, with their webhooks, so that they can't be sent again yet. Only with HISTORY_DATABASE_URL; missing while PostgreSQL is away. ${SAME}`,
    read: async ({ history }) =>
      (history && (await answerWithin(PATIENCE_MS / 2, history.countOwed()))) ?? [],
  }),
];

function byNode(
  loads: readonly RedisLoad[],
  valueOf: (load: RedisLoad) => number | undefined,
): readonly Sample[] {
  return loads.flatMap((load, index) => {
    const value = valueOf(load);
    return value === undefined ? [] : [{ labels: { node: String(index) }, value }];
  });
}

function highest(
  replicas: readonly Replica[] = [],
  valueOf: (replica: Replica) => number,
): number | undefined {
  return replicas.length === 0 ? undefined : Math.max(...replicas.map(valueOf));
}

export function registerPromSharedGauges(registry: Registry, readings: SharedReadings<SharedSources>): void {
  const read = sharedGauges.map((definition) => ({
    ...definition,
    read: async () => (await readings.current()).filter(({ name }) => name === definition.name),
  }));
  registerPromGauges(registry, read, undefined);
}

// A gauge that can't be read must not hide the others: it is given up before the scrape is.
const PATIENCE_MS = 500;

/**
 * The numbers that are the same for all workers, read by one of them: the first one that is scraped once the
 * last numbers have expired. Nothing is read without a scrape. A worker that is short of CPU may be late with its turn, or read
 * in part: then the others read for themselves, or alerts would take Redis to be away.
 */
export class SharedReadings<Sources> {
  #underWay: Promise<Readings> | undefined;

  constructor(
    private readonly store: ReadingsStore,
    private readonly gauges: readonly PromGauge<Sources>[],
    private readonly sources: Sources,
  ) {}

  /** Concurrent callers, such as the gauges of a scrape, share one reading. Empty without any. */
  async current(): Promise<Readings> {
    this.#underWay ??= this.#readInTurn().finally(() => {
      this.#underWay = undefined;
    });
    return await this.#underWay;
  }

  async #readInTurn(): Promise<Readings> {
    const { isOurs, latest } = await this.store.takeTurn();
    if (!isOurs && latest !== undefined) return latest;
    const found = await Promise.all(this.gauges.map((each) => this.#read(each)));
    const readings = found.flatMap((each) => each ?? []);
    if (isOurs && !found.includes(undefined)) await this.store.save(readings);
    return readings;
  }

  /** Undefined: it could not be read in time. */
  async #read({ name, read }: PromGauge<Sources>): Promise<Readings | undefined> {
    const shown = await answerWithin(PATIENCE_MS, (async () => ({ found: await read(this.sources) }))());
    return shown && samplesOf(shown.found ?? []).map((sample) => ({ name, ...sample }));
  }
}

const readingSchema = z.object({
  /** Of the metric. */
  name: z.string(),
  labels: z.record(z.string(), z.string()),
  value: z.number(),
});
const readingsSchema = z.array(readingSchema).readonly();
type Readings = z.infer<typeof readingsSchema>;

/** The worker whose turn it is to read, and the last readings, unless they are too old. */
interface ReadingsTurn {
  readonly isOurs: boolean;
  readonly latest: Readings | undefined;
}

/** A reading is valid for this long, for all workers. */
const READ_EVERY_MS = 5_000;
/** Older numbers are not shown: a missing number is better than one that stands still. */
const KEPT_MS = 3 * READ_EVERY_MS;

/** The readings that one worker makes for all of them. */
export class ReadingsStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly workerId: string,
  ) {}

  /** A turn lasts as long as its readings are valid, even when its worker dies. */
  async takeTurn(): Promise<ReadingsTurn> {
    const turn = { caller: this.workerId, turnMs: READ_EVERY_MS };
    const { isOurs, latest: text } = await takeTurn(turn)(this.redis);
    return { isOurs, latest: text === undefined ? undefined : readingsSchema.parse(JSON.parse(text)) };
  }

  /** Has no effect once the turn is over. */
  async save(readings: Readings): Promise<void> {
    const saved = { caller: this.workerId, text: JSON.stringify(readings), keptMs: KEPT_MS };
    await saveReadings(saved)(this.redis);
  }
}

/** How full and how busy one server is. Undefined: it does not say. */
export interface RedisLoad {
  readonly usedBytes: number | undefined;
  /** Undefined also if it may use all memory of its machine. */
  readonly maxBytes: number | undefined;
  /** Since it started. */
  readonly cpuSeconds: number | undefined;
  readonly evicts: boolean;
  /** Those that have its data. */
  readonly replicas: readonly Replica[] | undefined;
  readonly diskFailed: Readonly<Partial<Record<DiskWrite, boolean>>>;
}

interface Replica {
  /** Since it last confirmed what it has. */
  readonly silentS: number;
  /** What it has not confirmed of its master's writes. */
  readonly behindBytes: number;
}

/** Of each server that holds keys, in the order of their addresses: the same for every caller. */
export async function readRedisLoads(redis: RedisClient): Promise<readonly RedisLoad[]> {
  const masters = [...mastersOf(redis)].toSorted(([left], [right]) => (left < right ? -1 : 1));
  return await Promise.all(masters.map(async ([, master]) => loadIn(await master.info())));
}

/** @param info the text of Redis' INFO. */
export function loadIn(info: string): RedisLoad {
  const numberOf = (field: string) => {
    const text = fieldOf(info, field);
    return text === undefined ? undefined : Number(text);
  };
  const policy = fieldOf(info, 'maxmemory_policy');
  const [system, user] = [numberOf('used_cpu_sys'), numberOf('used_cpu_user')];
  return {
    usedBytes: numberOf('used_memory'),
    maxBytes: numberOf('maxmemory') || undefined,
    cpuSeconds: system === undefined || user === undefined ? undefined : system + user,
    evicts: policy !== undefined && policy !== 'noeviction',
    replicas: replicasOf(info),
    diskFailed: Object.fromEntries(
      diskWrites.flatMap((write) => {
        const status = fieldOf(info, diskFields[write]);
        return status === undefined ? [] : [[write, status !== 'ok'] as const];
      }),
    ),
  };
}

function replicasOf(info: string): readonly Replica[] | undefined {
  const written = Number(fieldOf(info, 'master_repl_offset') ?? 0);
  return replicasIn(info)?.map(({ offset, lagS }) => ({
    silentS: Math.max(lagS, 0),
    behindBytes: Math.max(written - offset, 0),
  }));
}
