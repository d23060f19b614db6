import type { Client } from '@hookferry/client';
import { pause } from '../pause';
import type { Replay } from '../resources';

const LOOK_EVERY_MS = 500;

/** Looks how far a replay is until it has ended, or the signal says to stop. @returns it as it was seen last. */
export async function followReplay(
  replay: Replay,
  client: Client,
  signal: AbortSignal,
  show: (replay: Replay) => void,
): Promise<Replay> {
  let seen = replay;
  show(seen);
  while (seen.ended_at === null && !signal.aborted) {
    await pause(LOOK_EVERY_MS, signal);
    seen = await client.GET('/v1/replays/{id}', { params: { path: { id: replay.id } } });
    show(seen);
  }
  return seen;
}
