import { z } from 'zod';
import { keys } from '../domain/keys';
import { parsedOrUndefined } from '../platform/json';
import { type Atomic, createAtomic } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import { listReports, saveReport } from './redis-worker-reports.script';

/** The recent reports of workers. */
export class WorkerReports {
  constructor(
    private readonly redis: RedisClient,
    private readonly atomic: Atomic = createAtomic(redis),
  ) {}

  /** @param patienceMs how long it may wait to go to Redis together with other scripts. */
  async save(report: WorkerReport, patienceMs = 0): Promise<void> {
    const saved = { id: report.id, report: JSON.stringify(report), goodForMs: SEEN_FOR_MS };
    await this.atomic([saveReport(saved)], patienceMs);
  }

  /** Remove the report of a worker that stops, so that it is not listed any more. */
  async remove(id: string): Promise<void> {
    await this.redis.multi().zrem(keys.workers, id).hdel(keys.workerReports, id).exec();
  }

  /** The latest first. A report that a later version has written in another form is left out. */
  async list(): Promise<readonly SeenWorker[]> {
    const found = await listReports({ goodForMs: SEEN_FOR_MS })(this.redis);
    return found.flatMap(({ seenAt, text = '' }) => {
      const report = workerReportSchema.safeParse(parsedOrUndefined(text)).data;
      return report ? { ...report, seenAt } : [];
    });
  }
}

const budgetSchema = z.object({ inUse: z.number(), allowed: z.number() });

/** The regular report of a worker. */
const workerReportSchema = z.object({
  /** As in the log, and in each recorded attempt. */
  id: z.string(),
  /** The machine's name, or the container's. */
  host: z.string(),
  pid: z.number(),
  version: z.string(),
  /** Milliseconds since the Unix epoch. */
  startedAt: z.number(),
  /** Running attempts and their limits: young attempts, and those that take longer. */
  slots: z.object({ quick: budgetSchema, slow: budgetSchema }),
  /** Attempts finished each second since the last report. */
  attemptsPerSecond: z.number(),
  /** Whether it has a server to send mail by. Absent: an earlier version. */
  sendsMail: z.boolean().optional(),
  /** By how much its machine's clock is ahead of Redis. Absent: an earlier version. */
  skewMs: z.number().optional(),
  /** The ids of the keys by which it opens secrets. Absent: an earlier version. */
  sealingKeys: z.array(z.string()).readonly().optional(),
  /** Digests of the settings that all processes must have alike, by their names. Absent: an earlier version. */
  settings: z.record(z.string(), z.string()).optional(),
});
export type WorkerReport = Readonly<z.infer<typeof workerReportSchema>>;

/** A worker that has reported recently. */
export interface SeenWorker extends WorkerReport {
  /** The time of the report. Milliseconds since the Unix epoch. */
  readonly seenAt: number;
}

/** Each worker reports this often. */
export const REPORT_EVERY_MS = 10_000;
/** A worker without a report for this long is gone. */
export const SEEN_FOR_MS = 3 * REPORT_EVERY_MS;
