import { digestsOf } from '@hookferry/core/operations/agreed-settings';
import {
  isReady,
  readinessChecks,
  readinessCodes,
  readinessLevels,
  readinessStates,
} from '@hookferry/core/operations/check-readiness';
import type { HeavyAccount } from '@hookferry/core/operations/operations';
import {
  type LoadMeasure,
  type OperationsSample,
  SAMPLE_EVERY_MS,
  startOfDay,
} from '@hookferry/core/operations/redis-day-store';
import { formatTime, timeSchema } from '@hookferry/core/platform/clock';
import { z } from 'zod';
import { defineRoute } from '../http/route';

const count = z.int().min(0);

const shardSampleSchema = z
  .object({
    waiting: count.describe('How many jobs of all queues a worker could take.'),
    delayed: count.describe('How many deliveries waited for their next attempt or were held.'),
    held: count.describe('How many of the delayed deliveries were held.'),
  })
  .meta({ id: 'ShardSample' });

const sampleSchema = z
  .object({
    sampled_at: timeSchema.describe('When the sample was taken.'),
    shards: z.array(shardSampleSchema).describe('The shards, in the order of their numbers, from 0.'),
    oldest_waiting_seconds: z
      .number()
      .min(0)
      .describe('How many seconds the job that waited longest in any queue had waited.'),
    workers: count.describe('How many workers reported.'),
    slots_in_use: count.describe('How many attempts were running in all workers together.'),
    slots_allowed: count.describe('How many attempts all workers together might run.'),
    attempts_per_second: z.number().min(0).describe('How many attempts a second all workers made together.'),
  })
  .meta({ id: 'OperationsSample' });

const lastDaySchema = z
  .object({
    data: z
      .array(sampleSchema)
      .describe(
        'The samples, the oldest first. The last one is of now. There are none of times without a worker.',
      ),
    interval_seconds: z.int().describe('How many seconds lie between two samples.'),
  })
  .meta({ id: 'OperationsLastDay' });

export const readLastDay = defineRoute({
  operationId: 'readOperationsLastDay',
  summary: 'Read samples of queues and workers of the last 24 hours',
  method: 'get',
  path: '/v1/operations/last-day',
  scope: 'admin',
  operatorOnly: true,
  request: {},
  responses: { 200: { description: 'Samples of the last 24 hours.', schema: lastDaySchema } },
  async handle(_request, core) {
    const samples = await core.operations.readSamples();
    const body = { data: samples.map(presentSample), interval_seconds: SAMPLE_EVERY_MS / 1_000 };
    return { status: 200, body };
  },
});

function presentSample(sample: OperationsSample): z.infer<typeof sampleSchema> {
  return {
    sampled_at: formatTime(sample.at),
    shards: sample.shards,
    oldest_waiting_seconds: inTenths(sample.oldestWaitedMs / 1_000),
    workers: sample.workers,
    slots_in_use: sample.slots.inUse,
    slots_allowed: sample.slots.allowed,
    attempts_per_second: inTenths(sample.attemptsPerSecond),
  };
}

function inTenths(value: number): number {
  return Math.round(value * 10) / 10;
}

const MOST_LISTED = 100;
const measureNames = ['events', 'bytes', 'transform_ms'] as const;
const measureOf: Readonly<Record<(typeof measureNames)[number], LoadMeasure>> = {
  events: 'events',
  bytes: 'bytes',
  transform_ms: 'transformMs',
};

const accountsQuerySchema = z.strictObject({
  by: z
    .enum(measureNames)
    .default('events')
    .describe('The measure that accounts are sorted by, the highest first. Default: `events`.'),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(MOST_LISTED)
    .default(10)
    .describe('How many accounts to list at most: 1 to 100. Default: 10.'),
});

const loadShape = {
  events: count.describe('How many events were accepted, by HTTP and from the queue.'),
  bytes: count.describe('How many bytes the bodies of these events have together.'),
  transform_ms: count.describe('How many milliseconds of processor time transformations took.'),
};
const loadHourSchema = z
  .object({ starts_at: timeSchema.describe('When the hour begins.'), ...loadShape })
  .meta({ id: 'AccountLoadHour' });
const heavyAccountSchema = z
  .object({
    account_id: z.string().describe('The id of the account.'),
    ...loadShape,
    hours: z
      .array(loadHourSchema)
      .describe('The hours, the oldest first. Hours without any use are left out.'),
  })
  .meta({ id: 'HeavyAccount' });

const heavyAccountsSchema = z
  .object({
    data: z
      .array(heavyAccountSchema)
      .describe(
        'The accounts, the highest first. Accounts without any use are left out. In an hour with more than 1,000 active accounts, those with the least use are not counted.',
      ),
    since: timeSchema.describe('Where the counted time begins: 24 hours before the present hour.'),
  })
  .meta({ id: 'HeavyAccounts' });

export const listHeavyAccounts = defineRoute({
  operationId: 'listHeavyAccounts',
  summary: 'List the accounts with the most use in the last 24 hours',
  method: 'get',
  path: '/v1/operations/accounts',
  scope: 'admin',
  operatorOnly: true,
  request: { query: accountsQuerySchema },
  responses: { 200: { description: 'The accounts with the most use.', schema: heavyAccountsSchema } },
  async handle({ query: { by, limit } }, core) {
    const accounts = await core.operations.heaviestAccounts(measureOf[by], limit);
    const since = formatTime(startOfDay(core.clock()));
    return { status: 200, body: { data: accounts.map(presentAccount), since } };
  },
});

function presentAccount({ accountId, hours, ...sum }: HeavyAccount): z.infer<typeof heavyAccountSchema> {
  return {
    account_id: accountId,
    ...presentLoad(sum),
    hours: hours.map(({ start, ...load }) => ({ starts_at: formatTime(start), ...presentLoad(load) })),
  };
}

function presentLoad({ events, bytes, transformMs }: Readonly<Record<LoadMeasure, number>>) {
  return { events, bytes, transform_ms: transformMs };
}

const readinessSchema = z
  .object({
    is_ready: z.boolean().describe('Whether no required check is `missing`.'),
    checks: z
      .array(
        z
          .object({
            check: z.enum(readinessChecks).describe('The name of the check.'),
            level: z
              .enum(readinessLevels)
              .describe('Whether `is_ready` depends on it. `advised`: the service runs well without it.'),
            state: z
              .enum(readinessStates)
              .describe('The result of the check. `unknown`: the API cannot find out.'),
            code: z
              .enum(readinessCodes)
              .meta({ example: 'redis_fsync_missing' })
              .describe('The result, for programs that have words of their own for it.'),
            values: z
              .record(z.string(), z.string())
              .meta({ example: { appendfsync: 'everysec' } })
              .describe('What the words of the code name, such as a setting of Redis.'),
            detail: z
              .string()
              .describe('The result in English words, and what to do. It contains no secret.'),
            docs: z
              .string()
              .describe('The page that says how to have it, as a path within the repository of the project.'),
          })
          .meta({ id: 'ReadinessFinding' }),
      )
      .describe('The checks, always in the same order.'),
  })
  .meta({ id: 'Readiness' });

export const readReadiness = defineRoute({
  operationId: 'readReadiness',
  summary: 'Read what this installation lacks for production',
  method: 'get',
  path: '/v1/operations/readiness',
  scope: 'admin',
  operatorOnly: true,
  request: {},
  responses: { 200: { description: 'A finding for each check.', schema: readinessSchema } },
  async handle(_request, core) {
    const { config, probes, redisClock } = core;
    const checks = await core.operations.readReadiness({
      publicUrl: config.PUBLIC_URL,
      encryptionKeys: config.SECRETS_ENCRYPTION_KEY.length,
      trustsProxy: config.TRUST_PROXY !== 0,
      hasBootstrapKey: config.BOOTSTRAP_API_KEY !== undefined,
      hasMailFrom: config.MAIL_FROM !== undefined,
      hasHistory: config.HISTORY_DATABASE_URL !== undefined,
      skewMs: redisClock.skewMs,
      lastScrapedAt: probes.scrapes.lastAt,
      settings: digestsOf(config),
    });
    return {
      status: 200,
      body: { is_ready: isReady(checks), checks: [...checks] },
    };
  },
});
