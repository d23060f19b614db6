import { EVENT_TYPE_NAME_FORM } from '@hookferry/core/catalogue/custom-event-type';
import type { PublishedEvent } from '@hookferry/core/intake/accept-events';
import { formatTime, timeSchema } from '@hookferry/core/kernel/clock';
import { endpointRefsSchema } from '@hookferry/core/model/endpoint';
import { type AcceptedEvent, eventIdSchema } from '@hookferry/core/model/event';
import { z } from 'zod';

/** An event as clients publish it. What `data` must be is the catalogue's to say. */
export const publishedEventSchema = z
  .strictObject({
    type: z.string().meta(EVENT_TYPE_NAME_FORM),
    data: z.unknown(),
    id: eventIdSchema.optional(),
    webhook_ids: endpointRefsSchema.optional(),
  })
  .meta({ id: 'NewEvent' });

/** @param dataText the JSON that its data were parsed from. */
export function toPublishedEvent(
  { type, data, id, webhook_ids }: z.infer<typeof publishedEventSchema>,
  dataText: string,
): PublishedEvent {
  return {
    type,
    data,
    dataText,
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
