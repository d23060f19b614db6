import { storeSettings } from '@hookferry/core/core/store-settings';
import { cloudEventsSettings } from '@hookferry/core/deliver/cloudevents';
import { egressSettings, proxyUrlSchema } from '@hookferry/core/deliver/egress/egress-settings';
import { moverSettings } from '@hookferry/core/history/database/history-settings';
import { notificationSettings } from '@hookferry/core/notifications/notification-settings';
import { positiveDurationSchema } from '@hookferry/core/platform/duration';
import { RUN_WITHIN_MS } from '@hookferry/core/platform/redis-deadline';
import {
  deliverySettings,
  type Environment,
  flagSchema,
  isProtected,
  maxEventBytesSchema,
  portSchema,
  readConfig,
  secretsSettings,
  tracingSettings,
  UNPROTECTED,
} from '@hookferry/core/platform/settings';
import { transformSettings } from '@hookferry/core/transform/transform-settings';
import { z } from 'zod';

const concurrencySchema = z.coerce.number().int().min(1).max(10_000);
const byteCountSchema = z.coerce
  .number()
  .int()
  .min(0)
  .max(1024 * 1024);

const settings = z.object({
  ...storeSettings,
  ...secretsSettings,
  ...egressSettings,
  ...moverSettings,
  ...transformSettings,
  ...tracingSettings,
  ...cloudEventsSettings,
  ...notificationSettings,
  WORKER_HOST: z.string().default('0.0.0.0').describe('the address that it listens at'),
  WORKER_PORT: portSchema
    .default(3001)
    .describe('the port of its `/healthz`, `/readyz` and `/metrics`; `0`: any that is free'),
  WORKER_CONCURRENCY: concurrencySchema
    .default(256)
    .describe('attempts at the same time, without those that take long'),
  WORKER_SHARDS: z
    .string()
    .regex(/^\d{1,2}(,\d{1,2})*$/, {
      message: 'must be numbers of shards, from 0, separated by commas',
      abort: true,
    })
    .transform((text) => text.split(',').map(Number))
    .optional()
    .describe('the shards of the queues that it serves: their numbers, such as `0,2`; unless set, all'),
  WORKER_SLOW_CONCURRENCY: concurrencySchema
    .optional()
    .describe(
      'attempts at the same time that take long, in addition; unless set, four times `WORKER_CONCURRENCY`',
    ),
  ...deliverySettings,
  DELIVERY_CONNECT_TIMEOUT: positiveDurationSchema
    .prefault('5s')
    .describe('time for DNS, TCP and TLS together, a part of `DELIVERY_TIMEOUT`'),
  RESPONSE_BYTES_READ: byteCountSchema
    .default(16 * 1024)
    .describe("bytes of a response's body that are read"),
  RESPONSE_BYTES_KEPT: byteCountSchema.default(4 * 1024).describe('bytes of it that are kept and shown'),
  DELIVERY_PROXY_URL: proxyUrlSchema
    .optional()
    .describe('a forward proxy for all deliveries: `http://[user:password@]host[:port]`, or https'),
  JOB_LOCK_DURATION: positiveDurationSchema
    .prefault('10s')
    .describe(
      "other workers take over a killed worker's deliveries after at most one and a quarter times this",
    ),
  WORKER_STALL_TIMEOUT: positiveDurationSchema
    .optional()
    .describe(
      'a worker that does nothing for this long while jobs wait is unhealthy; unless set, 60s or twice `DELIVERY_TIMEOUT`, whichever is longer',
    ),
  MAX_EVENT_BYTES: maxEventBytesSchema,
  SIGNATURE_HEADER: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of an HTTP header')
    .default('X-Service-Signature')
    .describe('the header that deliveries are signed in'),
  SIGNATURE_PREFIX: z
    .string()
    .regex(/^[\x21-\x7e]{0,32}$/, 'must be at most 32 visible ASCII characters')
    .default('sha256=')
    .describe('the text that the signature begins with in that header'),
  TRACEPARENT_TO_RECEIVERS: flagSchema
    .default(false)
    .describe("whether deliveries have a `traceparent`, so that receivers can continue their event's trace"),
});

/** With their descriptions in docs/configuration.md. */
export const workerSettings = settings
  .refine(isProtected, UNPROTECTED)
  .refine(({ WORKER_SHARDS = [], QUEUE_SHARDS }) => WORKER_SHARDS.every((shard) => shard < QUEUE_SHARDS), {
    path: ['WORKER_SHARDS'],
    message: 'must all be less than QUEUE_SHARDS: the first shard is 0',
  })
  .refine((config) => config.RESPONSE_BYTES_KEPT <= config.RESPONSE_BYTES_READ, {
    path: ['RESPONSE_BYTES_KEPT'],
    message: 'must not be more than RESPONSE_BYTES_READ',
  })
  .refine(
    ({ WORKER_STALL_TIMEOUT: timeout, DELIVERY_TIMEOUT }) =>
      timeout === undefined || timeout > DELIVERY_TIMEOUT,
    { path: ['WORKER_STALL_TIMEOUT'], message: 'must be longer than DELIVERY_TIMEOUT' },
  )
  .refine((config) => config.SMTP_URL === undefined || config.MAIL_FROM !== undefined, {
    path: ['MAIL_FROM'],
    message: 'must be set together with SMTP_URL: it is the sender of mails',
  })
  .refine((config) => !config.TRACEPARENT_TO_RECEIVERS || config.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined, {
    path: ['TRACEPARENT_TO_RECEIVERS'],
    message: 'needs traces: set OTEL_EXPORTER_OTLP_ENDPOINT too',
  });

// Attempts that all use their whole time-out are no stall.
const DEFAULT_STALL_TIMEOUT_MS = 60_000;
const ATTEMPTS_BEFORE_STALL = 2;

/** Milliseconds. */
export function stallTimeoutOf({ WORKER_STALL_TIMEOUT, DELIVERY_TIMEOUT }: WorkerConfig): number {
  return WORKER_STALL_TIMEOUT ?? Math.max(DEFAULT_STALL_TIMEOUT_MS, ATTEMPTS_BEFORE_STALL * DELIVERY_TIMEOUT);
}

// What moves leaves Redis at once then: not before no connection repeats any more what has stored it.
const FORMER_MOVE_AFTER_MS = 2 * RUN_WITHIN_MS;

/** Milliseconds. */
export function moveAfterOf({
  HISTORY_MOVE_AFTER,
  RECORD_FORM,
}: Pick<WorkerConfig, 'HISTORY_MOVE_AFTER' | 'RECORD_FORM'>): number {
  return RECORD_FORM === 'former' ? Math.max(HISTORY_MOVE_AFTER, FORMER_MOVE_AFTER_MS) : HISTORY_MOVE_AFTER;
}

export type WorkerConfig = z.infer<typeof workerSettings>;

/** @throws ConfigError with one line for each wrong variable. */
export function readWorkerConfig(environment: Environment): WorkerConfig {
  return readConfig(workerSettings, environment);
}
