import { z } from 'zod';
import { type AppError, type Fault, faultSchema } from '../kernel/app-error';
import type { EventJob } from './read-event-job';

/** What is kept of a job on the events queue that is no valid event: the job as it was, and why it was refused. */
export const rejectedJobSchema = z.object({
  job: z.object({ id: z.string(), name: z.string(), timestamp: z.number(), data: z.unknown() }),
  code: z.string(),
  reason: z.string(),
  errors: z.array(faultSchema).readonly(),
});
export type RejectedJob = Readonly<z.infer<typeof rejectedJobSchema>>;

export function rejectedJobOf(job: EventJob, { code, message, faults }: AppError): RejectedJob {
  return { job, code, reason: message, errors: faults };
}

/** In one line, for people; `reason` refers to `errors`, if there are any. */
export function describeRefusal(reason: string, errors: readonly Fault[]): string {
  if (errors.length === 0) return reason;
  return errors.map(({ pointer, detail }) => `${pointer || "the job's data"} ${detail}`).join('; ');
}

/**
 * Under which id it is kept, and put back: with its time, as there can be another job with the same number when Redis
 * was emptied. One that was put back and is refused again has that time already.
 */
export function rejectedJobId({ id, timestamp }: Pick<EventJob, 'id' | 'timestamp'>): string {
  return withTime(timestamp, originalId({ id, timestamp }));
}

/**
 * Another id for each time that it is put back: the job could be refused again before it is gone from where it was
 * kept, and would go together with what it was.
 */
export function redrivenJobId(job: Pick<EventJob, 'id' | 'timestamp'>, redrivenAt: number): string {
  return withTime(redrivenAt, originalId(job));
}

// The ids of scheduled jobs hold colons, which BullMQ does not take back.
function withTime(time: number, id: string): string {
  return `${time}-${id}`.replaceAll(':', '-');
}

function originalId({ id, timestamp }: Pick<EventJob, 'id' | 'timestamp'>): string {
  const prefix = `${timestamp}-`;
  return id.startsWith(prefix) ? id.slice(prefix.length) : id;
}
