/**
 * How long a job waits whose endpoint's secrets can't be read. Somebody has to bring the key or mend the record, and
 * until then a job must not use up its starts, of which `bullmq-open-worker.ts` allows a number: this makes a week of them.
 */
export const UNREADABLE_SECRET_DELAY_MS = 60_000;
