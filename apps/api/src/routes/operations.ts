import type { HoldReason } from '@hookferry/core/domain/delivery';
import { disabledReasons } from '@hookferry/core/domain/endpoint';
import { workedQueues } from '@hookferry/core/domain/queues';
import {
  listTroubled,
  type Operations,
  type TroubledEndpoint,
  troubles,
} from '@hookferry/core/operations/read-operations';
import type { SeenWorker } from '@hookferry/core/operations/redis-worker-reports';
import { formatTime, formatTimeOrNull, timeSchema } from '@hookferry/core/platform/clock';
import type { QueueStanding } from '@hookferry/core/queue/bullmq-queue-standings';
import { z } from 'zod';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';

const count = z.int().min(0);
const perSecond = z.number().min(0);

const queueSchema = z
  .object({
    name: z.enum(workedQueues).describe('Which queue.'),
    shard: count.describe('Which part of the queue, from 0: see `QUEUE_SHARDS`.'),
    waiting: count.describe('Jobs that workers may take now.'),
    active: count.describe('Jobs that workers are at.'),
    delayed: count.describe('Deliveries that wait for their next attempt, or are held.'),
    failed: count.describe('Dead letters.'),
    oldest_waiting_seconds: z
      .number()
      .min(0)
      .describe('How long the oldest of the 1,000 that are taken next has waited; 0 if none waits.'),
  })
  .meta({ id: 'QueueStanding' });

const slotsSchema = z
  .object({
    in_use: count.describe('Attempts that are under way.'),
    allowed: count.describe('How many may be, as things stand.'),
  })
  .meta({ id: 'Slots' });

const workerSchema = z
  .object({
    id: z.string().describe('As with each attempt, and in the log.'),
    host: z.string().describe("The machine's name, or the container's."),
    pid: z.int().min(0).describe('The number of its process.'),
    version: z.string().describe('Of the service.'),
    started_at: timeSchema,
    seen_at: timeSchema.describe('When it last said how it is.'),
    slots: z.object({ quick: slotsSchema, slow: slotsSchema }).meta({ id: 'WorkerSlots' }),
    attempts_per_second: perSecond.describe('In the ten seconds before.'),
  })
  .meta({ id: 'Worker' });

const busyAccountSchema = z
  .object({
    account_id: z.string().describe('An account with jobs in the queue.'),
    waiting: count.describe(
      'Deliveries that wait. Of more than 1,000 in a shard an estimate, by 1,000 of them chosen by chance.',
    ),
    weight: z.int(),
  })
  .meta({ id: 'BusyAccount' });

const heldByReasonSchema = z
  .object({
    disabled: count,
    unverified: count,
    breaker_open: count,
    busy: count,
    rate_limited: count,
    out_of_turn: count,
    no_token: count,
    batching: count,
  } satisfies Record<HoldReason, z.ZodType>)
  .meta({ id: 'HeldByReason' });

const operationsSchema = z
  .object({
    queues: z.array(queueSchema).describe('Each queue, of each shard.'),
    dead_letters: count.describe('Jobs that are invalid or failed for good.'),
    held: count.describe('Deliveries that are held.'),
    held_by_reason: heldByReasonSchema.describe(
      'Those of a webhook all count for the reason for which its last one was held.',
    ),
    attempts_per_second: perSecond.describe('Of all workers together, in the ten to twenty seconds before.'),
    workers: z.array(workerSchema).describe('Those that were heard of within the last 30 seconds.'),
    breakers_open: count.describe('Webhooks whose circuit breaker is open.'),
    webhooks_disabled: count.describe('Webhooks that are disabled.'),
    busiest_accounts: z
      .array(busyAccountSchema)
      .describe('Up to ten accounts with the most deliveries waiting.'),
  })
  .meta({ id: 'Operations' });

export const readOperations = defineRoute({
  operationId: 'readOperations',
  summary: 'Read how the service stands',
  method: 'get',
  path: '/v1/operations',
  scope: 'admin',
  operatorOnly: true,
  request: {},
  responses: {
    200: { description: 'How it stood within the last second.', schema: operationsSchema },
  },
  async handle(_request, context) {
    return { status: 200, body: presentOperations(await context.operationsReader.read()) };
  },
});

function presentOperations(operations: Operations): z.infer<typeof operationsSchema> {
  const { heldByReason } = operations;
  return {
    queues: operations.queues.map(presentQueue),
    dead_letters: operations.deadLetters,
    held: Object.values(heldByReason).reduce((sum, held) => sum + held, 0),
    held_by_reason: heldByReason,
    attempts_per_second: inTenths(operations.attemptsPerSecond),
    workers: operations.workers.map(presentWorker),
    breakers_open: operations.openBreakers,
    webhooks_disabled: operations.disabledEndpoints,
    busiest_accounts: operations.busiestAccounts.map(({ accountId, waiting, weight }) => ({
      account_id: accountId,
      waiting,
      weight,
    })),
  };
}

function presentQueue({ oldestWaitedMs, ...counts }: QueueStanding): z.infer<typeof queueSchema> {
  return { ...counts, oldest_waiting_seconds: inTenths(oldestWaitedMs / 1_000) };
}

function presentWorker(worker: SeenWorker): z.infer<typeof workerSchema> {
  const { id, host, pid, version, startedAt, seenAt, attemptsPerSecond } = worker;
  const { quick, slow } = worker.slots;
  return {
    id,
    host,
    pid,
    version,
    started_at: formatTime(startedAt),
    seen_at: formatTime(seenAt),
    slots: { quick: presentSlots(quick), slow: presentSlots(slow) },
    attempts_per_second: inTenths(attemptsPerSecond),
  };
}

function presentSlots({ inUse, allowed }: SeenWorker['slots']['quick']) {
  return { in_use: inUse, allowed };
}

function inTenths(value: number): number {
  return Math.round(value * 10) / 10;
}

const querySchema = pageQuery(z.object({ id: z.string(), at: z.number() })).extend({
  state: z.enum(troubles).default('breaker_open').describe('Which webhooks to list.'),
});

const troubledWebhookSchema = z
  .object({
    webhook_id: z.string(),
    account_id: z.string().describe('The account of the webhook.'),
    url: z.string().nullable().describe('Null: its record can’t be read with this key of secrets.'),
    state: z.enum(troubles).describe('In which way.'),
    reason: z
      .enum([...disabledReasons, 'failures'])
      .nullable()
      .describe('Why it is disabled, or `failures`: its last attempts all failed. Null: not recorded.'),
    failures: z.int().nullable().describe('How many attempts in a row failed; null of a disabled one.'),
    since: timeSchema.nullable().describe('Since when it is disabled, or fails; null: not recorded.'),
  })
  .meta({ id: 'TroubledWebhook' });

export const listTroubledWebhooks = defineRoute({
  operationId: 'listTroubledWebhooks',
  summary: 'List webhooks of all accounts that are disabled, or whose breaker is open',
  method: 'get',
  path: '/v1/operations/webhooks',
  scope: 'admin',
  operatorOnly: true,
  request: { query: querySchema },
  responses: {
    200: {
      description: 'A page of webhooks.',
      schema: pageOf(troubledWebhookSchema, 'TroubledWebhookPage'),
    },
  },
  async handle({ query: { state, limit, cursor } }, context) {
    const page = await listTroubled(context, state, limit, cursor);
    return { status: 200, body: presentPage(page.found.map(presentTroubled), page.nextCursor) };
  },
});

function presentTroubled(endpoint: TroubledEndpoint): z.infer<typeof troubledWebhookSchema> {
  const { accountId, endpointId, url, trouble, disabledReason, failures, since } = endpoint;
  return {
    webhook_id: endpointId,
    account_id: accountId,
    url: url ?? null,
    state: trouble,
    reason: trouble === 'breaker_open' ? 'failures' : (disabledReason ?? null),
    failures: failures ?? null,
    since: formatTimeOrNull(since),
  };
}
