import { durationSchema, formatDuration, sentDurationSchema } from '../platform/duration';

export const DAY_MS = 86_400_000;
// Tables have a column for it, of two bytes.
const MOST_DAYS = 10_000;
const WHOLE_DAYS = `must be whole days, from 1d to ${MOST_DAYS}d`;

/** How long what has moved is kept, for all accounts: whole days. The parsed value is in milliseconds. */
export const historyRetentionSchema = durationSchema.refine(isWholeDays, WHOLE_DAYS);

/** The same for one account, from a client. The parsed value is in days. */
export const accountHistoryRetentionSchema = sentDurationSchema
  .refine(isWholeDays, WHOLE_DAYS)
  .transform((ms) => ms / DAY_MS)
  .meta({ example: '30d' });

/** As clients send it, such as `30d`. */
export function formatHistoryRetention(days: number): string {
  return formatDuration(days * DAY_MS);
}

/**
 * Whether the whole day (UTC) of this time is older than it is kept: days go as a whole.
 *
 * @param at and now, milliseconds since the Unix epoch.
 */
export function isDayExpired(at: number, keepDays: number, now: number): boolean {
  return (Math.floor(at / DAY_MS) + keepDays + 1) * DAY_MS <= now;
}

function isWholeDays(ms: number): boolean {
  return ms > 0 && ms % DAY_MS === 0 && ms <= MOST_DAYS * DAY_MS;
}
