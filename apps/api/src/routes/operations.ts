import { WEIGHT } from '@hookferry/core/accounts/accounts';
import { byHoldReason, holdWords } from '@hookferry/core/domain/delivery';
import { disabledReasons } from '@hookferry/core/domain/endpoint';
import { pauseViewSchema, presentPause, presentPauseOrNull } from '@hookferry/core/domain/pause';
import { workedQueues } from '@hookferry/core/domain/queues';
import {
  type ServiceState,
  type StoppedEndpoint,
  stoppedStates,
} from '@hookferry/core/operations/operations';
import type { SeenWorker } from '@hookferry/core/operations/redis-worker-reports';
import { formatTime, formatTimeOrNull, timeSchema } from '@hookferry/core/platform/clock';
import { pausableQueues } from '@hookferry/core/queue/bullmq-paused-queues';
import { z } from 'zod';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';
import { pauseBodySchema } from './accounts';

const count = z.int().min(0);
const perSecond = z.number().min(0);

const queueSchema = z
  .object({
    name: z.enum(workedQueues).describe('The name of the queue.'),
    shard: count.describe('The number of the shard, from 0: see `QUEUE_SHARDS`.'),
    paused: z
      .boolean()
      .describe('Whether an operator has paused the queue: no worker takes its jobs until it is resumed.'),
    pause: pauseViewSchema
      .nullable()
      .describe('Who has paused the queue, when, and why. Null: it is not paused, or that is not recorded.'),
    waiting: count.describe('How many jobs a worker may take now, or once the queue is resumed.'),
    active: count.describe('How many jobs workers are processing.'),
    delayed: count.describe(
      'How many jobs wait for their time: deliveries before their next attempt, and held ones.',
    ),
    failed: count.describe('How many jobs of the queue are dead letters.'),
    oldest_waiting_seconds: z
      .number()
      .min(0)
      .describe('How many seconds the oldest of the next 1,000 jobs has waited. 0: none waits.'),
  })
  .meta({ id: 'QueueState' });

const slotsSchema = z
  .object({
    in_use: count.describe('How many attempts are running.'),
    allowed: count.describe('How many attempts may run at present.'),
  })
  .meta({ id: 'Slots' });

const workerSchema = z
  .object({
    id: z.string().describe('The id of the worker, as attempts and the log show it.'),
    host: z.string().describe('The host name of its machine or container.'),
    pid: z.int().min(0).describe('The id of its process.'),
    version: z
      .string()
      .describe('The version of Hookferry that it runs, with its commit behind a `+` if that is known.'),
    started_at: timeSchema.describe('When the worker started.'),
    seen_at: timeSchema.describe('When the worker last reported.'),
    slots: z
      .object({
        quick: slotsSchema.describe('The slots for attempts of up to 250 ms.'),
        slow: slotsSchema.describe('The slots for attempts that take longer than 250 ms.'),
      })
      .meta({ id: 'WorkerSlots' })
      .describe('How many attempts it makes at once. An attempt moves to a slow slot after 250 ms.'),
    attempts_per_second: perSecond.describe(
      'How many attempts a second the worker made in the last 10 seconds.',
    ),
  })
  .meta({ id: 'Worker' });

const busyAccountSchema = z
  .object({
    account_id: z.string().describe('The id of the account.'),
    waiting: count.describe(
      'How many deliveries of the account wait. An estimate from a random sample if more than 1,000 wait in a shard.',
    ),
    weight: z.int().describe(WEIGHT),
  })
  .meta({ id: 'BusyAccount' });

const pausedAccountSchema = z
  .object({
    account_id: z.string().describe('The id of the account.'),
    pause: pauseViewSchema.describe('Who has paused it, when, and why.'),
  })
  .meta({ id: 'PausedAccount' });

const rollbackSchema = z
  .object({
    since: timeSchema
      .nullable()
      .describe(
        'From when on writes are lost, by the clock of Redis. Null: all of them, Redis came back empty.',
      ),
    until: timeSchema.describe('When it was found: what was written later is there.'),
  })
  .meta({ id: 'RedisRollback' });

const heldByReasonSchema = z
  .object(
    byHoldReason((reason) => count.describe(`Each of them is held because ${holdWords[reason].cause}.`)),
  )
  .meta({ id: 'HeldByReason' });

const operationsSchema = z
  .object({
    queues: z.array(queueSchema).describe('The queues, with one entry for each shard of each.'),
    dead_letters: count.describe(
      'How many dead letters there are: jobs that are invalid or failed for good.',
    ),
    held: count.describe('How many deliveries are held.'),
    held_by_reason: heldByReasonSchema.describe(
      'How many deliveries are held for each reason. All held deliveries of a webhook count for the reason of its latest one.',
    ),
    attempts_per_second: perSecond.describe(
      'How many attempts a second all workers made together in the last 10 to 20 seconds.',
    ),
    workers: z.array(workerSchema).describe('The workers that reported within the last 30 seconds.'),
    breakers_open: count.describe('How many webhooks have an open circuit breaker.'),
    webhooks_disabled: count.describe('How many webhooks are disabled.'),
    paused_accounts: z
      .array(pausedAccountSchema)
      .describe('The paused accounts, the last paused first: up to 100.'),
    busiest_accounts: z
      .array(busyAccountSchema)
      .describe('The accounts with the most waiting deliveries: up to 10.'),
    redis_rollbacks: z
      .array(rollbackSchema)
      .describe(
        'When Redis went back to an earlier state, by a fail-over or from a backup: the last 10 times, the newest first. Publish the events of that time again, under the same ids.',
      ),
  })
  .meta({ id: 'Operations' });

export const readOperations = defineRoute({
  operationId: 'readOperations',
  summary: 'Read the state of queues and workers',
  method: 'get',
  path: '/v1/operations',
  scope: 'admin',
  operatorOnly: true,
  request: {},
  responses: {
    200: { description: 'The state of the service, at most a second old.', schema: operationsSchema },
  },
  async handle(_request, core) {
    return { status: 200, body: presentOperations(await core.operations.read()) };
  },
});

function presentOperations(operations: ServiceState): z.infer<typeof operationsSchema> {
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
    paused_accounts: operations.pausedAccounts.map(({ accountId, pause }) => ({
      account_id: accountId,
      pause: presentPause(pause),
    })),
    busiest_accounts: operations.busiestAccounts.map(({ accountId, waiting, weight }) => ({
      account_id: accountId,
      waiting,
      weight,
    })),
    redis_rollbacks: operations.rollbacks.map(({ since, until }) => ({
      since: formatTimeOrNull(since),
      until: formatTime(until),
    })),
  };
}

function presentQueue(queue: ServiceState['queues'][number]): z.infer<typeof queueSchema> {
  const { isPaused: paused, pause, oldestWaitedMs, ...counts } = queue;
  return {
    paused,
    pause: presentPauseOrNull(pause),
    oldest_waiting_seconds: inTenths(oldestWaitedMs / 1_000),
    ...counts,
  };
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
  state: z
    .enum(stoppedStates)
    .default('breaker_open')
    .describe(
      'Which webhooks to list: those with an open circuit breaker, or those that are disabled. Default: `breaker_open`.',
    ),
});

const stoppedWebhookSchema = z
  .object({
    webhook_id: z.string().describe('The id of the webhook.'),
    account_id: z.string().describe('The account that owns the webhook.'),
    url: z
      .string()
      .nullable()
      .describe(
        'The URL of the webhook. Null: its record cannot be read with this `SECRETS_ENCRYPTION_KEY`.',
      ),
    state: z.enum(stoppedStates).describe('The state of the webhook, as requested.'),
    reason: z
      .enum([...disabledReasons, 'failures'])
      .nullable()
      .describe(
        'Why it is disabled, or `failures` if its breaker is open. Null: the reason was not recorded.',
      ),
    failures: z.int().nullable().describe('How many attempts in a row failed. Null for a disabled webhook.'),
    since: timeSchema
      .nullable()
      .describe('Since when it is disabled or fails. Null: the time was not recorded.'),
  })
  .meta({ id: 'StoppedWebhook' });

export const listStoppedWebhooks = defineRoute({
  operationId: 'listStoppedWebhooks',
  summary: 'List webhooks of all accounts that are disabled or fail',
  method: 'get',
  path: '/v1/operations/webhooks',
  scope: 'admin',
  operatorOnly: true,
  request: { query: querySchema },
  responses: {
    200: {
      description: 'A page of webhooks.',
      schema: pageOf(stoppedWebhookSchema, 'StoppedWebhookPage'),
    },
  },
  async handle({ query: { state, limit, cursor } }, core) {
    const page = await core.operations.listStopped(state, limit, cursor);
    return { status: 200, body: presentPage(page.found.map(presentStopped), page.nextCursor) };
  },
});

function presentStopped(endpoint: StoppedEndpoint): z.infer<typeof stoppedWebhookSchema> {
  const { accountId, endpointId, url, state, disabledReason, failures, since } = endpoint;
  return {
    webhook_id: endpointId,
    account_id: accountId,
    url: url ?? null,
    state,
    reason: state === 'breaker_open' ? 'failures' : (disabledReason ?? null),
    failures: failures ?? null,
    since: formatTimeOrNull(since),
  };
}

const queueParams = z.object({ name: z.enum(pausableQueues).describe('The name of the queue.') });

const pausedQueueSchema = z
  .object({
    name: z.enum(pausableQueues).describe('The name of the queue.'),
    pause: pauseViewSchema.nullable().describe('Who has paused it, when, and why. Null: it is not paused.'),
  })
  .meta({ id: 'PausedQueue' });

/** In all shards. One that is paused already keeps who paused it, when, and why. */
export const pauseQueue = defineRoute({
  operationId: 'pauseQueue',
  summary: 'Pause a queue',
  method: 'post',
  path: '/v1/operations/queues/:name/pause',
  scope: 'admin',
  audit: 'queue.pause',
  operatorOnly: true,
  request: {
    params: queueParams,
    body: pauseBodySchema,
    example: { reason: 'The network is down' },
    mayLackBody: true,
  },
  responses: {
    200: {
      description: 'The queue. Workers take no more of its jobs; events are still accepted, and wait.',
      schema: pausedQueueSchema,
    },
  },
  async handle({ params: { name }, body, act }, core) {
    const pause = presentPauseOrNull(await core.queues.pause(name, body.reason, act));
    return { status: 200, body: { name, pause } };
  },
});

/** Repeating it changes nothing. */
export const resumeQueue = defineRoute({
  operationId: 'resumeQueue',
  summary: 'Resume a queue',
  method: 'post',
  path: '/v1/operations/queues/:name/resume',
  scope: 'admin',
  audit: 'queue.resume',
  operatorOnly: true,
  request: { params: queueParams },
  responses: {
    200: { description: 'The queue. Workers take its jobs again.', schema: pausedQueueSchema },
  },
  async handle({ params: { name }, act }, core) {
    const pause = presentPauseOrNull(await core.queues.resume(name, act));
    return { status: 200, body: { name, pause } };
  },
});
