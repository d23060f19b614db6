import type { Emit } from '../domain/signal';
import type { Clock } from '../platform/clock';
import { settledWithin, WakeUpTimer } from '../platform/timers';
import type { QueueStandings } from '../queue/bullmq-queue-standings';
import type { HeldCounts } from '../queue/redis-held-counts';
import { type DayStore, type OperationsSample, SAMPLE_EVERY_MS } from './redis-day-store';
import type { WorkerReports } from './redis-worker-reports';

export interface TakeSampleContext {
  readonly standings: Pick<QueueStandings, 'read'>;
  readonly heldCounts: Pick<HeldCounts, 'readByShard'>;
  readonly workerReports: Pick<WorkerReports, 'list'>;
  readonly clock: Clock;
}

/** How queues and workers are now. By counters, and a bounded number of jobs. */
export async function takeSample(context: TakeSampleContext): Promise<OperationsSample> {
  const { standings, heldCounts, workerReports, clock } = context;
  const at = clock();
  const [{ queues }, held, workers] = await Promise.all([
    standings.read(at),
    heldCounts.readByShard(),
    workerReports.list(),
  ]);
  const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
  const budgets = workers.flatMap(({ slots }) => [slots.quick, slots.slow]);
  return {
    at,
    shards: held.map((byReason, shard) => {
      const own = queues.filter((queue) => queue.shard === shard);
      return {
        waiting: sumOf(own.map(({ waiting }) => waiting)),
        delayed: sumOf(own.map(({ delayed }) => delayed)),
        held: sumOf(Object.values(byReason)),
      };
    }),
    oldestWaitedMs: Math.max(0, ...queues.map(({ oldestWaitedMs }) => oldestWaitedMs)),
    workers: workers.length,
    slots: {
      inUse: sumOf(budgets.map(({ inUse }) => inUse)),
      allowed: sumOf(budgets.map(({ allowed }) => allowed)),
    },
    attemptsPerSecond: sumOf(workers.map(({ attemptsPerSecond }) => attemptsPerSecond)),
  };
}

export interface DaySamplerOptions extends TakeSampleContext {
  readonly dayStore: Pick<DayStore, 'lacksSample' | 'addSample'>;
  readonly emit: Emit;
}

// A moment after a time begins, so that it has begun by Redis' clock and by that of each process.
const AFTER_MS = 50;
// Enough for a reply of Redis.
const STOP_PATIENCE_MS = 1_000;

/** Takes a sample every five minutes. Of all workers the one that comes first does. */
export class DaySampler {
  readonly #timer = new WakeUpTimer(async () => {
    await this.runOnce();
    this.#waitForNext();
  });

  constructor(private readonly options: DaySamplerOptions) {}

  start(): void {
    this.#waitForNext();
  }

  async stop(): Promise<void> {
    await settledWithin(STOP_PATIENCE_MS, this.#timer.stop());
  }

  /** Never rejects. */
  async runOnce(): Promise<void> {
    const { dayStore, clock, emit } = this.options;
    try {
      if (await dayStore.lacksSample(clock())) await dayStore.addSample(await takeSample(this.options));
    } catch (error) {
      emit({ name: 'task.failed', task: 'sample the queues and workers', error });
    }
  }

  #waitForNext(): void {
    this.#timer.wakeUpIn(SAMPLE_EVERY_MS - (this.options.clock() % SAMPLE_EVERY_MS) + AFTER_MS);
  }
}
