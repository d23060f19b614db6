import { deliveryIdOf } from '@hookferry/core/domain/delivery';
import { endpointRefSchema } from '@hookferry/core/domain/endpoint';
import { streamEnds } from '@hookferry/core/domain/signals/requests';
import { AppError } from '@hookferry/core/platform/app-error';
import { formatTime, formatTimeOrNull, timeSchema } from '@hookferry/core/platform/clock';
import type { StreamMessage } from '@hookferry/core/stream/change-reader';
import type { ChangeStreams } from '@hookferry/core/stream/change-streams';
import {
  type Change,
  type ChangedDelivery,
  deliveryChanges,
  endpointChanges,
  replayChanges,
} from '@hookferry/core/stream/redis-change-store';
import { z } from 'zod';
import type { ApiContext } from '../context';
import { credentialsIn, mayGoOn } from '../http/long-requests';
import { limitSchema } from '../http/page';
import { defineRoute } from '../http/route';
import { EVENTS_HEAD, EVENTS_HEADERS, eventText } from '../http/send-reply';
import { deliverySchema } from './present-delivery';

/** What the route of the stream calls beside the core. */
export interface StreamModules {
  readonly changeStreams: ChangeStreams;
}

const MAX_SECONDS = 86_400;

// Each is a lasting connection. In each process.
const MOST_AT_ONCE = 20;

const SCOPE = 'deliveries:read';

const cursorSchema = z.string().regex(/^\d{1,15}-\d{1,15}$/, 'must be the id of an event of this stream');

const querySchema = z.strictObject({
  webhook_id: endpointRefSchema
    .optional()
    .describe('Only changes of this webhook: its id or its `uid`. Default: those of all webhooks.'),
  last_event_id: cursorSchema.optional().meta({
    description:
      'The id of the last event that was received, for clients that cannot send the header `Last-Event-ID`. Default: only new changes.',
  }),
  max_seconds: limitSchema(MAX_SECONDS)
    .optional()
    .describe('After how many seconds the stream ends: 1 to 86,400. Connect again then. Default: 86,400.'),
});

const { id, event_id, webhook_id, event_type, status, attempt_count, last_outcome } = deliverySchema.shape;
const { last_response_status, next_attempt_at, created_at } = deliverySchema.shape;

const changedDeliverySchema = z
  .object({
    id,
    event_id,
    webhook_id,
    event_type: event_type.optional(),
    status: status.optional(),
    attempt_count: attempt_count.optional(),
    last_outcome: last_outcome.optional(),
    last_response_status: last_response_status.optional(),
    next_attempt_at: next_attempt_at.optional(),
    created_at: created_at.optional(),
  })
  .meta({ id: 'ChangedDelivery', description: 'The members that have changed, with their new values.' });

const shownCursorSchema = z.string().meta({
  description: 'The id of this event in the stream. Send it as `Last-Event-ID` to continue after it.',
});

const changedWebhookId = z.string().describe('The id of the webhook.');

/** Each event of the stream, as an object: its `data` is a line of JSON. */
const streamedChangeSchema = z
  .discriminatedUnion('event', [
    z.object({
      event: z.literal('ready').describe('The stream has started.'),
      id: shownCursorSchema,
      data: z.object({}).describe('An empty object.'),
    }),
    z.object({
      event: z.literal('reset').describe('Some changes are missing. Read the lists again.'),
      id: shownCursorSchema,
      data: z.object({}).describe('An empty object.'),
    }),
    z.object({
      event: z.literal('delivery').describe('A delivery has changed.'),
      id: shownCursorSchema,
      data: z
        .object({
          change: z.enum(deliveryChanges).describe('The change of the delivery.'),
          delivery: changedDeliverySchema.describe('The members of the delivery that have changed.'),
        })
        .describe('The change and the delivery.'),
    }),
    z.object({
      event: z.literal('webhook').describe('A webhook has changed.'),
      id: shownCursorSchema,
      data: z
        .object({
          change: z.enum(endpointChanges).describe('The change of the webhook.'),
          webhook_id: changedWebhookId,
        })
        .describe('The change and the webhook.'),
    }),
    z.object({
      event: z.literal('replay').describe('A replay has changed.'),
      id: shownCursorSchema,
      data: z
        .object({
          change: z.enum(replayChanges).describe('The change of the replay.'),
          replay_id: z.string().describe('The id of the replay.'),
          webhook_id: changedWebhookId,
        })
        .describe('The change, the replay and its webhook.'),
    }),
    z.object({
      event: z
        .literal('redis.rolled_back')
        .describe('Redis went back to an earlier state: what was accepted in that time may be lost.'),
      id: shownCursorSchema,
      data: z
        .object({
          since: timeSchema.nullable().describe('From when on. Null: everything is lost.'),
          until: timeSchema.describe('Until when: what was accepted later is there.'),
        })
        .describe('Publish the events of that time again, under the same ids.'),
    }),
    z.object({
      event: z.literal('end').describe('The stream ends.'),
      data: z.object({ reason: z.enum(streamEnds).describe('Why the stream ends.') }).describe('The reason.'),
    }),
  ])
  .meta({ id: 'StreamedChange' });

/** Stays open: an event for each change, within moments. */
export const streamChanges = defineRoute({
  operationId: 'streamChanges',
  summary: 'Stream changes as server-sent events',
  method: 'get',
  path: '/v1/stream',
  scope: SCOPE,
  request: { query: querySchema },
  responses: {
    200: {
      description:
        'Server-sent events, until either side closes the connection. The schema describes one event.',
      schema: streamedChangeSchema,
      isEvents: true,
    },
  },
  async handle({ apiKey: { accountId }, query, header }, context: ApiContext & StreamModules) {
    const { webhook_id: ref, max_seconds: seconds = MAX_SECONDS } = query;
    const credentials = credentialsIn(header, SCOPE);
    const options = {
      endpointId: ref === undefined ? undefined : (await context.endpoints.read(accountId, ref)).id,
      // A browser that reconnects sends it beside the query that it began with.
      after: cursorIn(header('last-event-id')) ?? query.last_event_id,
      maxMs: seconds * 1_000,
      isAllowed: () => mayGoOn(context.authentication, credentials),
    };
    return {
      status: 200,
      headers: EVENTS_HEADERS,
      events: (connection) =>
        context.longAnswers.limit(
          { operation: 'streamChanges', accountId, most: MOST_AT_ONCE },
          texts(context.changeStreams.open(accountId, options, connection)),
        ),
    };
  },
});

function cursorIn(header: string | undefined): string | undefined {
  if (header === undefined || header === '') return undefined;
  const cursor = cursorSchema.safeParse(header);
  if (cursor.success) return cursor.data;
  throw new AppError(
    'invalid_request',
    'The header Last-Event-ID must be the id of an event of this stream.',
  );
}

async function* texts(messages: AsyncIterable<StreamMessage>): AsyncGenerator<string, void> {
  yield EVENTS_HEAD;
  for await (const message of messages) yield presentMessage(message);
}

/** As it is sent. A client that hung up gets nothing. */
function presentMessage(message: StreamMessage): string {
  switch (message.kind) {
    case 'ready':
      return eventText('ready', {}, message.id);
    case 'change':
      return presentChange(message.id, message.change);
    case 'end':
      return message.reason === 'lost' ? '' : eventText('end', { reason: message.reason });
  }
}

function presentChange(cursor: string, change: Change): string {
  switch (change.kind) {
    case 'delivery':
      return eventText(
        'delivery',
        { change: change.change, delivery: presentDelivery(change.delivery) },
        cursor,
      );
    case 'webhook':
      return eventText('webhook', { change: change.change, webhook_id: change.endpointId }, cursor);
    case 'replay': {
      const { replayId: replay_id, endpointId } = change;
      return eventText('replay', { change: change.change, replay_id, webhook_id: endpointId }, cursor);
    }
    case 'rolled_back':
      return eventText('redis.rolled_back', { since: change.since, until: change.until }, cursor);
    case 'reset':
      return eventText('reset', {}, cursor);
  }
}

// Undefined members are left out when it becomes text.
function presentDelivery(delivery: ChangedDelivery) {
  const { eventId, endpointId, nextAttemptAt, createdAt } = delivery;
  return {
    id: deliveryIdOf({ eventId, endpointId }),
    event_id: eventId,
    webhook_id: endpointId,
    event_type: delivery.type,
    status: delivery.status,
    attempt_count: delivery.attemptCount,
    last_outcome: delivery.lastOutcome,
    last_response_status: delivery.lastResponseStatus,
    next_attempt_at: nextAttemptAt === undefined ? undefined : formatTimeOrNull(nextAttemptAt ?? undefined),
    created_at: createdAt === undefined ? undefined : formatTime(createdAt),
  };
}
