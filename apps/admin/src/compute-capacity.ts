/** What a load needs, by what was measured. docs/performance.md explains the formulas. */
import measured from './capacity-figures.json';

export const FIGURES = measured;
export type Figures = typeof FIGURES;

export interface Load {
  /** A day. */
  readonly events: number;
  /** That get an event, on average. */
  readonly webhooks: number;
  /** For how long what has ended is kept: in the history if there is one, else in Redis. */
  readonly days: number;
  readonly hasHistory: boolean;
  /** Of an event's data. */
  readonly payloadBytes: number;
  /** The busiest hour, in averages. */
  readonly peak: number;
  /** For each delivery. */
  readonly attempts: number;
  /** How busy a processor may be. */
  readonly busy: number;
  /** How long receivers take. */
  readonly responseMs: number;
  /** For how long the history may be away. */
  readonly awayHours: number;
  /** The share of the events whose id a client chose. */
  readonly chosenIds: number;
  /** For how long such ids are known. */
  readonly retentionDays: number;
}

const SECONDS_A_DAY = 86_400;
const WORKER_CONCURRENCY = 256 * 5;
// What stands still in Redis before it moves: HISTORY_MOVE_AFTER, and up to ten seconds more.
const MOVE_AFTER_S = 70;
// Scripts, connections and queues of an installation that has nothing to do, rounded up.
const EMPTY_REDIS_BYTES = 50e6;
// Of the data in the benchmarks. What is longer is counted on top.
const MEASURED_PAYLOAD_BYTES = 52;
// maxmemory is a third above what is needed. At three quarters of it the alert fires.
const HEADROOM = 4 / 3;
// While its file is rewritten, Redis copies what changes.
const MEMORY_OF_REWRITE = 2;
// Before it is rewritten the file has grown to twice what it was, and the new one is written beside it.
const FILES_AT_REWRITE = 3;
// The indexes of today, and what is left of the day that is being dropped.
const FREE_DISK = 1.5;
const LEAST_REPLICAS = 2;
const PROCESS_BYTES = 250e6;
const RESPONSE_BYTES_READ = 16_384;
const LOCKS_A_DAY = 4;

/** What something costs an event: much at a low rate, where each does its work alone, little where many share it. */
interface Rated {
  readonly at20: number;
  readonly at100: number;
  readonly saturated: number;
}

/** In all, a second. Between the measured rates it grows evenly; above the highest it grows as the rate does. */
export function totalAt(rate: number, { at20, at100, saturated }: Rated, top: number): number {
  const points = [
    [0, 0],
    [20, 20 * at20],
    [100, 100 * at100],
    [top, top * saturated],
  ] as const;
  for (const [i, [to, total]] of points.entries()) {
    const [from, before] = points[i - 1] ?? [0, 0];
    if (i > 0 && rate <= to) return before + ((total - before) * (rate - from)) / (to - from);
  }
  return rate * saturated;
}

export type Capacity = ReturnType<typeof computeCapacity>;

export function computeCapacity(load: Load, figures: Figures = FIGURES) {
  const { path, scale, history, aof } = figures;
  const averageEvents = load.events / SECONDS_A_DAY;
  const events = averageEvents * load.peak;
  const deliveries = events * load.webhooks;
  const attempts = deliveries * load.attempts;
  const further = Math.max(attempts - events, 0);
  /** @param ofFurther the cost of one more delivery when there are many; few are dearer in the measure in which events are. */
  const coresOf = (part: 'api' | 'worker' | 'redis', ofFurther: number, moving: number) => {
    const ofEvents = totalAt(events, path[part], path.deliveredPerSecond);
    const dearer = ofEvents / (events * path[part].saturated);
    const ofMoving = load.hasHistory ? deliveries * moving : 0;
    return (ofEvents + further * ofFurther * dearer + ofMoving) / 1e6;
  };
  const processes = (cores: number) => Math.max(Math.ceil(cores / load.busy), LEAST_REPLICAS);

  const apiCores = coresOf('api', 0, 0);
  const workerCores = coresOf('worker', scale.workerMicros, history.movingWorkerMicros);
  const redisCores = coresOf('redis', scale.redisMicros, history.movingRedisMicros);
  const underWay = (attempts * load.responseMs) / 1_000;
  const workers = Math.max(processes(workerCores), Math.ceil(underWay / WORKER_CONCURRENCY));
  const masters = Math.max(Math.ceil(redisCores / load.busy), 1);

  const payload = Math.max(load.payloadBytes - MEASURED_PAYLOAD_BYTES, 0);
  const withDeliveries = (event: number, delivery: number, byte: number) =>
    event + Math.max(load.webhooks - 1, 0) * delivery + payload * byte;
  const eventBytes = withDeliveries(aof.memoryOfEvent, aof.memoryOfDelivery, aof.memoryOfByte);
  const writtenBytes = withDeliveries(aof.writtenForEvent, aof.writtenForDelivery, aof.writtenForByte);
  const kept = load.hasHistory
    ? {
        waiting: events * MOVE_AFTER_S * eventBytes,
        away: averageEvents * 3_600 * load.awayHours * eventBytes,
        ids: load.events * load.chosenIds * load.retentionDays * history.idBytes,
      }
    : { all: load.events * load.days * eventBytes };
  const needed = Object.values(kept).reduce((sum, each) => sum + each, EMPTY_REDIS_BYTES);
  const maxmemory = needed * HEADROOM;

  const diskOfEvent =
    history.eventBytes +
    payload +
    load.webhooks * (history.deliveryBytes + load.attempts * history.attemptBytes);
  return {
    atPeak: { events, deliveries, attempts, underWay },
    api: { cores: apiCores, replicas: processes(apiCores), memory: PROCESS_BYTES },
    worker: {
      cores: workerCores,
      replicas: workers,
      memory: PROCESS_BYTES + (underWay / workers) * (load.payloadBytes + RESPONSE_BYTES_READ),
    },
    redis: {
      cores: redisCores,
      masters,
      eventBytes,
      kept,
      needed,
      maxmemory,
      machine: maxmemory * MEMORY_OF_REWRITE,
      writtenBytes,
      writtenADay: load.events * writtenBytes,
      syncs: events * aof.syncsOfEvent + further * aof.syncsOfDelivery,
      disk: maxmemory * aof.rewritten * FILES_AT_REWRITE,
    },
    postgres: load.hasHistory
      ? {
          cores: (deliveries * history.movingPostgresMicros) / 1e6,
          eventBytes: diskOfEvent,
          kept: load.events * load.days * diskOfEvent,
          disk: load.events * load.days * diskOfEvent * FREE_DISK,
          connections: processes(apiCores) * 10 + workers * 6,
          locks: load.days * LOCKS_A_DAY,
        }
      : undefined,
  };
}
