import { z } from 'zod';

const budgetSchema = z.object({ inUse: z.number(), allowed: z.number() });

/** What a worker says of itself, now and then. */
export const workerReportSchema = z.object({
  /** As in the log, and with each attempt on record. */
  id: z.string(),
  /** The machine's name, or the container's. */
  host: z.string(),
  pid: z.number(),
  version: z.string(),
  /** Milliseconds since the Unix epoch. */
  startedAt: z.number(),
  /** Attempts under way, and how many may be: those that have just begun, and those that take longer. */
  slots: z.object({ quick: budgetSchema, slow: budgetSchema }),
  /** Attempts that have come to their end each second, since the report before. */
  attemptsPerSecond: z.number(),
});
export type WorkerReport = Readonly<z.infer<typeof workerReportSchema>>;

/** A worker that has been heard of not long ago. */
export interface SeenWorker extends WorkerReport {
  /** When it said so. Milliseconds since the Unix epoch. */
  readonly seenAt: number;
}

/** So often each worker says how it is. */
export const REPORT_EVERY_MS = 10_000;
/** One that was not heard of for so long is gone. */
export const SEEN_FOR_MS = 3 * REPORT_EVERY_MS;
