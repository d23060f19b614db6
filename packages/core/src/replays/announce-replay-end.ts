import type { Emit } from '../signals/signals';
import type { Replay } from './replay';

/** Says that a replay has come to its end. */
export function announceReplayEnd(
  emit: Emit,
  { id, endpointId, mode, found, enqueued, status }: Replay,
): void {
  if (status === 'counting' || status === 'running') return;
  emit({ name: 'replay.ended', replayId: id, endpointId, mode, status, found, enqueued });
}
