import { formatTime, formatTimeOrNull, timeSchema } from '@hookferry/core/kernel/clock';
import { type Replay, replayModes, replayStatuses } from '@hookferry/core/model/replay';
import { z } from 'zod';

export const replaySchema = z
  .object({
    id: z.string(),
    webhook_id: z.string(),
    status: z.enum(replayStatuses),
    mode: z.enum(replayModes),
    since: timeSchema,
    until: timeSchema,
    rate: z.int(),
    dry_run: z.boolean(),
    found: z.int(),
    enqueued: z.int(),
    erased: z.int().meta({ description: 'Events that it leaves out because their payload was erased.' }),
    error: z.string().nullable(),
    created_at: timeSchema,
    finished_at: timeSchema.nullable(),
  })
  .meta({ id: 'Replay' });

export function presentReplay(replay: Replay): z.infer<typeof replaySchema> {
  return {
    id: replay.id,
    webhook_id: replay.endpointId,
    status: replay.status,
    mode: replay.mode,
    since: formatTime(replay.since),
    until: formatTime(replay.until),
    rate: replay.rate,
    dry_run: replay.isDryRun,
    found: replay.found,
    enqueued: replay.enqueued,
    erased: replay.erased,
    error: replay.error ?? null,
    created_at: formatTime(replay.createdAt),
    finished_at: formatTimeOrNull(replay.finishedAt),
  };
}
