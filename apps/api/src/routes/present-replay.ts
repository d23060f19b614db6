import type { Replay } from '@webhooks/core/replays/replay';
import { formatTime } from '@webhooks/core/runtime/clock';

export function presentReplay(replay: Replay) {
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
    error: replay.error ?? null,
    created_at: formatTime(replay.createdAt),
    finished_at: replay.finishedAt === undefined ? null : formatTime(replay.finishedAt),
  };
}
