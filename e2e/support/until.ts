import { setTimeout as wait } from 'node:timers/promises';

const LOOK_EVERY_MS = 20;

/** Looks again and again until there is something; the test's own time-out ends a wait in vain. */
export async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await wait(LOOK_EVERY_MS);
  }
}
