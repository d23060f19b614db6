import { setTimeout as wait } from 'node:timers/promises';

/** Waits, or ends at once when the signal says so; neither is an error. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  try {
    await wait(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
