import { endpointRefSchema } from '@hookferry/core/domain/endpoint';
import {
  DEFAULT_RATE,
  MAX_RATE,
  REPLAY_ID_PREFIX,
  type Replay,
  type ReplayId,
  replayIdSchema,
  replayModes,
  replayStatuses,
} from '@hookferry/core/domain/replay';
import { invalidRequest } from '@hookferry/core/platform/app-error';
import { formatTime, formatTimeOrNull, sentTimeSchema, timeSchema } from '@hookferry/core/platform/clock';
import { newestFirstCursorSchema } from '@hookferry/core/platform/redis-timeline';
import { replayResults } from '@hookferry/core/replays/replayed-deliveries';
import { z } from 'zod';
import {
  eventCursorSchema,
  historyPageOf,
  pageOf,
  pageQuery,
  presentHistoryPage,
  presentPage,
} from '../http/page';
import { defineRoute } from '../http/route';
import { isAttemptedInOrder, standingFilterOf, standingQuery } from './delivery-query';
import { deliverySchema, presentDelivery } from './present-delivery';

const replayParams = z.object({ id: replayIdSchema });

const webhookParams = z.object({ id: endpointRefSchema });

const MODE =
  'Which events of the time range it sends. `failed`: those whose delivery failed. `pending`: those whose delivery waits for a retry, which comes now. `missing`: those without a delivery to this webhook. `all`: every event of its types.';
const RATE = `How many events a second it queues at most: 1 to ${MAX_RATE}.`;

const replaySchema = z
  .object({
    id: z.string().describe('The id of the replay.'),
    webhook_id: z.string().describe('The webhook that the events are sent to.'),
    status: z
      .enum(replayStatuses)
      .describe('`counting`: it looks for its events. `running`: it queues them. All others are final.'),
    mode: z.enum(replayModes).describe(MODE),
    since: timeSchema.describe('It sends events that were accepted at this time or later.'),
    until: timeSchema.describe('It sends events that were accepted before this time.'),
    rate: z.int().describe(RATE),
    dry_run: z.boolean().describe('Whether it only counts events, and sends none.'),
    found: z.int().describe('How many events it has found so far.'),
    enqueued: z.int().describe('How many of these events it has queued for delivery.'),
    erased: z
      .int()
      .meta({ description: 'How many events it has left out because their payload was erased.' }),
    error: z.string().nullable().describe('Why the replay failed, in words. Null: it has not failed.'),
    created_at: timeSchema.describe('When the replay was requested.'),
    ended_at: timeSchema.nullable().describe('When the replay ended. Null: it goes on.'),
  })
  .meta({ id: 'Replay' });

const resultsSchema = z
  .object({
    counted: z
      .int()
      .describe(
        'How many deliveries were looked at: up to 1,000, those of the newest events. The others of these counts sum up to it.',
      ),
    delivered: z.int().describe('How many were delivered.'),
    pending: z.int().describe('How many have an attempt to come, or are held.'),
    failed: z.int().describe('How many failed, and have no attempt to come.'),
    cancelled: z.int().describe('How many were cancelled, or gave way to a newer event of their group.'),
  })
  .meta({ id: 'ReplayResults' });

const replayWithResultsSchema = replaySchema
  .extend({
    results: resultsSchema
      .optional()
      .describe('How the deliveries that it has queued are now. Present with `include=results`.'),
  })
  .meta({ id: 'ReplayWithResults' });

const readQuerySchema = z.strictObject({
  include: z
    .enum(['results'])
    .optional()
    .describe('`results`: how its deliveries are now. Default: the progress alone.'),
});

const bodySchema = z
  .strictObject({
    since: sentTimeSchema.describe(
      'Send events that were accepted at this time or later. It must be before `until`.',
    ),
    until: sentTimeSchema
      .optional()
      .describe('Send events that were accepted before this time. Default: all up to now.'),
    mode: z.enum(replayModes).describe(MODE),
    dry_run: z
      .boolean()
      .default(false)
      .describe('`true`: only count the events, and send none. Default: `false`.'),
    rate: z.int().min(1).max(MAX_RATE).default(DEFAULT_RATE).describe(`${RATE} Default: ${DEFAULT_RATE}.`),
  })
  .meta({ id: 'NewReplay' });

/** Goes on in the background; its `Location` shows the progress. */
export const createReplay = defineRoute({
  operationId: 'createReplay',
  summary: 'Replay the events of a time range to a webhook',
  method: 'post',
  path: '/v1/webhooks/:id/replays',
  scope: 'deliveries:write',
  audit: 'replay.create',
  request: {
    params: webhookParams,
    body: bodySchema,
    example: { since: '2026-01-01T00:00:00Z', mode: 'failed', rate: 50 },
  },
  creates: true,
  stores: 'other',
  problems: ['conflict', 'replays_running'],
  responses: {
    202: { description: 'The replay, which goes on in the background.', schema: replaySchema },
  },
  async handle({ apiKey, params, body, newId, receivedAt, act }, core) {
    const { since, until = receivedAt + 1, mode, rate, dry_run: isDryRun } = body;
    if (since >= until) {
      throw invalidRequest([{ pointer: '/since', detail: 'must be before "until", or before now' }]);
    }
    const order = {
      id: newId(REPLAY_ID_PREFIX) as ReplayId,
      mode,
      since,
      // The record has the last millisecond that belongs to the range.
      until: Math.min(until - 1, receivedAt),
      rate,
      isDryRun,
      createdAt: receivedAt,
    };
    const replay = await core.replays.create(apiKey.accountId, params.id, order, act);
    return {
      status: 202,
      headers: { location: `/v1/replays/${replay.id}` },
      body: presentReplay(replay),
    };
  },
});

export const listReplays = defineRoute({
  operationId: 'listReplays',
  summary: "List a webhook's replays",
  method: 'get',
  path: '/v1/webhooks/:id/replays',
  scope: 'deliveries:read',
  request: { params: webhookParams, query: pageQuery(newestFirstCursorSchema) },
  responses: {
    200: { description: 'A page of replays.', schema: pageOf(replaySchema, 'ReplayPage') },
  },
  async handle({ apiKey, params, query }, core) {
    const page = await core.replays.list(apiKey.accountId, params.id, query.limit, query.cursor);
    return { status: 200, body: presentPage(page.replays.map(presentReplay), page.nextCursor) };
  },
});

export const readReplay = defineRoute({
  operationId: 'readReplay',
  summary: 'Read a replay and its progress',
  method: 'get',
  path: '/v1/replays/:id',
  scope: 'deliveries:read',
  request: { params: replayParams, query: readQuerySchema },
  responses: {
    200: { description: 'The replay.', schema: replayWithResultsSchema },
  },
  problems: ['history_unavailable'],
  async handle({ apiKey, params, query }, core) {
    const replay = await core.replays.read(apiKey.accountId, params.id);
    const shown = presentReplay(replay);
    if (query.include !== 'results') return { status: 200, body: shown };
    return { status: 200, body: { ...shown, results: await core.replayedDeliveries.count(replay) } };
  },
});

const resultQuery = z
  .enum(replayResults)
  .optional()
  .describe(
    'Only deliveries with this result, as `include=results` of the replay counts them. Default: all.',
  );

export const listReplayDeliveries = defineRoute({
  operationId: 'listReplayDeliveries',
  summary: 'List the deliveries that a replay has queued',
  method: 'get',
  path: '/v1/replays/:id/deliveries',
  scope: 'deliveries:read',
  request: {
    params: replayParams,
    query: pageQuery(eventCursorSchema)
      .extend({ ...standingQuery, result: resultQuery })
      .refine(...isAttemptedInOrder),
  },
  responses: {
    200: {
      description: 'A page of deliveries, those of the newest event first.',
      schema: historyPageOf(deliverySchema, 'DeliveryPage'),
    },
  },
  problems: ['history_unavailable'],
  async handle({ apiKey, params, query }, core) {
    const { limit, cursor } = query;
    const filter = { ...standingFilterOf(query), result: query.result };
    const page = await core.replayedDeliveries.list(apiKey.accountId, params.id, filter, limit, cursor);
    const part = { ...page, searchedBackTo: page.nextCursor?.createdAt };
    return { status: 200, body: presentHistoryPage(page.found.map(presentDelivery), part) };
  },
});

/** It can still be read. A replay that has ended stays as it is. */
export const cancelReplay = defineRoute({
  operationId: 'cancelReplay',
  summary: 'Cancel a replay',
  method: 'delete',
  path: '/v1/replays/:id',
  scope: 'deliveries:write',
  audit: 'replay.cancel',
  request: { params: replayParams },
  responses: {
    204: { description: 'The replay is cancelled, or it had ended before.' },
  },
  async handle({ apiKey, params, act }, core) {
    await core.replays.cancel(apiKey.accountId, params.id, act);
    return { status: 204 };
  },
});

function presentReplay(replay: Replay): z.infer<typeof replaySchema> {
  return {
    id: replay.id,
    webhook_id: replay.endpointId,
    status: replay.status,
    mode: replay.mode,
    since: formatTime(replay.since),
    until: formatTime(replay.until + 1),
    rate: replay.rate,
    dry_run: replay.isDryRun,
    found: replay.found,
    enqueued: replay.enqueued,
    erased: replay.erased,
    error: replay.error ?? null,
    created_at: formatTime(replay.createdAt),
    ended_at: formatTimeOrNull(replay.finishedAt),
  };
}
