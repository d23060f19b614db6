import { checkReadiness, readinessChecks, readinessStates } from '@hookferry/core/operations/check-readiness';
import type { HeavyAccount } from '@hookferry/core/operations/read-day';
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
    waiting: count.describe('Jobs of all queues that workers might take.'),
    delayed: count.describe('Deliveries that waited for their next attempt, or were held.'),
    held: count.describe('Those of them that were held.'),
  })
  .meta({ id: 'ShardSample' });

const sampleSchema = z
  .object({
    at: timeSchema.describe('The moment of the sample.'),
    shards: z.array(shardSampleSchema).describe('In the order of their numbers, from 0.'),
    oldest_waiting_seconds: z.number().min(0).describe('As in `GET /v1/operations`, of all queues.'),
    workers: count.describe('Workers that were heard of.'),
    slots_in_use: count.describe('Attempts that were under way in all of them.'),
    slots_allowed: count.describe('How many might be.'),
    attempts_per_second: z.number().min(0).describe('Of all workers together.'),
  })
  .meta({ id: 'OperationsSample' });

const lastDaySchema = z
  .object({
    data: z
      .array(sampleSchema)
      .describe('The oldest first, and one of now as the last. While no worker ran there are none.'),
    interval_seconds: z.int().describe('How far samples are apart.'),
  })
  .meta({ id: 'OperationsLastDay' });

export const readLastDay = defineRoute({
  operationId: 'readOperationsLastDay',
  summary: 'Read how queues and workers did over the last 24 hours',
  method: 'get',
  path: '/v1/operations/last-day',
  scope: 'admin',
  operatorOnly: true,
  request: {},
  responses: { 200: { description: 'Samples of the last 24 hours.', schema: lastDaySchema } },
  async handle(_request, { dayReader }) {
    const samples = await dayReader.readSamples();
    const body = { data: samples.map(presentSample), interval_seconds: SAMPLE_EVERY_MS / 1_000 };
    return { status: 200, body };
  },
});

function presentSample(sample: OperationsSample): z.infer<typeof sampleSchema> {
  return {
    at: formatTime(sample.at),
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
  by: z.enum(measureNames).default('events').describe('Which accounts come first: those with most of it.'),
  limit: z.coerce.number().int().min(1).max(MOST_LISTED).default(10).describe('How many accounts.'),
});

const loadShape = {
  events: count.describe('Events that were accepted, by HTTP and from the queue.'),
  bytes: count.describe('Their bodies, in bytes.'),
  transform_ms: count.describe('Processor time of its transformations, in milliseconds.'),
};
const loadHourSchema = z
  .object({ start: timeSchema.describe('When the hour begins.'), ...loadShape })
  .meta({ id: 'AccountLoadHour' });
const heavyAccountSchema = z
  .object({
    account_id: z.string().describe('Which account.'),
    ...loadShape,
    hours: z.array(loadHourSchema).describe('The oldest first; hours in which it used nothing are left out.'),
  })
  .meta({ id: 'HeavyAccount' });

const heavyAccountsSchema = z
  .object({
    data: z
      .array(heavyAccountSchema)
      .describe(
        'The account with most first; those without any are left out. Of hours in which more than 1,000 accounts used something, those with least are not counted.',
      ),
    since: timeSchema.describe('What is counted begins here: 24 hours before the present one.'),
  })
  .meta({ id: 'HeavyAccounts' });

export const listHeavyAccounts = defineRoute({
  operationId: 'listHeavyAccounts',
  summary: 'List the accounts that used most over the last 24 hours',
  method: 'get',
  path: '/v1/operations/accounts',
  scope: 'admin',
  operatorOnly: true,
  request: { query: accountsQuerySchema },
  responses: { 200: { description: 'The accounts that used most.', schema: heavyAccountsSchema } },
  async handle({ query: { by, limit } }, { dayReader, clock }) {
    const accounts = await dayReader.heaviestAccounts(measureOf[by], limit);
    const since = formatTime(startOfDay(clock()));
    return { status: 200, body: { data: accounts.map(presentAccount), since } };
  },
});

function presentAccount({ accountId, hours, ...sum }: HeavyAccount): z.infer<typeof heavyAccountSchema> {
  return {
    account_id: accountId,
    ...presentLoad(sum),
    hours: hours.map(({ start, ...load }) => ({ start: formatTime(start), ...presentLoad(load) })),
  };
}

function presentLoad({ events, bytes, transformMs }: Readonly<Record<LoadMeasure, number>>) {
  return { events, bytes, transform_ms: transformMs };
}

const readinessSchema = z
  .object({
    is_ready: z.boolean().describe('Whether each check is `good`.'),
    checks: z
      .array(
        z
          .object({
            check: z.enum(readinessChecks).describe('What was looked at.'),
            state: z.enum(readinessStates).describe('`unknown`: it can’t be told from here.'),
            detail: z.string().describe('A sentence, without the value of a secret.'),
          })
          .meta({ id: 'ReadinessFinding' }),
      )
      .describe('In the same order each time.'),
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
  async handle(_request, context) {
    const { config, probes } = context;
    const checks = await checkReadiness({
      ...context,
      settings: {
        publicUrl: config.PUBLIC_URL,
        hasEncryptionKey: config.SECRETS_ENCRYPTION_KEY.length > 0,
        hasMailFrom: config.MAIL_FROM !== undefined,
        hasHistory: config.HISTORY_DATABASE_URL !== undefined,
      },
      lastScrapedAt: () => probes.scrapes.lastAt,
    });
    return {
      status: 200,
      body: { is_ready: checks.every(({ state }) => state === 'good'), checks: [...checks] },
    };
  },
});
