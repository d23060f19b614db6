import {
  type Change,
  type ChangedDelivery,
  deliveryChanges,
  endpointChanges,
  replayChanges,
} from '@hookferry/core/changes/change';
import type { StreamMessage } from '@hookferry/core/changes/change-reader';
import { formatTime, formatTimeOrNull } from '@hookferry/core/kernel/clock';
import { deliveryIdOf } from '@hookferry/core/model/delivery';
import { streamEnds } from '@hookferry/core/model/signal';
import { z } from 'zod';
import { eventText } from '../http/send-events';
import { deliverySchema } from './present-delivery';

const { id, event_id, webhook_id, type, status, attempt_count, last_outcome, next_attempt_at, created_at } =
  deliverySchema.shape;

const changedDeliverySchema = z
  .object({
    id,
    event_id,
    webhook_id,
    type: type.optional(),
    status: status.optional(),
    attempt_count: attempt_count.optional(),
    last_outcome: last_outcome.optional(),
    last_response_status: z.int().nullable().optional(),
    next_attempt_at: next_attempt_at.optional(),
    created_at: created_at.optional(),
  })
  .meta({ id: 'ChangedDelivery', description: 'What is known of it. What is absent has not changed.' });

const placeSchema = z.string().meta({ description: 'Where to go on: `Last-Event-ID`.' });

/** Each event of the stream, as an object: its `data` is a line of JSON. */
export const streamedChangeSchema = z
  .discriminatedUnion('event', [
    z.object({ event: z.literal('ready'), id: placeSchema, data: z.object({}) }),
    z.object({ event: z.literal('reset'), id: placeSchema, data: z.object({}) }),
    z.object({
      event: z.literal('delivery'),
      id: placeSchema,
      data: z.object({ change: z.enum(deliveryChanges), delivery: changedDeliverySchema }),
    }),
    z.object({
      event: z.literal('webhook'),
      id: placeSchema,
      data: z.object({ change: z.enum(endpointChanges), webhook_id }),
    }),
    z.object({
      event: z.literal('replay'),
      id: placeSchema,
      data: z.object({ change: z.enum(replayChanges), replay_id: z.string(), webhook_id }),
    }),
    z.object({ event: z.literal('end'), data: z.object({ reason: z.enum(streamEnds) }) }),
  ])
  .meta({ id: 'StreamedChange' });

/** As it is sent. Whoever hung up is told nothing. */
export function presentMessage(message: StreamMessage): string {
  switch (message.kind) {
    case 'ready':
      return eventText('ready', {}, message.id);
    case 'change':
      return presentChange(message.id, message.change);
    case 'end':
      return message.reason === 'lost' ? '' : eventText('end', { reason: message.reason });
  }
}

function presentChange(place: string, change: Change): string {
  switch (change.kind) {
    case 'delivery':
      return eventText(
        'delivery',
        { change: change.change, delivery: presentDelivery(change.delivery) },
        place,
      );
    case 'webhook':
      return eventText('webhook', { change: change.change, webhook_id: change.endpointId }, place);
    case 'replay': {
      const { replayId: replay_id, endpointId } = change;
      return eventText('replay', { change: change.change, replay_id, webhook_id: endpointId }, place);
    }
    case 'reset':
      return eventText('reset', {}, place);
  }
}

// Members that are undefined are left out when it becomes text.
function presentDelivery(delivery: ChangedDelivery) {
  const { eventId, endpointId, nextAttemptAt, createdAt } = delivery;
  return {
    id: deliveryIdOf({ eventId, endpointId }),
    event_id: eventId,
    webhook_id: endpointId,
    type: delivery.type,
    status: delivery.status,
    attempt_count: delivery.attemptCount,
    last_outcome: delivery.lastOutcome,
    last_response_status: delivery.lastResponseStatus,
    next_attempt_at: nextAttemptAt === undefined ? undefined : formatTimeOrNull(nextAttemptAt ?? undefined),
    created_at: createdAt === undefined ? undefined : formatTime(createdAt),
  };
}
