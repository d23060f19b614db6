import { endpointRefsSchema } from '@webhooks/core/endpoints/endpoint';
import type { PublishedEvent } from '@webhooks/core/events/accept-events';
import { type AcceptedEvent, eventIdSchema } from '@webhooks/core/events/event';
import { formatTime, timeSchema } from '@webhooks/core/runtime/clock';
import { textOfMember } from '@webhooks/core/runtime/json-text';
import { z } from 'zod';

/**
 * Values in a body that holds events, at all depths together. An event of MAX_EVENT_BYTES' default made of nothing but
 * digits and commas has 133,000. To parse as many takes 0.1 s at worst, as objects that are all different; 5 MiB of those
 * would take a second.
 */
export const MAX_EVENT_VALUES = 150_000;

/** An event as clients publish it. What `data` must be is the catalogue's to say. */
export const publishedEventSchema = z.strictObject({
  type: z.string(),
  data: z.unknown(),
  id: eventIdSchema.optional(),
  webhook_ids: endpointRefsSchema.optional(),
});

/** @param text the JSON that it was parsed from. */
export function toPublishedEvent(
  { type, data, id, webhook_ids }: z.infer<typeof publishedEventSchema>,
  text: string,
): PublishedEvent {
  return {
    type,
    data,
    dataText: textOfMember(text, 'data') ?? '',
    ...(id === undefined ? {} : { id }),
    ...(webhook_ids === undefined ? {} : { endpointRefs: webhook_ids }),
  };
}

export const acceptedSchema = z
  .object({ id: z.string(), type: z.string(), created_at: timeSchema })
  .meta({ id: 'AcceptedEvent' });

export function presentAccepted({ id, type, acceptedAt }: AcceptedEvent): z.infer<typeof acceptedSchema> {
  return { id, type, created_at: formatTime(acceptedAt) };
}
