import { setTimeout as wait } from 'node:timers/promises';
import { inTime } from '@hookferry/core/testing/in-time';

const LOOK_EVERY_MS = 20;

/**
 * Looks again and again until there is something. The error of a wait in vain says where in the test it was.
 * @param seen what was seen last, for that error. Default: the code that looks.
 */
export async function until<T>(
  look: () => Promise<T | undefined>,
  seen = () => `nothing by ${String(look)}`,
): Promise<T> {
  for (;;) {
    const found = await inTime(look(), seen);
    if (found !== undefined) return found;
    await inTime(wait(LOOK_EVERY_MS), seen);
  }
}
