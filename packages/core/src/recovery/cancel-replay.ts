import type { Clock } from '../kernel/clock';
import { hasEnded, type Replay, type ReplayId, type ReplayProgress } from '../model/replay';
import type { Emit } from '../model/signal';
import type { ReplayStore } from './redis-replay-store';

export interface CancelReplayDeps {
  readonly replayStore: Pick<ReplayStore, 'find' | 'save'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** Ends a replay. One that has ended, or that there is not, stays as it is. */
export function createCancelReplay({ replayStore, clock, emit }: CancelReplayDeps) {
  return async function cancelReplay(id: ReplayId): Promise<void> {
    const replay = await replayStore.find(id);
    if (!replay || hasEnded(replay)) return;
    const { found, enqueued, erased } = replay;
    const ended: ReplayProgress = { status: 'cancelled', found, enqueued, erased, finishedAt: clock() };
    if (await replayStore.save(id, ended)) announceReplayEnd(emit, { ...replay, ...ended });
  };
}

export type CancelReplay = ReturnType<typeof createCancelReplay>;

/** Says that a replay has come to its end. */
export function announceReplayEnd(
  emit: Emit,
  { id, accountId, endpointId, mode, found, enqueued, status }: Replay,
): void {
  if (status === 'counting' || status === 'running') return;
  emit({ name: 'replay.ended', replayId: id, accountId, endpointId, mode, status, found, enqueued });
}
