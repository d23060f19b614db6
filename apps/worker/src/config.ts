import { egressSettings } from '@webhooks/core/egress/egress-settings';
import { proxyUrlSchema } from '@webhooks/core/egress/proxy-url';
import {
  commonSettings,
  maxEventBytesSchema,
  portSchema,
  retryScheduleSchema,
} from '@webhooks/core/kernel/common-settings';
import {
  durationOrNeverSchema,
  durationSchema,
  positiveDurationSchema,
} from '@webhooks/core/kernel/duration';
import { type Environment, readConfig } from '@webhooks/core/kernel/environment';
import { isProtected, secretsSettings, UNPROTECTED } from '@webhooks/core/kernel/secrets-settings';
import { databaseUrlSchema } from '@webhooks/core/record/database-url';
import { z } from 'zod';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const concurrencySchema = z.coerce.number().int().min(1).max(10_000);
const byteCountSchema = z.coerce
  .number()
  .int()
  .min(0)
  .max(1024 * 1024);

const settings = z.object({
  ...commonSettings,
  ...egressSettings,
  ...secretsSettings,
  WORKER_HOST: z.string().default('0.0.0.0'),
  WORKER_PORT: portSchema.default(3001),
  /** Attempts under way at the same time, beside those that take long. */
  WORKER_CONCURRENCY: concurrencySchema.default(256),
  /** Attempts that take long, beside those; four times WORKER_CONCURRENCY, unless set. */
  SLOW_LANE_CONCURRENCY: concurrencySchema.optional(),
  RETRY_SCHEDULE: retryScheduleSchema.default([
    5_000,
    5 * MINUTE,
    30 * MINUTE,
    2 * HOUR,
    5 * HOUR,
    10 * HOUR,
    14 * HOUR,
    20 * HOUR,
    24 * HOUR,
  ]),
  /** From the first DNS query to the last byte of the answer. */
  DELIVERY_TIMEOUT: positiveDurationSchema.default(15_000),
  /** For DNS, TCP and TLS together, within that. */
  DELIVERY_CONNECT_TIMEOUT: positiveDurationSchema.default(5_000),
  /** How much of an answer's body is read, in bytes. */
  RESPONSE_BYTES_READ: byteCountSchema.default(16 * 1024),
  /** How much of it is kept. */
  RESPONSE_BYTES_KEPT: byteCountSchema.default(4 * 1024),
  /** The forward proxy that all deliveries go through. */
  DELIVERY_PROXY_URL: proxyUrlSchema.optional(),
  /** How long an endpoint may go without a success before it is disabled. */
  DISABLE_AFTER: durationOrNeverSchema.default(5 * DAY),
  /** How far apart its failures have to be for that. */
  DISABLE_FAILURE_SPAN: durationSchema.default(12 * HOUR),
  /** For how long a worker owns a job before it has to say that it is still at it. */
  JOB_LOCK_DURATION: positiveDurationSchema.default(10_000),
  MAX_EVENT_BYTES: maxEventBytesSchema,
  /** The PostgreSQL database that every attempt is archived in; without one none is. */
  ARCHIVE_DATABASE_URL: databaseUrlSchema.optional(),
  SIGNATURE_HEADER: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of an HTTP header')
    .default('X-Service-Signature'),
  SIGNATURE_PREFIX: z
    .string()
    .regex(/^[\x21-\x7e]{0,32}$/, 'must be at most 32 visible ASCII characters')
    .default('sha256='),
});

const schema = settings
  .refine(isProtected, UNPROTECTED)
  .refine((config) => config.RESPONSE_BYTES_KEPT <= config.RESPONSE_BYTES_READ, {
    path: ['RESPONSE_BYTES_KEPT'],
    message: 'must not be more than RESPONSE_BYTES_READ',
  });

export type WorkerConfig = z.infer<typeof schema>;

/** @throws ConfigError with one line for each wrong variable. */
export function readWorkerConfig(environment: Environment): WorkerConfig {
  return readConfig(schema, environment);
}
