import { isRedisUrl } from '@hookferry/producer/contract';
import { z } from 'zod';
import { durationListSchema, durationSchema, positiveDurationSchema } from './duration';

/** Many more than masters that one service can keep busy. Each costs an idle worker two connections. */
export const MAX_SHARDS = 64;

/** The settings that every process has; each process adds its own. */
export const commonSettings = {
  REDIS_URL: z
    .string()
    .refine(
      isRedisUrl,
      'must be redis://[user:password@]host[:port][/db], redis+sentinel://…host,host/master-name[/db] or ' +
        'redis+cluster://…host,host (rediss for TLS; the password percent-encoded)',
    )
    .default('redis://127.0.0.1:6379')
    .describe('also `rediss://`, `redis+sentinel://`, `redis+cluster://`'),
  QUEUE_SHARDS: z.coerce
    .number()
    .int()
    .min(1)
    .max(MAX_SHARDS)
    .default(1)
    .describe(
      'parts that the queues are split into, each on one node of a Redis Cluster: the same for all processes, the last one that starts decides',
    ),
  LOG_LEVEL: z
    .enum(['error', 'warn', 'info', 'debug'])
    .default('info')
    .describe(
      '`debug`: a line for each request and attempt; `info`: for what did not go as it should; `warn`, `error`',
    ),
  LOG_FORMAT: z
    .enum(['json', 'pretty'])
    .optional()
    .describe('`json`, or `pretty` for people: what it is on a terminal unless set'),
  RETENTION: positiveDurationSchema
    .prefault('14d')
    .describe('how long events, and what happened to their deliveries, are kept'),
  RETENTION_COUNT: z.coerce
    .number()
    .int()
    .min(1)
    .default(100_000)
    .describe("how many deliveries a webhook's list holds, and how many events an account's"),
  // Enough for five million events of 1 KiB with a delivery each, and less than what the Redis of most installations can hold:
  // so nobody meets it who does nothing unusual, and one account alone does not fill it.
  ACCOUNT_QUOTA_BYTES: z.coerce
    .number()
    .int()
    .min(0)
    .default(10 * 1024 ** 3)
    .describe(
      'bytes that one account may store, unless an operator sets its own; `0`: as many as there is room for',
    ),
  SHUTDOWN_TIMEOUT: durationSchema.prefault('20s').describe('to finish what is under way after SIGTERM'),
};

export const maxEventBytesSchema = z.coerce
  .number()
  .int()
  .min(1_024)
  .max(10 * 1024 * 1024)
  .default(256 * 1024)
  .describe('the longest event, as the body that is delivered');

export const portSchema = z.coerce.number().int().min(0).max(65_535);

/** `true` or `false`, spelled out: anything else is a fault rather than a guess. */
export const flagSchema = z.enum(['true', 'false']).transform((text) => text === 'true');

export const retryScheduleSchema = durationListSchema;
