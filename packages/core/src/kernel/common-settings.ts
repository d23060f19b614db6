import { z } from 'zod';
import { durationListSchema, durationSchema, positiveDurationSchema } from './duration';
import { isRedisUrl } from './redis-url';

/** The settings that every process has; each process adds its own. */
export const commonSettings = {
  REDIS_URL: z
    .string()
    .refine(
      isRedisUrl,
      'must be redis://[user:password@]host[:port][/db], redis+sentinel://…host,host/master-name[/db] or ' +
        'redis+cluster://…host,host (rediss for TLS; the password percent-encoded)',
    )
    .default('redis://127.0.0.1:6379'),
  LOG_LEVEL: z.enum(['error', 'warn', 'info', 'debug']).default('info'),
  LOG_FORMAT: z.enum(['json', 'pretty']).optional(),
  /** How long events and what happened to their deliveries are kept. */
  RETENTION: positiveDurationSchema.default(14 * 86_400_000),
  /** How many deliveries an endpoint's list keeps, and how many events an account's. */
  RETENTION_COUNT: z.coerce.number().int().min(1).default(100_000),
  /**
   * How many bytes one account may store, if its operator says nothing else of it; 0: as many as there is room for. Enough
   * for five million events of 1 KiB with a delivery each, and less than what the Redis of most installations can hold: so
   * nobody meets it who does nothing unusual, and one account alone does not fill it.
   */
  ACCOUNT_QUOTA_BYTES: z.coerce
    .number()
    .int()
    .min(0)
    .default(10 * 1024 ** 3),
  /** How long a process may take to finish what it has begun when it is told to stop. */
  SHUTDOWN_TIMEOUT: durationSchema.default(20_000),
};

/** The longest event that is taken in, in bytes of the body that is delivered. */
export const maxEventBytesSchema = z.coerce
  .number()
  .int()
  .min(1_024)
  .max(10 * 1024 * 1024)
  .default(256 * 1024);

export const portSchema = z.coerce.number().int().min(0).max(65_535);

/** `true` or `false`, spelled out: anything else is a fault rather than a guess. */
export const flagSchema = z.enum(['true', 'false']).transform((text) => text === 'true');

export const retryScheduleSchema = durationListSchema;
