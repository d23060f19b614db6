import { z } from 'zod';

/**
 * Which form the data of our jobs have, and the latest that this process can read. Data that say nothing have the first: it is
 * what all data had before there was a second. Whoever changes the data so that a process of the version before could not do
 * the job as it should raises this, and writes it into them as `v`.
 */
export const JOB_VERSION = 1;

/** What a job's data say of their form. */
export const jobVersionSchema = z.int().min(1).optional();

const versionedSchema = z.object({ v: jobVersionSchema });

/** The form that a job's data say that they have; the first when they say nothing, or nothing sensible. */
export function versionOfJob(data: unknown): number {
  return versionedSchema.safeParse(data).data?.v ?? 1;
}
