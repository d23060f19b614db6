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
  /** The longest wait for all to end. */
  readonly drainWithinMs: number;
  /** When nothing has come for so long, no queue holds a job, and no breaker is open, what is owed will never come. */
  readonly silentForMs: number;
}

/** Waits until all that is owed has arrived and no job is left; or until there is no hope. Returns the jobs left. */
export async function drain(options: DrainOptions): Promise<QueueDepths> {
  const { countOwed, countRequests, readDepths, findOpenBreakers, progress, drainWithinMs, silentForMs } =
    options;
  const deadline = Date.now() + drainWithinMs;
  let looksAtNothing = 0;
  let requests = countRequests();
  let movedAt = Date.now();
  for (;;) {
    const depths = await readDepths();
    const owed = countOwed();
    const isEmpty = Object.keys(depths).length === 0;
    progress.show(`draining: ${owed} owed, ${describe(depths)}`);
    looksAtNothing = isEmpty && owed === 0 ? looksAtNothing + 1 : 0;
    const isMoving = !isEmpty || countRequests() !== requests || (await findOpenBreakers()).length > 0;
    if (isMoving) movedAt = Date.now();
    requests = countRequests();
    const isHopeless = Date.now() - movedAt > silentForMs;
    if (looksAtNothing >= LOOKS_NEEDED || isHopeless || Date.now() > deadline) return depths;
    await wait(LOOK_EVERY_MS);
  }
}

function describe(depths: QueueDepths): string {
  const parts = Object.entries(depths).map(([queue, count]) => `${queue} ${count}`);
  return parts.length === 0 ? 'no jobs' : parts.join(', ');
}
