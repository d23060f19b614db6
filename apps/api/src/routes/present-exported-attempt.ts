import type { ExportedAttempt } from '@hookferry/core/history/export-attempts';
import { formatTime } from '@hookferry/core/kernel/clock';
import { z } from 'zod';
import { encodeCursor } from '../http/cursor';
import { attemptSchema, deliverySchema, presentAttempt } from './present-delivery';

export const exportedAttemptSchema = z
  .object({ delivery_id: z.string() })
  .extend(
    deliverySchema.pick({ event_id: true, webhook_id: true, type: true, status: true, created_at: true })
      .shape,
  )
  .extend({ attempt: attemptSchema, cursor: z.string() })
  .meta({ id: 'ExportedAttempt' });

/** A line of an export. */
export function presentExportedAttempt(exported: ExportedAttempt): z.infer<typeof exportedAttemptSchema> {
  return {
    delivery_id: exported.id,
    event_id: exported.eventId,
    webhook_id: exported.endpointId,
    type: exported.type,
    status: exported.status,
    created_at: formatTime(exported.createdAt),
    attempt: presentAttempt(exported, exported.attempt),
    cursor: encodeCursor(exported.mark),
  };
}
