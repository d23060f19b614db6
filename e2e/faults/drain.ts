import { setTimeout as wait } from 'node:timers/promises';
import type { Progress } from './progress';
import type { QueueDepths } from './queue-depths';

const LOOK_EVERY_MS = 500;
// Seen twice, so that what moved from one queue to another in the middle of a look does not count as gone.
const LOOKS_NEEDED = 2;

export interface DrainOptions {
  /** How many deliveries receivers still wait for. */
  readonly countOwed: () => number;
  readonly countRequests: () => number;
  readonly readDepths: () => Promise<QueueDepths>;
  readonly findOpenBreakers: () => Promise<readonly string[]>;
  readonly progress: Progress;
  /** When jobs are left, no breaker is open, and nothing has moved for so long, nothing will. */
  readonly stuckAfterMs: number;
  /** When nothing has come for so long, no queue holds a job, and no breaker is open, what is owed will never come. */
  readonly silentForMs: number;
}

/**
 * Waits until all that is owed has arrived and no job is left; or until there is no hope. A machine that is slow does not
 * end it: as long as anything moves, it waits.
 */
export async function drain(options: DrainOptions): Promise<void> {
  const { countOwed, countRequests, readDepths, findOpenBreakers, progress, stuckAfterMs, silentForMs } =
    options;
  let looksAtNothing = 0;
  let last = '';
  let movedAt = Date.now();
  for (;;) {
    const depths = await readDepths();
    const owed = countOwed();
    const isEmpty = Object.keys(depths).length === 0;
    progress.show(`draining: ${owed} deliveries not finished, ${describe(depths)}`);
    looksAtNothing = isEmpty && owed === 0 ? looksAtNothing + 1 : 0;
    const now = `${countRequests()} ${describe(depths)}`;
    // A breaker may be open for longer than anything else takes.
    if (now !== last || (owed > 0 && (await findOpenBreakers()).length > 0)) movedAt = Date.now();
    last = now;
    const isHopeless = Date.now() - movedAt > (isEmpty ? silentForMs : stuckAfterMs);
    if (looksAtNothing >= LOOKS_NEEDED || isHopeless) return;
    await wait(LOOK_EVERY_MS);
  }
}

function describe(depths: QueueDepths): string {
  const parts = Object.entries(depths).map(([queue, count]) => `${queue} ${count}`);
  return parts.length === 0 ? 'no jobs' : parts.join(', ');
}
