import type { DeliveryCounts } from '@hookferry/core/history/read-deliveries';
import type { ListedEvent, PublishedEvent } from '@hookferry/core/history/read-events';
import { formatTime, formatTimeOrNull, timeSchema } from '@hookferry/core/kernel/clock';
import { z } from 'zod';

const eventHeadSchema = z.object({
  id: z.string(),
  type: z.string().meta({ example: 'keyword.quick_win' }),
  created_at: timeSchema,
  payload_erased_at: timeSchema
    .nullable()
    .meta({ description: 'When its data was erased, for good; null: it was not.' }),
});

export const listedEventSchema = eventHeadSchema
  .extend({ delivery_count: z.int().min(0) })
  .meta({ id: 'ListedEvent' });

/** How many of its deliveries there are, and of each status. */
const deliveryCountsSchema = z
  .object({
    total: z.int(),
    pending: z.int(),
    held: z.int(),
    delivered: z.int(),
    exhausted: z.int(),
    aborted: z.int(),
    cancelled: z.int(),
  } satisfies Record<keyof DeliveryCounts, z.ZodType>)
  .meta({ id: 'DeliveryCounts' });

export const eventSchema = eventHeadSchema
  .extend({
    deliveries: deliveryCountsSchema,
    data: z.unknown().meta({ description: 'As it was published; null once `payload_erased_at` is not.' }),
  })
  .meta({ id: 'Event' });

/** An event as it stands in a list: without its data. */
export function presentListedEvent(event: ListedEvent): z.infer<typeof listedEventSchema> {
  return { ...presentHead(event), delivery_count: event.deliveryCount };
}

/** An event read alone, as JSON text: its data is what was sent, byte for byte, which is lost by parsing it. */
export function presentEvent({ dataText, deliveries, ...event }: PublishedEvent): string {
  const shown: Omit<z.infer<typeof eventSchema>, 'data'> = { ...presentHead(event), deliveries };
  return `${JSON.stringify(shown).slice(0, -1)},"data":${dataText}}`;
}

type EventHead = Omit<ListedEvent, 'deliveryCount'>;

function presentHead({ id, type, createdAt, erasedAt }: EventHead): z.infer<typeof eventHeadSchema> {
  return {
    id,
    type,
    created_at: formatTime(createdAt),
    payload_erased_at: formatTimeOrNull(erasedAt),
  };
}
