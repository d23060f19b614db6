import type { Replay } from '../model/replay';
import type { Emit } from '../model/signals';

/** Says that a replay has come to its end. */
export function announceReplayEnd(
  emit: Emit,
  { id, endpointId, mode, found, enqueued, status }: Replay,
): void {
  if (status === 'counting' || status === 'running') return;
  emit({ name: 'replay.ended', replayId: id, endpointId, mode, status, found, enqueued });
}
