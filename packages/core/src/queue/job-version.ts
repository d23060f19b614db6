import { z } from 'zod';

/**
 * The form of our jobs' data, and the latest that this process can read. Data that say nothing have the first. A change after
 * which an older process would do the job wrongly raises this, and writes it into the data as `v`.
 */
export const JOB_VERSION = 1;

/** What a job's data say of their form. */
export const jobVersionSchema = z.int().min(1).optional();

const versionedSchema = z.object({ v: jobVersionSchema });

/** The form that a job's data say that they have; the first when they say nothing, or nothing sensible. */
export function versionOfJob(data: unknown): number {
  return versionedSchema.safeParse(data).data?.v ?? 1;
}
